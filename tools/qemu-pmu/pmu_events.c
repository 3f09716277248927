/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The events of the emulated PMU.
 *
 * Pure. Numbers: Intel SDM vol. 3, chapter 20 (architectural events), and Intel's event lists of
 * the families named in pmu_events.h (BR_INST_RETIRED.*).
 */
#include "tools/qemu-pmu/pmu_events.h"

#define ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#define S(source) (1u << PMU_##source)
#define ALL_BRANCHES (S(CONDITIONAL) | S(JUMP) | S(CALL) | S(RETURN) | S(FAR))
#define NEAR_TAKEN (S(TAKEN) | S(JUMP) | S(CALL) | S(RETURN))

struct event {
    uint16_t select; /* unit mask << 8 | event number */
    uint8_t sources; /* S(…) */
};

static const struct event architectural[] = {
    {0x003c, S(INSTRUCTION)}, /* core cycles: one an instruction */
    {0x013c, S(INSTRUCTION)}, /* reference cycles: the same */
    {0x00c0, S(INSTRUCTION)},
    {0x00c4, ALL_BRANCHES},
};

static const struct event skylake[] = {
    {0x01c4, S(CONDITIONAL)}, {0x02c4, S(CALL)},    {0x08c4, S(RETURN)},
    {0x10c4, S(NOT_TAKEN)},   {0x20c4, NEAR_TAKEN}, {0x40c4, S(FAR)},
};

static const struct event icelake[] = {
    {0x11c4, S(CONDITIONAL)}, {0x01c4, S(TAKEN)},   {0x10c4, S(NOT_TAKEN)}, {0x02c4, S(CALL)},
    {0x08c4, S(RETURN)},      {0x20c4, NEAR_TAKEN}, {0x40c4, S(FAR)},
};

static const struct event silvermont[] = {
    {0x7ec4, S(CONDITIONAL)}, {0xfec4, S(TAKEN)}, {0xf9c4, S(CALL)},
    {0xf7c4, S(RETURN)},      {0xbfc4, S(FAR)},
};

static unsigned find(const struct event *events, unsigned count, uint16_t select)
{
    for (unsigned i = 0; i < count; i++)
        if (events[i].select == select)
            return events[i].sources;
    return 0;
}

static unsigned sources_of(enum pmu_event_table table, uint16_t select)
{
    unsigned sources = find(architectural, ARRAY_LENGTH(architectural), select);

    if (sources)
        return sources;
    switch (table) {
    case PMU_EVENTS_SKYLAKE:
        return find(skylake, ARRAY_LENGTH(skylake), select);
    case PMU_EVENTS_ICELAKE:
        return find(icelake, ARRAY_LENGTH(icelake), select);
    case PMU_EVENTS_SILVERMONT:
        return find(silvermont, ARRAY_LENGTH(silvermont), select);
    }
    return 0;
}

pmu_word_set pmu_event_words(enum pmu_event_table table, uint16_t select, bool user, bool kernel)
{
    unsigned sources = sources_of(table, select);
    pmu_word_set words = 0;

    for (unsigned source = 0; source < PMU_SOURCES; source++) {
        if (!(sources >> source & 1))
            continue;
        if (user)
            words |= PMU_WORD(source, PMU_USER);
        if (kernel)
            words |= PMU_WORD(source, PMU_KERNEL);
    }
    return words;
}
