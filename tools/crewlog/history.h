/* SPDX-License-Identifier: MIT */
/* All events of a recording in memory, in an order that relates threads: for pictures.
 *
 * A moment's position is the length of the longest chain of events that must come before it, so
 * each event comes behind what it depends on, and what nothing orders may share a position.
 * Demotions are as late as they can be: their place in their own thread says nothing of when the
 * other thread wanted the page.
 */
#ifndef TOOLS_CREWLOG_HISTORY_H
#define TOOLS_CREWLOG_HISTORY_H

#include "tools/crewlog/log.h"
#include "tools/crewlog/table.h"

#define HISTORY_MAX_EVENTS 4000000
#define NO_PAGE UINT32_MAX

struct moment {
    struct log_point point;
    uint64_t a, b;
    uint32_t page; /* its number in history.pages; NO_PAGE: none */
    uint32_t position;
    uint32_t dep_count;
    uint64_t first_dep; /* in history.deps */
    uint8_t kind, rights;
};

/* An event: of thread `slot`, the one behind `index` others. */
struct moment_name {
    uint32_t slot, index;
};

/* The page goes from one thread to another. */
struct handover {
    struct moment_name from, to;
    bool data; /* what the one had written; else only its right to read ends */
};

struct history {
    struct log *log;
    struct moment *moments[LOG_MAX_SLOTS];
    uint64_t count[LOG_MAX_SLOTS];
    uint32_t positions; /* the highest one + 1 */
    struct table pages; /* by address, in the order of their first events */
    struct moment_name *deps;
    uint64_t dep_count, dep_room;
    struct handover *handovers;
    uint64_t handover_count, handover_room;
    uint64_t left_out; /* events that depend on what is not in the file, or are too many */
};

void history_read(struct history *history, struct log *log);
void history_free(struct history *history);

static inline struct moment *history_moment(const struct history *history, struct moment_name name)
{
    return &history->moments[name.slot][name.index];
}

#endif
