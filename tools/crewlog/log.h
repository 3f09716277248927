/* SPDX-License-Identifier: MIT */
/* A recording's file, opened: header and numbers, then chunks and events on demand.
 *
 * The file is mapped, not read: what is kept of it is a sparse index of at most one entry per
 * thread and LOG_INDEX_STEP bytes. log_open() checks the structure and all checksums; events are
 * decoded when a cursor comes to them, and the first one that cannot be is noted in `damage`.
 */
#ifndef TOOLS_CREWLOG_LOG_H
#define TOOLS_CREWLOG_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/log_codec.h"
#include "replay/log_file.h"
#include "tools/crewlog/tool.h"

#define LOG_INDEX_STEP 65536

/* Where the first block behind a place of the file begins. */
struct log_index_entry {
    uint64_t offset, first_event;
};

struct log_index {
    struct log_index_entry *entries;
    uint64_t count, room;
    uint64_t bytes; /* of coded events */
    uint64_t blocks;
};

struct log_damage {
    const char *reason; /* NULL: none found so far */
    uint64_t offset;
    uint32_t slot;
    uint64_t event;
};

struct log {
    const char *name; /* of the file */
    const uint8_t *bytes;
    uint64_t size;
    struct log_source source;
    /* As it was left at the end of the file: header, numbers, verdict and reason. offset is the end
     * of the last good chunk. */
    struct log_reader reader;
    struct log_index index[LOG_MAX_SLOTS];
    struct log_damage damage;
};

/* name: a file, or IMAGE:NAME for a recording on a disk (image.c). Ends the program when it has no
 * readable header or cannot be read, saying what it is. Stays mapped until the program ends. */
void log_open(struct log *log, const char *name);
/* The same for a part of a file that is mapped already; bytes stay the caller's. */
void log_open_part(struct log *log, const char *name, const uint8_t *bytes, uint64_t size);
void log_close(struct log *log);

/* A whole file, mapped for reading. Ends the program when it cannot be. */
const uint8_t *file_map(const char *name, uint64_t *size);
void file_unmap(const uint8_t *bytes, uint64_t size);

/* "an ELF file"; "" when nothing is known. */
const char *file_kind(const uint8_t *bytes, uint64_t size);

/* "complete", "stopped: out of memory", "cut at offset 1234: …", "damaged at offset 1234: …";
 * what damage says comes first. */
const char *log_verdict_text(const struct log *log, char *out, unsigned size);
bool log_complete(const struct log *log);
enum log_verdict log_verdict(const struct log *log, uint64_t *good); /* *good: up to that offset */

/* What a command returns in the end: INCOMPLETE, with a warning that says why, or FINE. */
enum status log_status(const struct log *log);

uint64_t log_events(const struct log *log);

/* --- chunks: the good ones, in the order of the file --- */

struct log_walk {
    const struct log *log;
    uint64_t offset;
};

void log_walk_open(struct log_walk *walk, const struct log *log);
bool log_walk_next(struct log_walk *walk, struct log_item *item);

/* --- the events of a thread --- */

struct log_cursor {
    struct log *log;
    uint32_t slot;
    uint64_t chunk;          /* offset of the one that comes next */
    uint64_t block;          /* offset of the current block's chunk */
    const uint8_t *at, *end; /* what is not decoded yet of the block */
    uint32_t left;           /* events in it */
    struct log_coder coder;
    /* the current event: */
    uint64_t number; /* 0: none yet */
    uint64_t offset; /* of its first byte in the file */
    uint32_t bytes;  /* coded */
    struct log_event event;
};

/* The event that comes next will be `number` (1: the first). */
void log_cursor_open(struct log_cursor *cursor, struct log *log, uint32_t slot, uint64_t number);
/* At the first event of that block, and ends with it. */
void log_cursor_open_block(struct log_cursor *cursor, struct log *log, const struct log_item *item);
bool log_cursor_next(struct log_cursor *cursor);

/* --- the events of all threads, in an order in which each comes after what it depends on --- */

struct log_merge {
    struct log *log;
    struct log_cursor cursors[LOG_MAX_SLOTS]; /* at the event that comes next, while ready */
    bool ready[LOG_MAX_SLOTS];
    uint64_t done[LOG_MAX_SLOTS]; /* events given out */
    uint32_t turn;
};

void log_merge_open(struct log_merge *merge, struct log *log);
/* The next event; NULL at the end. It stays valid until the next call. */
const struct log_cursor *log_merge_next(struct log_merge *merge);
/* Whether all that the event depends on was given out. */
bool log_merge_enabled(const struct log_merge *merge, const struct log_event *event);
/* Events that were not given out at the end, since what they depend on is not in the file, or they
 * wait for each other. *blocked, if not NULL: the first of them. */
uint64_t log_merge_left(const struct log_merge *merge, const struct log_cursor **blocked);

#endif
