/* SPDX-License-Identifier: MIT */
/* Reading a whole recording's file in memory, for tests. */
#ifndef TESTS_HOST_LOG_RESULT_H
#define TESTS_HOST_LOG_RESULT_H

#include <stdlib.h>
#include <string.h>

#include "kernel/hash.h"
#include "replay/log_codec.h"
#include "tests/host/log_maker.h"

/* What a reader makes of a file. digest: all payloads but those of PADs, and where they stood. */
struct result {
    struct log_reader reader;
    struct log_source source;
    uint64_t chunks, events;
    bool streams_good; /* every block decodes to as many events as it says */
    uint8_t digest[16];
};

static inline bool block_decodes(const struct log_item *item)
{
    struct log_block block;
    struct log_coder coder = {0};
    struct log_event event;
    const char *reason;
    uint32_t at = sizeof block;

    memcpy(&block, item->payload, sizeof block);
    for (uint32_t i = 0; i < block.events; i++) {
        size_t length =
            log_decode(&coder, item->payload + at, item->chunk.length - at, &event, &reason);
        if (!length)
            return false;
        at += (uint32_t)length;
    }
    return at == item->chunk.length;
}

static inline void read_source(const struct log_source *source, struct result *result)
{
    static _Alignas(8) uint8_t buffer[LOG_CHUNK_MAX];
    struct log_item item;
    struct hash hash;

    memset(result, 0, sizeof *result);
    result->source = *source;
    result->streams_good = true;
    hash_init(&hash, sizeof result->digest);
    log_reader_open(&result->reader, &result->source);
    while (log_reader_next(&result->reader, buffer, &item)) {
        result->chunks++;
        if (item.chunk.kind == LOG_CHUNK_PAD)
            continue;
        hash_update(&hash, &item.chunk.kind, sizeof item.chunk.kind);
        hash_update(&hash, &item.chunk.slot, sizeof item.chunk.slot);
        hash_update(&hash, item.payload, item.chunk.length);
        if (item.chunk.kind == LOG_CHUNK_STREAM)
            result->streams_good &= block_decodes(&item);
    }
    for (uint32_t slot = 0; slot < LOG_MAX_SLOTS; slot++)
        result->events += result->reader.events[slot];
    hash_final(&hash, result->digest);
}

static inline void read_bytes(const uint8_t *bytes, size_t size, struct result *result)
{
    uint8_t *copy = malloc(size ? size : 1);
    struct log_memory memory = {copy, size, 0};
    struct log_source source = log_memory_source(&memory);

    memcpy(copy, bytes, size);
    read_source(&source, result);
    free(copy);
}

#endif
