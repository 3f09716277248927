/* SPDX-License-Identifier: MIT */
/* What entry.asm calls.
 */
#ifndef ARCH_X86_TRAP_H
#define ARCH_X86_TRAP_H

#include "arch/x86/frame.h"
#include "arch/x86/vectors.h"

void trap_dispatch(struct trap_frame *frame);

/* Right before IRETQ to ring 3: returns only when that cannot fault. */
void trap_check_user_frame(struct trap_frame *frame);

#endif
