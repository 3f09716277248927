/* SPDX-License-Identifier: MIT */
/* The chain of handlers of breakpoints in the kernel (#BP of ring 0, int3).
 *
 * Each is asked in turn until one says that the breakpoint is its own; if none does, the kernel
 * panics. frame->rip is the address after the int3. A handler may run in any context, in an NMI and
 * with any lock held by the interrupted code: it takes no lock, sleeps not, faults not, leaves
 * interrupts off, and changes the frame as to where to go on. Neither it nor what it calls may hold
 * a marker or a probe, unless it has something against recursion.
 */
#ifndef KERNEL_BREAKPOINT_H
#define KERNEL_BREAKPOINT_H

#include <stdbool.h>

#include "arch/x86/frame.h"

struct breakpoint_handler {
    const char *name;
    bool (*handle)(struct trap_frame *frame); /* true: it was mine */
    struct breakpoint_handler *next;          /* the chain's */
};

void breakpoint_register(struct breakpoint_handler *handler); /* static storage; never taken away */

#endif
