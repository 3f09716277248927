/* SPDX-License-Identifier: MIT */
/* NMIs into every instruction of the entry and exit paths. */
#ifndef KERNEL_PMU_SWEEP_H
#define KERNEL_PMU_SWEEP_H

#include <stdint.h>

/* About `interrupts` overflow NMIs on each CPU while system calls run there, at ever different
 * places. Prints a @sweep line. 0, ERR_FAILED (a canary, or a program's registers, are damaged), or
 * why it could not be done (ERR_NOT_FOUND, ERR_BUSY, ERR_NO_MEMORY). */
int pmu_sweep(uint64_t interrupts);
void pmu_sweep_register_command(void);

#endif
