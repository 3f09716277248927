/* SPDX-License-Identifier: MIT */
/* Model-specific registers: numbers, fields, access.
 *
 * MSR_NAME is a register's number, NAME_FIELD a bit or mask within it; sorted by number. Sources:
 * Intel SDM vol. 4, AMD APM vol. 2 appendix A. Context: any, NMI too; the _safe forms need the IDT
 * and are not for NMI, since they may fault.
 */
#ifndef ARCH_X86_MSR_H
#define ARCH_X86_MSR_H

#include <stdbool.h>
#include <stdint.h>

#define MSR_APIC_BASE 0x1b
#define APIC_BASE_X2APIC (1ull << 10)
#define APIC_BASE_ENABLE (1ull << 11)
#define APIC_BASE_ADDRESS 0x000ffffffffff000ull

#define MSR_LBR_CORE_FROM0 0x40 /* Core 2, Atom up to Silvermont: LASTBRANCH_n_FROM_IP */
#define MSR_LBR_CORE_TO0 0x60

#define MSR_PMC0 0xc1 /* Intel: general counters, 32 bits written, sign-extended */

#define MSR_PLATFORM_INFO 0xce
#define PLATFORM_INFO_CPUID_FAULTING (1ull << 31)

#define MSR_SYSENTER_CS 0x174

#define MSR_PERFEVTSEL0 0x186 /* Intel */
#define PERFEVTSEL_USER (1ull << 16)
#define PERFEVTSEL_KERNEL (1ull << 17)
#define PERFEVTSEL_EDGE (1ull << 18)
#define PERFEVTSEL_INT (1ull << 20)
#define PERFEVTSEL_ENABLE (1ull << 22)
#define PERFEVTSEL_INVERT (1ull << 23)

#define MSR_MISC_ENABLE 0x1a0
#define MISC_ENABLE_PERFMON (1ull << 7)
#define MISC_ENABLE_BTS_UNAVAILABLE (1ull << 11)

#define MSR_LBR_SELECT 0x1c8 /* each bit keeps a kind of branch out; AMD's has the same */
#define LBR_SELECT_NOT_KERNEL (1ull << 0)
#define LBR_SELECT_NOT_USER (1ull << 1)
#define LBR_SELECT_NOT_CONDITIONAL (1ull << 2)
#define LBR_SELECT_NOT_DIRECT_CALL (1ull << 3)
#define LBR_SELECT_NOT_INDIRECT_CALL (1ull << 4)
#define LBR_SELECT_NOT_RETURN (1ull << 5)
#define LBR_SELECT_NOT_INDIRECT_JUMP (1ull << 6)
#define LBR_SELECT_NOT_DIRECT_JUMP (1ull << 7)
#define LBR_SELECT_NOT_FAR (1ull << 8)
#define MSR_LBR_TOS 0x1c9

#define MSR_DEBUGCTL 0x1d9
#define DEBUGCTL_LBR (1ull << 0)
#define DEBUGCTL_BTF (1ull << 1)
#define DEBUGCTL_FREEZE_LBRS_ON_PMI (1ull << 11)
#define DEBUGCTL_FREEZE_PERFMON_ON_PMI (1ull << 12)

#define MSR_LAST_BRANCH_FROM 0x1db /* one pair only: AMD, P6 */
#define MSR_LAST_BRANCH_TO 0x1dc
#define MSR_LAST_EXCEPTION_FROM 0x1dd

#define MSR_PERF_CAPABILITIES 0x345
#define PERF_CAPABILITIES_LBR_FORMAT 0x3full
#define PERF_CAPABILITIES_FULL_WIDTH (1ull << 13)

#define MSR_FIXED_CTR0 0x309
#define MSR_FIXED_CTR_CTRL 0x38d
#define MSR_PERF_GLOBAL_STATUS 0x38e
#define MSR_PERF_GLOBAL_CTRL 0x38f
#define MSR_PERF_GLOBAL_OVF_CTRL 0x390

#define MSR_FULL_WIDTH_PMC0 0x4c1

#define MSR_LBR_FROM0 0x680
#define MSR_LBR_TO0 0x6c0

#define MSR_TSC_DEADLINE 0x6e0

#define MSR_X2APIC_BASE 0x800 /* + the offset of the xAPIC register / 16 */

#define MSR_LBR_INFO0 0xdc0
#define LBR_INFO_CYCLES 0xffffull
#define LBR_INFO_ABORT (1ull << 61)
#define LBR_INFO_IN_TX (1ull << 62)
#define LBR_INFO_MISPREDICTED (1ull << 63)

