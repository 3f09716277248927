/* SPDX-License-Identifier: MIT */
/* Recordings' files that no kernel recorded, for tests: valid, the same for the same recipe, and as
 * long as wanted.
 *
 * The events come from threads that really go by the CREW rule on a few pages: each transfer has
 * its demotions and dependencies, system calls have their objects, values and results.
 */
#ifndef TESTS_HOST_LOG_MAKER_H
#define TESTS_HOST_LOG_MAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/log_file.h"

struct log_recipe {
    uint64_t seed;
    uint32_t threads;     /* 1 … LOG_MAX_SLOTS; a third of them come after the checkpoint */
    uint32_t pages;       /* that they share, 1 … MADE_MAX_PAGES */
    uint64_t events;      /* of all threads together, about */
    enum log_verdict end; /* COMPLETE, STOPPED; CUT: there is no END chunk */
    bool pads;            /* with PAD chunks in between */
    uint64_t text, size;  /* of the program's code, for points; 0: somewhere */
    const char *program;  /* its name; NULL: made */
};
#define MADE_MAX_PAGES 1024

struct made_log {
    uint8_t *bytes;
    size_t size;
    size_t *chunks; /* offsets */
    size_t chunk_count;
};

void log_make(const struct log_recipe *recipe, struct made_log *log);
void made_log_free(struct made_log *log);

/* Makes the checksum right of the chunk at `bytes`, of which `size` bytes are there. False: its
 * length says that it is longer. */
bool log_chunk_reseal(uint8_t *bytes, size_t size);

/* A source over memory; context: struct log_memory. */
struct log_memory {
    const uint8_t *bytes;
    size_t size;
    size_t fails_at; /* a read that reaches this offset fails; 0: none does */
};
struct log_source log_memory_source(struct log_memory *memory);

#endif
