/* SPDX-License-Identifier: MIT */
/* The oracle's file: what each thread of each run executed, as running hashes.
 *
 * Written by tools/qemu-pmu (option oracle=FILE), read by tools/oracle/compare.c; on one machine,
 * so in its byte order. A header, then records in the order in which they came; ORACLE_CLOSE is
 * the last one of a complete file. A run is a recording or a replay; its threads have slots.
 */
#ifndef TOOLS_ORACLE_FORMAT_H
#define TOOLS_ORACLE_FORMAT_H

#include <stdint.h>

#define ORACLE_MAGIC "ORACLE1"
#define ORACLE_MAX_SLOTS 256

struct oracle_header {
    char magic[8];
    uint64_t step; /* one entry every so many instructions of a thread */
};

enum oracle_kind {
    ORACLE_BEGIN = 1, /* of a run. number: the run that it replays; 0: it is a recording */
    ORACLE_ENTRIES,   /* followed by `entries` entries; number: the first one's instruction */
    ORACLE_ENDED,     /* the thread has ended. number: its instructions; rip: where it stands */
    ORACLE_END,       /* of a run. number: not 0 when it was given up */
    ORACLE_CLOSE,
};

struct oracle_record {
    uint32_t kind;
    uint32_t run;
    uint32_t slot;
    uint32_t entries;
    uint64_t number;
    uint64_t rip;
    uint64_t hash; /* ORACLE_ENDED: of all that the thread executed */
};
_Static_assert(sizeof(struct oracle_record) == 40, "no padding");

/* The thread's instruction with the number first + index * step, counted from 1: where it stood,
 * and the hash of it and of all before it. */
struct oracle_entry {
    uint64_t rip;
    uint64_t hash;
};

#endif
