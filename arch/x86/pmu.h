/* SPDX-License-Identifier: MIT */
/* The performance monitoring unit: what this machine has, and its counters.
 *
 * Discovery is once, on the boot CPU; the counters are each CPU's own. Who may use which counter is
 * kernel/pmu_owner.h's business. Sources: Intel SDM vol. 3, "Performance Monitoring" (chapter 20 of
 * the 2023 edition); AMD APM vol. 2, 13.2.
 *
 * Context: all functions act on the CPU they run on, interrupts off or NMI, but where said.
 */
#ifndef ARCH_X86_PMU_H
#define ARCH_X86_PMU_H

#include <stdbool.h>
#include <stdint.h>

#define PMU_MAX_COUNTERS 16

enum pmu_kind {
    PMU_NONE,
    PMU_INTEL, /* architectural performance monitoring, CPUID.0AH */
    PMU_AMD,   /* core performance counters, CPUID 8000_0001H ECX bit 23 */
};

enum pmu_event {
    PMU_EVENT_CONDITIONAL, /* retired conditional branches */
    PMU_EVENT_BRANCHES,    /* all retired branches */
    PMU_EVENT_INSTRUCTIONS,
    PMU_EVENT_CYCLES,
    PMU_EVENTS,
};

#define PMU_COUNT_USER 1u
#define PMU_COUNT_KERNEL 2u
#define PMU_INTERRUPT 4u

/* One row of the table of microarchitectures (pmu_models.c). */
struct pmu_model {
    const char *name;
    uint64_t select[PMU_EVENTS]; /* event, umask and further bits of PERFEVTSEL; 0: no such event */
    uint32_t skid;               /* how many events late the overflow interrupt may come */
    const char *errata;          /* what the kernel has to mind, or NULL */
};

struct pmu_capabilities {
    enum pmu_kind kind;
    const char *reason; /* PMU_NONE: why */
    uint32_t version, counters, width;
    uint32_t fixed_counters, fixed_width;
    bool full_width_write; /* counters can be written in full through 0x4C1 … */
    bool global_control;
    const struct pmu_model *model;
};
extern struct pmu_capabilities pmu_capabilities;

void pmu_detect(void);    /* boot CPU, once */
void pmu_setup_cpu(void); /* every CPU: all counters off, overflow interrupt = NMI */

const struct pmu_model *pmu_model_find(void); /* pmu_models.c; never NULL */
bool pmu_has_event(enum pmu_event event);

/* flags: PMU_COUNT_* and PMU_INTERRUPT. `value` is taken modulo 2^width; -n overflows after n
 * events. False: the CPU refused a value. */
bool pmu_start(uint32_t counter, enum pmu_event event, unsigned flags, uint64_t value);
void pmu_stop(uint32_t counter);
uint64_t pmu_read(uint32_t counter);
uint64_t pmu_write(uint32_t counter, uint64_t value); /* returns the value that it now has */
uint64_t pmu_mask(void);                              /* 2^width - 1 */

/* In an NMI: which counters (bits) have overflowed; then clears that and lets the next one come. */
uint32_t pmu_overflowed(uint32_t armed);
void pmu_acknowledge(uint32_t counters);

#endif
