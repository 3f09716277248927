/* SPDX-License-Identifier: MIT */
/* What the CPU can do, and the control registers that follow from it.
 *
 * Context: cpu_features is written once on the boot CPU and read-only afterwards.
 * Sources: Intel SDM vol. 2 (CPUID), AMD APM vol. 3 appendix E.
 */
#include "arch/x86/cpu_features.h"

#include "arch/x86/cpu.h"
#include "arch/x86/frame.h"
#include "arch/x86/layout.h"
#include "arch/x86/msr.h"
#include "kernel/string.h"

enum cpuid_register { EAX, EBX, ECX, EDX };

#define LEAF_EXTENDED 0x80000000u

/* Every bit that is asked for: field of cpu_features, leaf, register, bit. */
#define FEATURE_TABLE(F)                                                                           \
    F(x2apic, 0x1, ECX, 21)                                                                        \
    F(tsc_deadline, 0x1, ECX, 24)                                                                  \
    F(xsave, 0x1, ECX, 26)                                                                         \
    F(hypervisor, 0x1, ECX, 31)                                                                    \
    F(pat, 0x1, EDX, 16)                                                                           \
    F(fsgsbase, 0x7, EBX, 0)                                                                       \
    F(smep, 0x7, EBX, 7)                                                                           \
    F(smap, 0x7, EBX, 20)                                                                          \
    F(umip, 0x7, ECX, 2)                                                                           \
    F(nx, 0x80000001, EDX, 20)                                                                     \
    F(rdtscp, 0x80000001, EDX, 27)                                                                 \
    F(invariant_tsc, 0x80000007, EDX, 8)                                                           \
    F(cpuid_fault_amd, 0x80000021, EAX, 17)

#define CPUID1_EDX_MCE (1u << 7)
#define CPUID1_EDX_PGE (1u << 13)

#define CR0_PE (1ull << 0)
#define CR0_MP (1ull << 1)
#define CR0_ET (1ull << 4)
#define CR0_NE (1ull << 5)
#define CR0_WP (1ull << 16)
#define CR0_AM (1ull << 18)
#define CR0_PG (1ull << 31)

#define CR4_TSD (1ull << 2)
#define CR4_PAE (1ull << 5)
#define CR4_MCE (1ull << 6)
#define CR4_PGE (1ull << 7)
#define CR4_OSFXSR (1ull << 9)
#define CR4_OSXMMEXCPT (1ull << 10)
#define CR4_UMIP (1ull << 11)
#define CR4_OSXSAVE (1ull << 18)
#define CR4_SMEP (1ull << 20)
#define CR4_SMAP (1ull << 21)

/* What SYSCALL clears: everything that ring 3 can set. */
#define SYSCALL_FLAGS_CLEARED                                                                      \
    (0x8d5ull | RFLAGS_TF | RFLAGS_IF | RFLAGS_DF | RFLAGS_IOPL | RFLAGS_NT | RFLAGS_RF |          \
     RFLAGS_AC | 1ull << 21)

extern char syscall_entry[]; /* entry.asm */

struct cpu_features cpu_features;

void cpu_cpuid(uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    __asm__ volatile("cpuid"
                     : "=a"(out[EAX]), "=b"(out[EBX]), "=c"(out[ECX]), "=d"(out[EDX])
                     : "a"(leaf), "c"(subleaf));
}

/* One register of a leaf; 0 when the CPU does not have the leaf (Intel answers those with the data
 * of another one). */
static uint32_t cpuid_register(const struct cpu_features *features, uint32_t leaf,
                               enum cpuid_register which)
{
    uint32_t out[4];
    uint32_t max = leaf >= LEAF_EXTENDED ? features->max_extended_leaf : features->max_leaf;

    if (leaf > max)
        return 0;
    cpu_cpuid(leaf, 0, out);
    return out[which];
}

static void detect_vendor(struct cpu_features *features)
{
    uint32_t out[4];

    cpu_cpuid(0, 0, out);
    features->max_leaf = out[EAX];
    memcpy(features->vendor, &out[EBX], 4);
    memcpy(features->vendor + 4, &out[EDX], 4);
    memcpy(features->vendor + 8, &out[ECX], 4);
    cpu_cpuid(LEAF_EXTENDED, 0, out);
    features->max_extended_leaf = out[EAX] >= LEAF_EXTENDED ? out[EAX] : 0;
}

