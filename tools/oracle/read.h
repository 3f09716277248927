/* SPDX-License-Identifier: MIT */
/* The oracle's file as runs and threads. Nothing is copied: records stay where the file is mapped.
 * What is wrong with a file ends the program, by name, with status 2.
 */
#ifndef TOOLS_ORACLE_READ_H
#define TOOLS_ORACLE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/oracle/format.h"

struct thread {
    const struct oracle_record **records; /* ORACLE_ENTRIES, in order */
    size_t count;
    const struct oracle_record *ended;
};

struct run {
    uint32_t number;
    uint64_t replayed; /* 0: a recording */
    bool ended, given_up;
    unsigned replays; /* of this recording, so far */
    struct thread threads[ORACLE_MAX_SLOTS];
};

extern struct run *oracle_runs; /* in the order in which they began */
extern size_t oracle_run_count;
extern uint64_t oracle_step;

void oracle_read_file(const char *name);
struct run *oracle_need_run(uint64_t number, const char *complaint); /* or dies with that */
_Noreturn void __attribute__((format(printf, 1, 2))) oracle_die(const char *format, ...);

#endif
