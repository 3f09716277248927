/* SPDX-License-Identifier: MIT */
/* A counter on every CPU that interrupts every so many events of kernel and user: what the profiler
 * and the watchdog have in common.
 *
 * Context: starting and stopping from one thread at a time, interrupts on, no lock held.
 */
#ifndef KERNEL_PMU_SAMPLING_H
#define KERNEL_PMU_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/pmu_owner.h"

/* Below it the handlers themselves would make up most of what is counted, or all of it; beyond the
 * other not every PMU can be told. */
#define PMU_SAMPLING_PERIOD_MIN 10000ull
#define PMU_SAMPLING_PERIOD_MAX 0x7fffffffull

struct pmu_sampler {
    struct pmu_user user; /* name and overflow: fixed */
    enum pmu_event event; /* fixed while it runs */
    uint64_t period;      /* the same */
    bool running;
    bool failed; /* atomic; a CPU refused */
};

/* Cycles, else instructions, else branches: what this machine has. ERR_BUSY, ERR_NOT_FOUND (no PMU
 * that can be used), ERR_FAILED; the reason has been printed then. */
int pmu_sampler_start(struct pmu_sampler *sampler, uint64_t period);
void pmu_sampler_stop(struct pmu_sampler *sampler); /* also one that does not run */

const char *pmu_event_name(enum pmu_event event);

#endif
