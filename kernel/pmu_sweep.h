/* SPDX-License-Identifier: MIT */
/* NMIs into every instruction of the entry and exit paths. */
#ifndef KERNEL_PMU_SWEEP_H
#define KERNEL_PMU_SWEEP_H

/* `sweep [N]`: about N overflow NMIs on each CPU while system calls run there, at ever different
 * places. Prints a @sweep line. */
void pmu_sweep_register_command(void);

#endif
