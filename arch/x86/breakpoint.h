/* SPDX-License-Identifier: MIT */
/* Hardware breakpoint 0, on an instruction. This CPU; interrupts off.
 *
 * The #DB comes before the instruction runs, with DR6.B0 set; RFLAGS.RF in the frame lets it run
 * once. Source: Intel SDM vol. 3, "Debug Registers", "Instruction-Breakpoint Exception Condition".
 */
#ifndef ARCH_X86_BREAKPOINT_H
#define ARCH_X86_BREAKPOINT_H

#include <stdint.h>

#define DR6_B0 (1ull << 0)

static inline void breakpoint_set(uint64_t address)
{
    const uint64_t enable =
        1ull << 0 | 1ull << 10; /* L0, and the bit that is always 1; R/W0, LEN0: 0 */
    __asm__ volatile("mov %0, %%dr0\n\tmov %1, %%dr7" ::"r"(address), "r"(enable));
}

static inline void breakpoint_clear(void)
{
    __asm__ volatile("mov %0, %%dr7" ::"r"(1ull << 10));
}

#endif
