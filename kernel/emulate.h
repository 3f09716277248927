/* SPDX-License-Identifier: MIT */
/* Instructions that trap in ring 3 so that a recording can log what they read. */
#ifndef KERNEL_EMULATE_H
#define KERNEL_EMULATE_H

#include <stdbool.h>

#include "arch/x86/frame.h"

/* RDTSC and RDTSCP (CR4.TSD is set): true when the instruction at RIP was one and has been
 * carried out, or when its page is gone and it must be tried again. Interrupts on. */
bool emulate_time_stamp(struct trap_frame *frame);

#endif
