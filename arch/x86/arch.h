/* SPDX-License-Identifier: MIT */
/* Bringing up the boot CPU, and what the layers above may ask of the trap code.
 */
#ifndef ARCH_X86_ARCH_H
#define ARCH_X86_ARCH_H

#include <stdbool.h>
#include <stdint.h>

/* First line of kernel_main(): GDT, TSS with static stacks, IDT, features, control registers. No
 * allocation, no output. From here on exceptions are reported. */
void arch_early_init(void);

/* After paging_init(): IST stacks with guard pages, a guard page below the boot stack, and the
 * FPU. */
void arch_late_init(void);

/* The selectors and the FS base that ring 3 can change by itself: `mov fs, ax` with the user's data
 * selector sets the base to 0. Saved when a thread leaves the CPU and loaded when it gets it
 * back, so that nothing of one thread is seen by another, and a thread's view of them does not
 * depend on when it was switched. Interrupts off. A new thread starts with all zero, but for
 * fs_base. */
struct user_segments {
    uint64_t fs_base;
    uint16_t ds, es, fs, gs;
};
void context_save_segments(struct user_segments *segments);
void context_load_segments(const struct user_segments *segments);

/* Makes an area of what comes from outside: length bytes of XSAVE's standard form, or (up to 512)
 * FXSAVE's. False: fpu_restore() would fault. */
bool fpu_load_area(void *area, const void *from, uint32_t length);

#endif
