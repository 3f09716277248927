/* SPDX-License-Identifier: MIT */
/* Calls on all CPUs: several callers at once, with spinlocks and TLB flushes in between.
 */
#include "arch/x86/cpu.h"
#include "kernel/ipi_call.h"
#include "kernel/spinlock.h"
#include "kernel/thread.h"
#include "mm/tlb.h"
#include "tests/kernel/suite.h"

#define CALLS 120

struct call {
    uint32_t runs[MAX_CPUS]; /* atomic */
    uint32_t interrupts_on;  /* atomic */
};

static void called(void *argument)
{
    struct call *call = argument;

    __atomic_add_fetch(&call->runs[this_cpu()->index], 1, __ATOMIC_RELAXED);
    if (irq_enabled())
        __atomic_add_fetch(&call->interrupts_on, 1, __ATOMIC_RELAXED);
}

/* When the call returns, every CPU has run the function once. */
static unsigned call_once(void)
{
    struct call call = {.interrupts_on = 0};
    unsigned wrong = 0;

    ipi_call_all(called, &call, "suite calls");
    for (uint32_t i = 0; i < cpu_count; i++)
        wrong += __atomic_load_n(&call.runs[i], __ATOMIC_RELAXED) != 1;
    return wrong + call.interrupts_on;
}

static void test_one_caller(void)
{
    unsigned wrong = 0;

    for (unsigned i = 0; i < CALLS; i++)
        wrong += call_once();
    is_equal(wrong, 0, "%u calls run once on each of %u CPUs, interrupts off", CALLS, cpu_count);
}

static struct spinlock busy_lock = SPINLOCK_INIT(LOCK_SESSION, "suite calls");

static void call_often(unsigned index, void *argument)
{
    uint32_t *wrong = argument;

    for (unsigned i = 0; i < CALLS; i++) {
        unsigned bad = 0;
        if (index % 3 == 2) {
            bool enabled = spin_lock_irq(&busy_lock);
            for (unsigned turns = 0; turns < 200; turns++)
                cpu_pause();
            spin_unlock_irq(&busy_lock, enabled);
        } else if (index % 3 == 1 && i % 4 == 0) {
            tlb_flush_all_cpus();
        } else {
            bad = call_once();
        }
        if (bad)
            __atomic_add_fetch(wrong, bad, __ATOMIC_RELAXED);
        if (i % 8 == 0)
            thread_yield();
    }
}

static void test_storm(void)
{
    uint32_t wrong = 0;
    unsigned threads = 3 * cpu_count;

    crowd_run(threads, call_often, &wrong);
    is_equal(wrong, 0, "%u threads call all CPUs at once, none is lost or doubled", threads);
}

static void run(void)
{
    test_one_caller();
    test_storm();
}

const struct suite suite_calls = {"calls", run};
