/* SPDX-License-Identifier: MIT */
/* The PMU's self-test: known ring-3 loops on every CPU at once, counted by the counters in
 * question.
 *
 * What an entry into the kernel adds to a user-only count is small and the same each time, or the
 * counter is of no use: so the costs of the three kinds of entry are searched among small numbers
 * until every loop on every CPU comes out exact. No such numbers: the event is refused.
 */
#include "kernel/pmu_calibration.h"

#include "arch/x86/vectors.h"
#include "kernel/err.h"
#include "kernel/pmu_loops.h"
#include "kernel/pmu_owner.h"
#include "kernel/printf.h"
#include "kernel/string.h"

#define MAX_COST 3 /* 0 … 2 are tried */
#define OVERFLOW_PERIOD 1000
#define OVERFLOW_EVENTS 100000

struct calibration {
    const char *refusal; /* NULL: usable */
    uint32_t system_call, page_fault, interrupt;
};

static struct calibration calibrations[PMU_EVENTS] = {
    [0 ... PMU_EVENTS - 1] = {.refusal = "not tested yet"},
};
static const enum pmu_event tested[] = {PMU_EVENT_CONDITIONAL, PMU_EVENT_BRANCHES};

const char *pmu_calibration_refusal(enum pmu_event event)
{
    return pmu_refusal() ? pmu_refusal() : calibrations[event].refusal;
}

uint32_t pmu_calibration_entry_cost(enum pmu_event event, unsigned vector)
{
    const struct calibration *calibration = &calibrations[event];
    if (vector == VECTOR_SYSCALL)
        return calibration->system_call;
    if (vector == VECTOR_PAGE_FAULT)
        return calibration->page_fault;
    return vector < 32 ? 0 : calibration->interrupt;
}

/* --- counting --- */

static bool explains(const struct loop_results *results, enum pmu_event event,
                     const struct calibration *costs)
{
    for (uint32_t i = 0; i < results->count; i++) {
        const struct loop_result *result = &results->result[i];
        uint64_t expected = result->expected[event] +
                            result->entries.system_calls * costs->system_call +
                            result->entries.page_faults * costs->page_fault +
                            result->entries.interrupts * costs->interrupt;
        if (result->counted[event] != expected)
            return false;
    }
    return true;
}

static bool find_costs(const struct loop_results *results, enum pmu_event event,
                       struct calibration *costs)
{
    for (costs->system_call = 0; costs->system_call < MAX_COST; costs->system_call++)
        for (costs->page_fault = 0; costs->page_fault < MAX_COST; costs->page_fault++)
            for (costs->interrupt = 0; costs->interrupt < MAX_COST; costs->interrupt++)
                if (explains(results, event, costs))
                    return true;
    costs->system_call = costs->page_fault = costs->interrupt = 0;
    return false;
}

static const char *name_of_mismatch(const struct loop_results *results, enum pmu_event event)
{
    bool any = false;
    for (uint32_t i = 0; i < results->count; i++)
        any = any || results->result[i].counted[event] != 0;
    return any ? "counts are off" : "the counter never moves";
}

static void print_results(const struct loop_results *results, enum pmu_event event,
                          const struct calibration *calibration)
{
    printk("%s: %s; an entry adds: system call %u, page fault %u, interrupt %u\n",
           event == PMU_EVENT_CONDITIONAL ? "conditional branches" : "all branches",
           calibration->refusal ? calibration->refusal : "exact", calibration->system_call,
           calibration->page_fault, calibration->interrupt);
    for (uint32_t i = 0; i < results->count; i++) {
        const struct loop_result *result = &results->result[i];
        printk("  CPU %-2u %-12s expected %9llu counted %9llu  system calls %llu page faults %llu "
               "interrupts %llu\n",
               result->cpu, result->name, (unsigned long long)result->expected[event],
               (unsigned long long)result->counted[event],
               (unsigned long long)result->entries.system_calls,
               (unsigned long long)result->entries.page_faults,
               (unsigned long long)result->entries.interrupts);
    }
}

static void calibrate_event(const struct loop_results *results, enum pmu_event event, bool verbose)
{
    struct calibration found = {0};
    if (!pmu_has_event(event))
        found.refusal = "this CPU has no such event";
    else if (!find_costs(results, event, &found))
        found.refusal = name_of_mismatch(results, event);
    calibrations[event] = found;
    if (verbose || (found.refusal && pmu_has_event(event)))
        print_results(results, event, &found);
}

/* --- overflow interrupts --- */

static const char *judge_overflows(const struct overflow_result *result)
{
    if (result->interrupts == 0)
        return "overflows do not interrupt";
    if (result->latest > pmu_capabilities.model->skid)
        return "overflow interrupts come too late";
    if (result->left_over > OVERFLOW_PERIOD + pmu_capabilities.model->skid)
        return "overflow interrupts get lost";
    return NULL;
}

static void test_overflows(bool verbose)
{
    struct overflow_result results[MAX_CPUS];
    int error = pmu_loops_overflow(OVERFLOW_EVENTS, OVERFLOW_PERIOD, results);
    for (uint32_t cpu = 0; !error && cpu < cpu_count; cpu++) {
        const char *reason = judge_overflows(&results[cpu]);
        if (verbose || reason)
            printk("  CPU %-2u overflow every %u events: %llu interrupts, at most %llu events "
                   "late, %llu events left over%s%s\n",
                   cpu, OVERFLOW_PERIOD, (unsigned long long)results[cpu].interrupts,
                   (unsigned long long)results[cpu].latest,
                   (unsigned long long)results[cpu].left_over, reason ? ": " : "",
                   reason ? reason : "");
        if (reason)
            pmu_refuse(reason);
    }
    if (error)
        pmu_refuse(err_text(error));
}

void pmu_calibrate(bool verbose)
{
    static struct loop_results results;
    if (pmu_capabilities.kind == PMU_NONE)
        return;
    pmu_refuse(NULL);
    int error = pmu_loops_count(&results);
    if (error) {
        pmu_refuse(err_text(error));
        return;
    }
    for (unsigned i = 0; i < sizeof(tested) / sizeof(tested[0]); i++)
        calibrate_event(&results, tested[i], verbose);
    if (calibrations[PMU_EVENT_CONDITIONAL].refusal && calibrations[PMU_EVENT_BRANCHES].refusal)
        pmu_refuse(calibrations[PMU_EVENT_BRANCHES].refusal);
    else
        test_overflows(verbose);
    if (pmu_refusal())
        printk("PMU: refused: %s\n", pmu_refusal());
}
