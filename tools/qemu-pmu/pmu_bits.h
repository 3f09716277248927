/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers of the emulated PMU and their bits. Source: Intel SDM vol. 3, chapter 20, and vol. 4.
 *
 * The kernel has its own list (arch/x86/msr.h), on purpose: it is what this one tests.
 */
#ifndef TOOLS_QEMU_PMU_PMU_BITS_H
#define TOOLS_QEMU_PMU_PMU_BITS_H

#define MSR_APIC_BASE 0x1b
#define APIC_BASE_X2APIC (1ull << 10)
#define APIC_BASE_ENABLE (1ull << 11)
#define APIC_BASE_ADDRESS 0xffffff000ull

#define MSR_PMC0 0xc1

#define MSR_PERFEVTSEL0 0x186
#define PERFEVTSEL_USER (1ull << 16)
#define PERFEVTSEL_KERNEL (1ull << 17)
#define PERFEVTSEL_EDGE (1ull << 18)
#define PERFEVTSEL_INT (1ull << 20)
#define PERFEVTSEL_ANY_THREAD (1ull << 21) /* version 3 */
#define PERFEVTSEL_ENABLE (1ull << 22)
#define PERFEVTSEL_INVERT (1ull << 23)
#define PERFEVTSEL_COUNTER_MASK (0xffull << 24)

/* Last branch records of Core and of small cores up to Airmont, … */
#define MSR_CORE_LBR_FROM0 0x40
#define MSR_CORE_LBR_TO0 0x60

#define MSR_MISC_ENABLE 0x1a0
#define MISC_ENABLE_PERFMON (1ull << 7)
#define MISC_ENABLE_BTS_UNAVAILABLE (1ull << 11)
#define MISC_ENABLE_PEBS_UNAVAILABLE (1ull << 12)

#define MSR_LBR_SELECT 0x1c8 /* what is not recorded */
#define LBR_SELECT_NOT_KERNEL (1ull << 0)
#define LBR_SELECT_NOT_USER (1ull << 1)
#define LBR_SELECT_CALL_STACK (1ull << 9) /* since Haswell */
#define MSR_LBR_TOS 0x1c9

#define MSR_DEBUGCTL 0x1d9
#define DEBUGCTL_LBR (1ull << 0)
#define DEBUGCTL_FREEZE_LBRS_ON_PMI (1ull << 11)
#define DEBUGCTL_FREEZE_PERFMON_ON_PMI (1ull << 12)

#define MSR_FIXED_CTR0 0x309

#define MSR_PERF_CAPABILITIES 0x345
#define PERF_CAPABILITIES_FULL_WIDTH (1ull << 13)
#define LBR_FORMAT_LINEAR 1u
#define LBR_FORMAT_EFFECTIVE 2u
#define LBR_FORMAT_EFFECTIVE_FLAGS 3u
#define LBR_FORMAT_INFO 5u
#define LBR_FORMAT_ARCHITECTURAL 0x3fu

#define MSR_FIXED_CTR_CTRL 0x38d /* four bits for each counter: */
#define FIXED_CTRL_KERNEL 1u
#define FIXED_CTRL_USER 2u
#define FIXED_CTRL_ANY_THREAD 4u /* version 3 */
#define FIXED_CTRL_INT 8u

#define MSR_PERF_GLOBAL_STATUS 0x38e
#define MSR_PERF_GLOBAL_CTRL 0x38f
#define MSR_PERF_GLOBAL_OVF_CTRL 0x390   /* version 4: GLOBAL_STATUS_RESET */
#define MSR_PERF_GLOBAL_STATUS_SET 0x391 /* version 4 */
#define MSR_PERF_GLOBAL_INUSE 0x392      /* version 4 */
#define GLOBAL_FIXED_SHIFT 32
#define GLOBAL_INUSE_PMI (1ull << 63)
#define GLOBAL_STATUS_LBR_FROZEN (1ull << 58)      /* version 4 */
#define GLOBAL_STATUS_COUNTERS_FROZEN (1ull << 59) /* version 4 */
#define GLOBAL_STATUS_ENCLAVE (1ull << 60)         /* version 4 */
#define GLOBAL_STATUS_UNCORE (1ull << 61)
#define GLOBAL_STATUS_BUFFER (1ull << 62)
#define GLOBAL_STATUS_CHANGED (1ull << 63)

#define MSR_FULL_WIDTH_PMC0 0x4c1

/* … of the others, … */
#define MSR_LBR_FROM0 0x680
#define LBR_FROM_MISPREDICTED (1ull << 63) /* formats without LBR_INFO */
#define MSR_LBR_TO0 0x6c0
#define MSR_LBR_INFO0 0xdc0

/* … and the architectural ones. */
#define MSR_ARCH_LBR_INFO0 0x1200
#define LBR_INFO_TYPE_SHIFT 56
#define MSR_ARCH_LBR_CTL 0x14ce
#define LBR_CTL_ENABLE (1ull << 0)
#define LBR_CTL_KERNEL (1ull << 1)
#define LBR_CTL_USER (1ull << 2)
#define LBR_CTL_CALL_STACK (1ull << 3)
#define MSR_ARCH_LBR_DEPTH 0x14cf
#define MSR_ARCH_LBR_FROM0 0x1500
#define MSR_ARCH_LBR_TO0 0x1600

/* The oracle: docs/oracle.md. RCX, RDX:RAX as for any MSR; write-only. */
#define CPUID_ORACLE 0x40000100u /* EAX: the same; EBX, EDX, ECX: */
#define CPUID_ORACLE_SIGNATURE "SkelCrewOrcl"
#define MSR_ORACLE_THREAD 0x400000e0   /* run << 32 | slot + 1 will run on this CPU; 0: nobody */
#define MSR_ORACLE_SUBJECT 0x400000e1  /* run << 32 | slot that the following are about */
#define MSR_ORACLE_BEGIN 0x400000e2    /* the run begins: 0, or the run that it replays */
#define MSR_ORACLE_EMULATED 0x400000e3 /* the thread's instruction here was carried out for it */
#define MSR_ORACLE_ENDED 0x400000e4    /* the thread has ended here */
#define MSR_ORACLE_END 0x400000e5      /* the run has ended: 0, or it was given up */

#define MSR_X2APIC_LVT_PMC 0x834
#define MSR_X2APIC_SELF_IPI 0x83f
#define XAPIC_ID 0x20
#define XAPIC_LVT_PMC 0x340
#define LVT_VECTOR 0xffu
#define LVT_MODE(lvt) ((lvt) >> 8 & 7)
#define LVT_MODE_FIXED 0u
#define LVT_MODE_NMI 4u
#define LVT_MASKED (1u << 16)

#endif
