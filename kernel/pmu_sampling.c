/* SPDX-License-Identifier: MIT */
/* Starting a counter with overflow interrupts on every CPU, and stopping it. */
#include "kernel/pmu_sampling.h"

#include "kernel/err.h"
#include "kernel/ipi_call.h"
#include "kernel/printf.h"

const char *pmu_event_name(enum pmu_event event)
{
    static const char *const names[PMU_EVENTS] = {
        [PMU_EVENT_CONDITIONAL] = "conditional branches",
        [PMU_EVENT_BRANCHES] = "branches",
        [PMU_EVENT_INSTRUCTIONS] = "instructions",
        [PMU_EVENT_CYCLES] = "cycles",
    };
    return names[event];
}

static enum pmu_event choose_event(void)
{
    if (pmu_has_event(PMU_EVENT_CYCLES))
        return PMU_EVENT_CYCLES;
    return pmu_has_event(PMU_EVENT_INSTRUCTIONS) ? PMU_EVENT_INSTRUCTIONS : PMU_EVENT_BRANCHES;
}

/* Armed after the start: without a status register the owner takes a counter that is armed and not
 * below zero for one that has overflowed. */
static void start_here(void *argument)
{
    struct pmu_sampler *sampler = argument;
    if (pmu_start(sampler->user.counter, sampler->event,
                  PMU_COUNT_USER | PMU_COUNT_KERNEL | PMU_INTERRUPT, 0 - sampler->period))
        pmu_user_armed(&sampler->user, true);
    else
        __atomic_store_n(&sampler->failed, true, __ATOMIC_RELAXED);
}

static void stop_here(void *argument)
{
    struct pmu_sampler *sampler = argument;
    pmu_user_armed(&sampler->user, false);
    pmu_stop(sampler->user.counter);
}

int pmu_sampler_start(struct pmu_sampler *sampler, uint64_t period)
{
    const char *name = sampler->user.name;
    int error = pmu_reserve(&sampler->user);
    if (error) {
        const char *refusal = pmu_refusal();
        printk("%s: %s\n", name, refusal ? refusal : "all performance counters are in use");
        return error;
    }
    sampler->event = choose_event();
    sampler->period = period;
    sampler->failed = false;
    sampler->running = true;
    ipi_call_all(start_here, sampler, "sampling counters to start");
    if (!__atomic_load_n(&sampler->failed, __ATOMIC_RELAXED))
        return 0;
    pmu_sampler_stop(sampler);
    printk("%s: the CPU refuses to count %s\n", name, pmu_event_name(sampler->event));
    return ERR_FAILED;
}

void pmu_sampler_stop(struct pmu_sampler *sampler)
{
    if (!sampler->running)
        return;
    ipi_call_all(stop_here, sampler, "sampling counters to stop");
    pmu_release(&sampler->user);
    sampler->running = false;
}
