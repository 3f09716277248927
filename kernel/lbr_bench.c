/* SPDX-License-Identifier: MIT */
/* `lbr bench`: what LBR costs a page fault, in instructions. */
#include "kernel/lbr.h"

#include "kernel/err.h"
#include "kernel/pmu_loops.h"
#include "kernel/pmu_owner.h"
#include "kernel/printf.h"

static int measure(const char *how)
{
    uint64_t each;
    int error = pmu_loops_fault_cost(&each);
    if (!error)
        printk("@lbr-bench lbr=%s instructions=%llu\n", how, (unsigned long long)each);
    return error;
}

/* Off, on, and off again. */
int lbr_bench(void)
{
    bool was_on = lbr_is_on();
    if (pmu_refusal() || !pmu_has_event(PMU_EVENT_INSTRUCTIONS)) {
        printk("lbr bench: no instructions can be counted: %s\n",
               pmu_refusal() ? pmu_refusal() : "this CPU has no such event");
        return ERR_NOT_FOUND;
    }
    lbr_turn_off();
    int error = measure("off");
    if (!error && !lbr_refusal()) {
        error = lbr_turn_on();
        if (!error)
            error = measure("on");
        lbr_turn_off();
        if (!error)
            error = measure("off");
    }
    if (was_on && !error)
        error = lbr_turn_on();
    return error;
}
