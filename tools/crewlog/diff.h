/* SPDX-License-Identifier: MIT */
/* Two recordings of one program, gone through together. */
#ifndef TOOLS_CREWLOG_DIFF_H
#define TOOLS_CREWLOG_DIFF_H

#include "tools/crewlog/log.h"
#include "tools/crewlog/program.h"
#include "tools/crewlog/table.h"

/* One recording, as far as both agree. */
struct diff_side {
    const char *title; /* "first", "second" */
    struct log log;
    /* Of each thread: at the next event that is no DEMOTE; ready: there is one. */
    struct log_cursor cursors[LOG_MAX_SLOTS];
    bool ready[LOG_MAX_SLOTS];
    uint64_t done[LOG_MAX_SLOTS]; /* events passed */
};

/* What is used in turn: a page by its address, an object of the kernel by its number. */
#define DIFF_NOTHING UINT64_MAX
#define DIFF_OBJECT(number) ((1ull << 63) + (number))
#define DIFF_IS_OBJECT(resource) ((resource) >> 63)

/* The last use of one in what both have in common. */
struct diff_use {
    uint32_t slot;
    uint64_t numbers[2]; /* of the event in each recording */
    uint64_t values[2];  /* what the kernel gave there */
    struct log_event event;
};

struct diff {
    struct options options;
    struct program program;
    struct diff_side sides[2];
    struct table uses;           /* by resource: struct diff_use */
    struct diff_use other_value; /* the first value that is not the same; numbers 0: none */
    uint64_t common;             /* events of each that are the same, DEMOTEs not counted */
};

/* What the event uses in a way that has an order; DIFF_NOTHING: nothing. */
uint64_t diff_resource(const struct log_event *event);
bool diff_enabled(const struct diff_side *side, uint32_t slot);
void diff_pass(struct diff_side *side, uint32_t slot); /* passes the thread's next event */

/* The thread whose next events are the first difference. */
void diff_report(struct diff *diff, uint32_t slot);

#endif