static void detect_brand(struct cpu_features *features)
{
    uint32_t out[4];

    if (features->max_extended_leaf < LEAF_EXTENDED + 4)
        return;
    for (uint32_t i = 0; i < 3; i++) {
        cpu_cpuid(LEAF_EXTENDED + 2 + i, 0, out);
        memcpy(features->brand + 16 * i, out, sizeof(out));
    }
    size_t blanks = strnlen(features->brand, sizeof(features->brand));
    while (blanks > 0 && features->brand[blanks - 1] == ' ')
        features->brand[--blanks] = 0;
    blanks = 0;
    while (features->brand[blanks] == ' ')
        blanks++;
    memmove(features->brand, features->brand + blanks, sizeof(features->brand) - blanks);
}

/* Intel SDM vol. 2, CPUID, "version information". */
static void detect_model(struct cpu_features *features)
{
    uint32_t version = cpuid_register(features, 1, EAX);
    uint32_t family = version >> 8 & 0xf, model = version >> 4 & 0xf;

    if (family == 6 || family == 15)
        model |= version >> 12 & 0xf0;
    if (family == 15)
        family += version >> 20 & 0xff;
    features->family = family;
    features->model = model;
    features->stepping = version & 0xf;
}

static void detect_bits(struct cpu_features *features)
{
#define F(field, leaf, which, bit)                                                                 \
    features->field = cpuid_register(features, leaf, which) >> (bit)&1;
    FEATURE_TABLE(F)
#undef F
    features->physical_bits = cpuid_register(features, LEAF_EXTENDED + 8, EAX) & 0xff;
    if (features->physical_bits == 0)
        features->physical_bits = 36;
}

static void detect(struct cpu_features *features)
{
    uint64_t platform;

    memset(features, 0, sizeof(*features));
    detect_vendor(features);
    detect_brand(features);
    detect_model(features);
    detect_bits(features);
    features->cpuid_fault_intel = msr_read_safe(MSR_PLATFORM_INFO, &platform) &&
                                  (platform & PLATFORM_INFO_CPUID_FAULTING) &&
                                  strcmp(features->vendor, "GenuineIntel") == 0;
}

void cpu_features_detect(void)
{
    detect(&cpu_features);
}

const char *cpu_features_compare(void)
{
    struct cpu_features here;

    detect(&here);
    if (strcmp(here.vendor, cpu_features.vendor) != 0)
        return "vendor";
    if (here.family != cpu_features.family)
        return "family";
#define F(field, leaf, which, bit)                                                                 \
    if (here.field != cpu_features.field)                                                          \
        return #field;
    FEATURE_TABLE(F)
#undef F
    return here.cpuid_fault_intel == cpu_features.cpuid_fault_intel ? NULL : "cpuid_fault_intel";
}

static uint64_t control_cr4(void)
{
    uint32_t edx = cpuid_register(&cpu_features, 1, EDX);
    uint64_t cr4 = CR4_PAE | CR4_OSFXSR | CR4_OSXMMEXCPT | CR4_TSD;

    if (edx & CPUID1_EDX_MCE)
        cr4 |= CR4_MCE;
    if (edx & CPUID1_EDX_PGE)
        cr4 |= CR4_PGE;
    if (cpu_features.umip)
        cr4 |= CR4_UMIP;
    if (cpu_features.xsave)
        cr4 |= CR4_OSXSAVE;
    if (cpu_features.smep)
        cr4 |= CR4_SMEP;
    if (cpu_features.smap)
        cr4 |= CR4_SMAP;
    return cr4;
}

uint32_t cpu_control_efer(void)
{
    return EFER_SYSCALL | EFER_LONG_MODE | (cpu_features.nx ? EFER_NX : 0);
}

/* SYSCALL loads CS and SS = CS + 8 from STAR[47:32]; SYSRET, which is not used, would load from
 * STAR[63:48]. There is no 32-bit code, so neither CSTAR nor SYSENTER can be reached usefully. */
static void control_syscall(void)
{
    msr_write(MSR_STAR, (uint64_t)SELECTOR_KERNEL_CODE << 32 | (uint64_t)(SELECTOR_USER_DATA - 8)
                                                                   << 48);
    msr_write(MSR_LSTAR, (uint64_t)syscall_entry);
    msr_write(MSR_CSTAR, 0);
    msr_write(MSR_SFMASK, SYSCALL_FLAGS_CLEARED);
    msr_write_safe(MSR_SYSENTER_CS, 0); /* SYSENTER in ring 3 is then a #GP */
}

void cpu_control_setup(void)
{
    uint64_t cr0 = CR0_PE | CR0_MP | CR0_ET | CR0_NE | CR0_WP | CR0_AM | CR0_PG;

    msr_write(MSR_EFER, cpu_control_efer() | EFER_LONG_MODE_ACTIVE);
    __asm__ volatile("mov %0, %%cr0" ::"r"(cr0) : "memory");
    __asm__ volatile("mov %0, %%cr4" ::"r"(control_cr4()) : "memory");
    control_syscall();
}
