/* SPDX-License-Identifier: MIT */
/* GDT, TSS and IST stacks of each CPU.
 *
 * Every CPU has a GDT of its own, since a TSS descriptor is marked busy by the CPU that loads it.
 * Context: boot, and a CPU's own start.
 */
#include "arch/x86/gdt.h"

#include "arch/x86/arch.h"
#include "arch/x86/context.h"
#include "arch/x86/paging.h"
#include "kernel/string.h"

/* Descriptors are accessed already, so that no CPU ever writes them but the TSS'. */
#define SEGMENT_PRESENT (1ull << 47)
#define SEGMENT_DPL3 (3ull << 45)
#define SEGMENT_CODE (0x1bull << 40) /* code, readable, accessed */
#define SEGMENT_BIG (1ull << 54)     /* D/B: a 32-bit stack outside of 64-bit mode, and for IRETD */
#define SEGMENT_DATA (0x13ull << 40 | SEGMENT_BIG) /* data, writable, accessed */
#define SEGMENT_LONG (1ull << 53)
#define SEGMENT_TSS (0x9ull << 40) /* 64-bit TSS, available */

#define DESCRIPTOR(selector) ((selector) >> 3)

/* cpu_storage[] and these go by the CPU's index. */
static struct cpu_arch arch_storage[MAX_CPUS];

/* The boot CPU's until paging_alloc_stack() works. */
static uint8_t early_ist_stacks[IST_COUNT][IST_STACK_SIZE] __attribute__((aligned(4096)));

static void gdt_fill(struct cpu_arch *arch)
{
    uint64_t tss = (uint64_t)&arch->tss;
    uint64_t limit = sizeof(struct tss) - 1;

    arch->gdt[0] = 0;
    arch->gdt[DESCRIPTOR(SELECTOR_KERNEL_CODE)] = SEGMENT_PRESENT | SEGMENT_CODE | SEGMENT_LONG;
    arch->gdt[DESCRIPTOR(SELECTOR_KERNEL_DATA)] = SEGMENT_PRESENT | SEGMENT_DATA;
    arch->gdt[DESCRIPTOR(SELECTOR_USER_DATA)] = SEGMENT_PRESENT | SEGMENT_DATA | SEGMENT_DPL3;
    arch->gdt[DESCRIPTOR(SELECTOR_USER_CODE)] =
        SEGMENT_PRESENT | SEGMENT_CODE | SEGMENT_DPL3 | SEGMENT_LONG;
    arch->gdt[DESCRIPTOR(SELECTOR_TSS)] =
        SEGMENT_PRESENT | SEGMENT_TSS | limit | (tss & 0xffffff) << 16 | (tss >> 24 & 0xff) << 56;
    arch->gdt[DESCRIPTOR(SELECTOR_TSS) + 1] = tss >> 32;
}

static void gdt_set_ist(struct cpu_arch *arch, unsigned ist, uint8_t *stack)
{
    arch->ist_stacks[ist] = stack;
    arch->tss.ist[ist - 1] = (uint64_t)stack + IST_LANDING_SIZE;
}

static void gdt_prepare(struct cpu *cpu)
{
    struct cpu_arch *arch = &arch_storage[cpu->index];

    memset(&arch->tss, 0, sizeof(arch->tss));
    arch->tss.iomap_base = sizeof(struct tss); /* no I/O permission map */
    arch->tss.rsp[0] = cpu->kernel_stack_top;
    gdt_fill(arch);
    cpu->arch = arch;
}

void gdt_prepare_boot_cpu(struct cpu *cpu)
{
    gdt_prepare(cpu);
    for (unsigned ist = 1; ist <= IST_COUNT; ist++)
        gdt_set_ist(cpu->arch, ist, early_ist_stacks[ist - 1]);
}

bool gdt_prepare_cpu(struct cpu *cpu)
{
    uint8_t *stacks[IST_COUNT];

    for (unsigned i = 0; i < IST_COUNT; i++) {
        stacks[i] = paging_alloc_stack(IST_STACK_SIZE);
        if (stacks[i] == NULL) {
            while (i-- > 0)
                paging_free_stack(stacks[i], IST_STACK_SIZE);
            return false;
        }
    }
    if (cpu->arch == NULL)
        gdt_prepare(cpu);
    for (unsigned ist = 1; ist <= IST_COUNT; ist++)
        gdt_set_ist(cpu->arch, ist, stacks[ist - 1]);
    return true;
}

/* FS and GS are left alone: loading their selectors would change their bases. */
static void gdt_load_segments(void)
{
    __asm__ volatile("pushq %0\n\t"
                     "leaq 1f(%%rip), %%rax\n\t"
                     "pushq %%rax\n\t"
                     "lretq\n"
                     "1:\n\t"
                     "movl %1, %%eax\n\t"
                     "movl %%eax, %%ss\n\t"
                     "xorl %%eax, %%eax\n\t"
                     "movl %%eax, %%ds\n\t"
                     "movl %%eax, %%es"
                     :
                     : "i"(SELECTOR_KERNEL_CODE), "i"(SELECTOR_KERNEL_DATA)
                     : "rax", "memory");
}

void gdt_load(struct cpu *cpu)
{
    struct cpu_arch *arch = cpu->arch;
    struct {
        uint16_t limit;
        uint64_t base;
    } __attribute__((packed)) pointer = {sizeof(arch->gdt) - 1, (uint64_t)arch->gdt};

    __asm__ volatile("lgdt %0" ::"m"(pointer) : "memory");
    gdt_load_segments();
    __asm__ volatile("ltr %w0" ::"r"(SELECTOR_TSS) : "memory");
}

void context_set_kernel_stack(void *stack_top)
{
    struct cpu *cpu = this_cpu();
    struct cpu_arch *arch = cpu->arch;

    cpu->kernel_stack_top = (uint64_t)stack_top;
    arch->tss.rsp[0] = (uint64_t)stack_top;
}
