/* SPDX-License-Identifier: MIT */
/* Running the self-test's loops (arch/x86/pmu_loops.asm) in ring 3, one on every CPU at once.
 *
 * Nothing else may run in ring 3 meanwhile, since the counters are not told apart by thread.
 */
#ifndef KERNEL_PMU_LOOPS_H
#define KERNEL_PMU_LOOPS_H

#include <stdint.h>

#include "arch/x86/pmu.h"
#include "kernel/thread.h"

#define PMU_LOOPS 8

struct loop_result {
    const char *name;
    uint32_t cpu;
    uint64_t expected[PMU_EVENTS], counted[PMU_EVENTS]; /* conditional and all branches only */
    struct entry_counts entries;
};

struct loop_results {
    uint32_t count;
    struct loop_result result[PMU_LOOPS * MAX_CPUS];
};

struct overflow_result {
    uint64_t interrupts;
    uint64_t latest;    /* events between an overflow and its interrupt, at most */
    uint64_t left_over; /* events after the last interrupt */
    uint64_t latest_sum;
};

/* 0, ERR_NO_MEMORY, ERR_BUSY (counters are in use). */
int pmu_loops_count(struct loop_results *results);

/* Runs the loop of system calls (`calls` of them) on every CPU; 0 when each CPU did exactly that
 * many, so nothing of a program's registers was lost. ERR_FAILED, ERR_NO_MEMORY. */
int pmu_loops_system_calls(uint64_t calls);

/* Instructions that the kernel executes for an ordinary page fault of a program, with those that
 * read the counter. The event must exist. ERR_NO_MEMORY, ERR_BUSY, ERR_FAILED. */
int pmu_loops_fault_cost(uint64_t *each);

/* Lets a counter of the usable event overflow every `period` events, `events` times in all on each
 * CPU; results[cpu]. */
int pmu_loops_overflow(uint64_t events, uint64_t period, struct overflow_result *results);

#endif
