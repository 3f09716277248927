/* SPDX-License-Identifier: MIT */
/* What the two halves of the maker of recordings share: log_maker.c writes the file,
 * log_maker_threads.c lets the threads run. */
#ifndef TESTS_HOST_LOG_MAKER_INTERNAL_H
#define TESTS_HOST_LOG_MAKER_INTERNAL_H

#include "replay/log_codec.h"
#include "tests/host/log_maker.h"

#define TEXT_BASE 0x401000ull
#define DATA_BASE 0x404000ull
#define STACK_BASE 0x7fff00000000ull
#define OBJECTS 19
#define NOBODY LOG_MAX_SLOTS

struct maker_thread {
    struct log_coder coder;
    struct log_point point;
    uint64_t events;                /* so far */
    uint64_t seen[LOG_MAX_SLOTS];   /* events of others that it is known to come after */
    uint32_t in_block, block_bytes; /* events, coded bytes */
    uint8_t *block;                 /* room for a chunk */
    bool has_text;
};

struct maker_page {
    uint8_t rights[LOG_MAX_SLOTS];
    uint32_t writer;
    struct log_dep last_write;
};

struct maker {
    const struct log_recipe *recipe;
    struct made_log *log;
    uint64_t seed, file_id;
    size_t room, chunk_room; /* allocated in *log */
    uint32_t first_threads, threads;
    uint32_t fpu_bytes;
    struct maker_thread thread[LOG_MAX_SLOTS];
    struct maker_page *page;
    struct log_dep object_last[OBJECTS];
    uint64_t events;
};

/* Appends the payload that lies behind room for a chunk's head in `bytes`. */
void maker_put_chunk(struct maker *maker, uint8_t *bytes, enum log_chunk_kind kind, uint32_t slot,
                     uint32_t length);
/* A PAD, if the recipe wants any. */
void maker_put_pad(struct maker *maker);

/* An address of the program's code. */
uint64_t maker_text_address(struct maker *maker);
/* One thread does something. */
void maker_step(struct maker *maker);
/* All of them come to their end. */
void maker_end_threads(struct maker *maker);
/* What a thread has logged that is in no chunk yet. */
void maker_put_block(struct maker *maker, uint32_t slot);

#endif
