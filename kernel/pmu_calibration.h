/* SPDX-License-Identifier: MIT */
/* The PMU's self-test: is each event counted exactly, what does an entry into the kernel add, how
 * late do overflow interrupts come. Done at boot on every CPU; `pmu test` repeats it.
 *
 * A counter that is off, never moves, or interrupts too late or not at all is refused by name.
 */
#ifndef KERNEL_PMU_CALIBRATION_H
#define KERNEL_PMU_CALIBRATION_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/x86/pmu.h"

/* NULL: the event can be used for ticks. */
const char *pmu_calibration_refusal(enum pmu_event event);

/* Events that the entry by this vector adds to a user-only counter. NMI-safe. */
uint32_t pmu_calibration_entry_cost(enum pmu_event event, unsigned vector);

/* Runs the test; verbose: prints its table. Thread context. */
void pmu_calibrate(bool verbose);

#endif
