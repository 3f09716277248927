/* SPDX-License-Identifier: MIT */
/* A machine for tests of tools/qemu-pmu: its PMU, and translated guest code that counts.
 *
 * machine_event() does what the translated code does: it adds to a word, and settles when the word
 * has become 0.
 */
#ifndef TESTS_HOST_PMU_MACHINE_H
#define TESTS_HOST_PMU_MACHINE_H

#include <string.h>

#include "tools/qemu-pmu/pmu_bits.h"
#include "tools/qemu-pmu/pmu_model.h"

#define CONDITIONAL 0x01c4 /* with the events of Skylake */
#define ALL_BRANCHES 0x00c4
#define INSTRUCTIONS 0x00c0
#define COUNT_USER (PERFEVTSEL_USER | PERFEVTSEL_ENABLE)
#define INTERRUPT PERFEVTSEL_INT

struct machine {
    struct pmu_config config;
    struct pmu pmu;
    struct pmu_words words;
    uint64_t events; /* since the start */
    uint64_t interrupts;
    uint64_t interrupt_at; /* the event that raised the last one */
};

static inline void machine_settle(struct machine *m)
{
    if (!pmu_settle(&m->pmu, &m->words))
        return;
    m->interrupts++;
    m->interrupt_at = m->events;
}

static inline void machine_init(struct machine *m, struct pmu_config config)
{
    memset(m, 0, sizeof(*m));
    if (!config.version)
        config.version = 4;
    m->config = config;
    pmu_reset(&m->pmu, &m->config, 0);
    machine_settle(m);
}

static inline void machine_event(struct machine *m, enum pmu_source source, enum pmu_mode mode)
{
    m->events++;
    if (!++m->words.word[source][mode])
        machine_settle(m);
}

static inline void machine_run(struct machine *m, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        machine_event(m, PMU_CONDITIONAL, PMU_USER);
}

static inline bool machine_write(struct machine *m, uint32_t msr, uint64_t value)
{
    bool written;

    machine_settle(m);
    written = pmu_write_msr(&m->pmu, msr, value);
    machine_settle(m);
    return written;
}

static inline uint64_t machine_read(struct machine *m, uint32_t msr)
{
    uint64_t value = 0xbad;

    machine_settle(m);
    if (!pmu_read_msr(&m->pmu, msr, &value))
        return 0xbad;
    return value;
}

/* Counter `index` counts `select` and overflows after `events` more. */
static inline void machine_start(struct machine *m, unsigned index, uint64_t select,
                                 uint64_t events)
{
    machine_write(m, MSR_PERFEVTSEL0 + index, 0);
    machine_write(m, MSR_FULL_WIDTH_PMC0 + index, -events & PMU_COUNTER_MASK);
    machine_write(m, MSR_PERF_GLOBAL_OVF_CTRL, 1ull << index);
    machine_write(m, MSR_PERFEVTSEL0 + index, select);
    m->events = m->interrupts = m->interrupt_at = 0;
}

#endif
