/* SPDX-License-Identifier: MIT */
/* The sampling profiler: where each CPU is, every so many cycles, interrupts off or not.
 *
 * Context: starting, stopping and reading in the shell's thread. Samples can be read while it runs.
 */
#ifndef KERNEL_PROFILER_H
#define KERNEL_PROFILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/x86/pmu.h"

#define PROFILE_DEPTH 16 /* callers of a kernel sample at most */
#define PROFILE_PERIOD 1000003ull

struct profile_sample {
    bool user;
    uint32_t pid;        /* 0: a thread of the kernel */
    const char *program; /* its name, else that of the kernel's thread */
    uint64_t rip;
    uint32_t depth;
    const uint64_t *callers; /* return addresses, innermost first; none of user code */
};

void profiler_register(void); /* the command (kernel/profiler_report.c); at boot */

int profiler_start(uint64_t period); /* a negative error has been explained on the console */
void profiler_stop(void);
bool profiler_running(void);

bool profiler_has_samples(void); /* it has been started before */
enum pmu_event profiler_event(void);
uint64_t profiler_period(void);
uint64_t profiler_dropped(uint32_t cpu); /* samples that found the CPU's buffer full */

/* The CPU's samples one after the other; *position starts at 0. False: no more. */
bool profiler_next(uint32_t cpu, size_t *position, struct profile_sample *sample);

#endif
