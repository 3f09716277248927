/* SPDX-License-Identifier: MIT */
/* Recording of last branches on this CPU; interrupts off. */
#ifndef ARCH_X86_LBR_REGISTERS_H
#define ARCH_X86_LBR_REGISTERS_H

#include "arch/x86/lbr.h"

/* Clears the records and sets the filter first; recording is off before. False: it stays off. */
bool lbr_registers_start(uint64_t select);
void lbr_registers_stop(void);

#endif