#define MSR_ARCH_LBR_INFO0 0x1200
#define ARCH_LBR_INFO_CYCLES_VALID (1ull << 60) /* else as LBR_INFO_* */
#define MSR_ARCH_LBR_CTL 0x14ce
#define ARCH_LBR_CTL_ENABLE (1ull << 0)
#define ARCH_LBR_CTL_KERNEL (1ull << 1)
#define ARCH_LBR_CTL_USER (1ull << 2)
#define ARCH_LBR_CTL_CONDITIONAL (1ull << 16)
#define ARCH_LBR_CTL_DIRECT_JUMP (1ull << 17)
#define ARCH_LBR_CTL_INDIRECT_JUMP (1ull << 18)
#define ARCH_LBR_CTL_DIRECT_CALL (1ull << 19)
#define ARCH_LBR_CTL_INDIRECT_CALL (1ull << 20)
#define ARCH_LBR_CTL_RETURN (1ull << 21)
#define ARCH_LBR_CTL_OTHER (1ull << 22)
#define ARCH_LBR_CTL_BRANCHES (0x7full << 16) /* all of these */
#define MSR_ARCH_LBR_DEPTH 0x14cf             /* a write clears all records */
#define MSR_ARCH_LBR_FROM0 0x1500
#define MSR_ARCH_LBR_TO0 0x1600

#define MSR_WITNESS_RUNNING 0x400000e0 /* arch/x86/witness.h; run << 32 | slot + 1, 0: nobody */
#define MSR_WITNESS_SUBJECT 0x400000e1 /* run << 32 | slot: what the following are about */
#define MSR_WITNESS_BEGIN 0x400000e2
#define MSR_WITNESS_EMULATED 0x400000e3
#define MSR_WITNESS_ENDED 0x400000e4
#define MSR_WITNESS_END 0x400000e5

#define MSR_EFER 0xc0000080
#define EFER_SYSCALL (1ull << 0)
#define EFER_LONG_MODE (1ull << 8)
#define EFER_LONG_MODE_ACTIVE (1ull << 10)
#define EFER_NX (1ull << 11)

#define MSR_STAR 0xc0000081
#define MSR_LSTAR 0xc0000082
#define MSR_CSTAR 0xc0000083
#define MSR_SFMASK 0xc0000084

#define MSR_FS_BASE 0xc0000100
#define MSR_GS_BASE 0xc0000101
#define MSR_KERNEL_GS_BASE 0xc0000102

#define MSR_AMD_LBR_SELECT 0xc000010e
#define MSR_AMD_DBG_EXTN_CFG 0xc000010f
#define AMD_DBG_EXTN_CFG_LBRV2 (1ull << 6)

#define MSR_AMD_PERF_GLOBAL_STATUS 0xc0000300
#define MSR_AMD_PERF_GLOBAL_CTRL 0xc0000301
#define MSR_AMD_PERF_GLOBAL_STATUS_CLEAR 0xc0000302

#define MSR_AMD_EVTSEL0 0xc0010200 /* then PMC0, EVTSEL1, PMC1 … */
#define MSR_AMD_PMC0 0xc0010201

#define MSR_AMD_LBR_FROM0 0xc0010300 /* then TO0, FROM1, TO1 … */
#define AMD_LBR_FROM_MISPREDICTED (1ull << 63)
#define MSR_AMD_LBR_TO0 0xc0010301
#define AMD_LBR_TO_SPECULATIVE (1ull << 62)
#define AMD_LBR_TO_VALID (1ull << 63)

static inline uint64_t msr_read(uint32_t msr)
{
    uint32_t low, high;
    __asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(msr));
    return (uint64_t)high << 32 | low;
}

static inline void msr_write(uint32_t msr, uint64_t value)
{
    __asm__ volatile("wrmsr" ::"c"(msr), "a"((uint32_t)value), "d"((uint32_t)(value >> 32))
                     : "memory");
}

/* An instruction at `fault` that raises #GP or #PF in ring 0 goes on at `resume` (trap.c looks it
 * up). */
#define FIXUP_ENTRY(fault, resume)                                                                 \
    ".pushsection .fixups, \"a\"\n\t.quad " #fault ", " #resume "\n\t.popsection\n\t"

/* False, and *value untouched, when the CPU has no such register. */
static inline bool msr_read_safe(uint32_t msr, uint64_t *value)
{
    uint32_t low, high, done;
    __asm__ volatile("xor %2, %2\n"
                     "1:\n\trdmsr\n\t"
                     "mov $1, %2\n"
                     "2:\n\t" FIXUP_ENTRY(1b, 2b)
                     : "=&a"(low), "=&d"(high), "=&r"(done)
                     : "c"(msr));
    if (!done)
        return false;
    *value = (uint64_t)high << 32 | low;
    return true;
}

/* False, and nothing written, when there is no such register or it refuses the value. */
static inline bool msr_write_safe(uint32_t msr, uint64_t value)
{
    uint32_t done;
    __asm__ volatile("xor %0, %0\n"
                     "1:\n\twrmsr\n\t"
                     "mov $1, %0\n"
                     "2:\n\t" FIXUP_ENTRY(1b, 2b)
                     : "=&r"(done)
                     : "c"(msr), "a"((uint32_t)value), "d"((uint32_t)(value >> 32))
                     : "memory");
    return done;
}

#endif
