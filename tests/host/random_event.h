/* SPDX-License-Identifier: MIT */
/* Random events of recordings, for the tests of their coding. */
#ifndef TESTS_HOST_RANDOM_EVENT_H
#define TESTS_HOST_RANDOM_EVENT_H

#include <stdbool.h>
#include <string.h>

#include "replay/log_codec.h"
#include "tests/host/random.h"

static const uint8_t event_kinds[] = {
#define E(number, name, text, asynchronous, fields) number,
    LOG_EVENT_TABLE(E)
#undef E
};
#define EVENT_KINDS (sizeof event_kinds / sizeof event_kinds[0])

/* All lengths of numbers are equally likely, not all numbers. */
static inline uint64_t random_number(uint64_t *seed)
{
    return random_u64(seed) >> random_below(seed, 64);
}

static inline void random_deps(uint64_t *seed, struct log_event *event)
{
    event->dep_count = (uint8_t)random_below(seed, random_below(seed, 8) ? 4 : LOG_MAX_DEPS + 1);
    for (unsigned i = 0; i < event->dep_count; i++)
        event->deps[i] =
            (struct log_dep){(uint32_t)random_below(seed, LOG_MAX_SLOTS), random_number(seed) | 1};
}

/* An event of that kind whose point follows `last`, in half of all cases at the same point. */
static inline void random_event(uint64_t *seed, unsigned kind, const struct log_point *last,
                                struct log_event *event)
{
    unsigned fields = log_kind_fields(kind);

    memset(event, 0, sizeof *event);
    event->kind = (uint8_t)kind;
    event->point = *last;
    if (random_below(seed, 2)) {
        uint64_t advance = random_number(seed) >> 12;
        event->point = (struct log_point){last->ticks + advance, random_number(seed),
                                          random_number(seed), (uint32_t)random_u64(seed)};
        if (event->point.ticks < last->ticks)
            event->point.ticks = last->ticks;
    }
    if (fields & LOG_FIELD_PAGE)
        event->page = random_number(seed) & ~4095ull;
    if (fields & LOG_FIELD_RIGHTS)
        event->rights = (uint8_t)(random_below(seed, LOG_RIGHTS_WRITE + 1) |
                                  (random_below(seed, 2) ? LOG_RIGHTS_EXECUTE : 0));
    if (fields & LOG_FIELD_A)
        event->a = random_number(seed);
    if (fields & LOG_FIELD_B)
        event->b = random_number(seed);
    if (fields & LOG_FIELD_DEPS)
        random_deps(seed, event);
}

static inline bool events_equal(const struct log_event *left, const struct log_event *right)
{
    if (!log_point_equal(&left->point, &right->point) || left->kind != right->kind ||
        left->rights != right->rights || left->page != right->page || left->a != right->a ||
        left->b != right->b || left->dep_count != right->dep_count)
        return false;
    for (unsigned i = 0; i < left->dep_count; i++)
        if (left->deps[i].slot != right->deps[i].slot ||
            left->deps[i].event != right->deps[i].event)
            return false;
    return true;
}

#endif
