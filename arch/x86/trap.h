/* SPDX-License-Identifier: MIT */
/* What entry.asm calls.
 */
#ifndef ARCH_X86_TRAP_H
#define ARCH_X86_TRAP_H

#include <stdbool.h>
#include <stdint.h>
#include "arch/x86/frame.h"
#include "arch/x86/vectors.h"

void trap_dispatch(struct trap_frame *frame);

/* Right before IRETQ to ring 3: returns only when that cannot fault. */
void trap_check_user_frame(struct trap_frame *frame);

/* A fault of ring 0 at an instruction that provides for it (FIXUP_ENTRY, arch/x86/msr.h): makes the
 * frame go on there. False: it does not. */
bool trap_apply_fixup(struct trap_frame *frame);

/* Reads a word of kernel memory that may not be mapped: false, and *value untouched. */
bool trap_read_safe(uint64_t address, uint64_t *value);

#endif
