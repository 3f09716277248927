/* SPDX-License-Identifier: MIT */
/* Whether a recording's file keeps all rules: those of its chunks (log_file.h), and those of what
 * is in them. The file is untrusted. Pure; also compiled for the host.
 *
 * Not here, since it needs memory that grows with the recording: whether an order of the events
 * exists in which each has what it depends on, and whether pages have one writer at a time in it.
 */
#ifndef REPLAY_LOG_CHECK_H
#define REPLAY_LOG_CHECK_H

#include "replay/log_codec.h"
#include "replay/log_file.h"

struct log_check_thread {
    uint64_t events, ticks; /* so far; ticks of the last one */
    uint64_t syscall;       /* the number, while in_syscall */
    bool in_syscall, ended;
    uint64_t last; /* offset of the last event's chunk */
};

/* Large: static or in the heap. */
struct log_check {
    struct log_reader whole; /* after the first pass: all numbers, and the verdict */
    /* The first offence: what, and where in the file. event 0: not one event's. */
    const char *reason;
    uint64_t offset;
    uint32_t slot;
    uint64_t event;
    /* the second pass: */
    const struct log_source *source;
    struct log_reader reader, mappings; /* all chunks; the mappings, for the pages */
    struct log_vma vma;                 /* the one that `mappings` is at */
    uint64_t clones, cloned;            /* calls of clone; those that gave a thread */
    struct log_check_thread threads[LOG_MAX_SLOTS];
    struct log_event current;
    _Alignas(8) uint8_t buffer[LOG_CHUNK_MAX];
    _Alignas(8) uint8_t mapping_buffer[LOG_CHUNK_MAX];
};

/* True: no rule is broken; whole.verdict says whether the recording is complete. False:
 * check->reason and the fields after it. A file that was cut, or whose recorder gave up, breaks no
 * rule by that. */
bool log_check(struct log_check *check, const struct log_source *source);

#endif
