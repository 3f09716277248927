/* SPDX-License-Identifier: MIT */
/* The stream of one thread: blocks of coded events, in memory or in a file, and a cursor that reads
 * them.
 *
 * A block in memory is the STREAM chunk that it is in a file (log_format.h), in one frame. Blocks
 * that a file holds can leave memory (stream_drop), and come back when a cursor needs them; few
 * such blocks are kept.
 *
 * Locks: the writer's caller holds the view lock of the thread whose stream it is. A finished
 * stream is read without locks, by one thread at a time.
 */
#ifndef REPLAY_STREAM_H
#define REPLAY_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/log_codec.h"

struct stream_block {
    struct log_chunk chunk; /* length is kept; the rest is filled in when it goes to a file */
    struct log_block head;
    uint8_t bytes[LOG_BLOCK_BYTES];
};
_Static_assert(sizeof(struct stream_block) == LOG_PAGE_SIZE, "one frame");
_Static_assert(LOG_EVENT_MAX_BYTES <= LOG_BLOCK_BYTES, "an event never crosses blocks");

/* Where blocks that are not in memory come from. load: any context but NMI, interrupts off or on;
 * NULL, or why it could not be read. */
struct stream_backing {
    const char *(*load)(const struct stream_backing *backing, uint64_t offset,
                        struct stream_block *block);
    uint64_t start, size; /* for load: where the file lies */
    uint64_t file_id;
};

struct stream_ref {
    struct stream_block *block; /* NULL: only in the file */
    uint64_t offset;            /* in the file; 0: not there */
};

#define STREAM_KEPT 4 /* blocks that are loaded at a time */

struct stream {
    struct stream_ref **tables; /* a frame of pointers to frames of references; NULL: empty */
    uint64_t blocks;
    bool open; /* the last block takes more events */
    struct log_coder coder;
    uint64_t events;      /* how many; the number of the last one */
    uint64_t bytes;       /* coded events */
    uint64_t chunk_bytes; /* of the closed blocks as chunks of a file */
    const struct stream_backing *backing;
    uint64_t kept[STREAM_KEPT]; /* loaded blocks: number + 1; 0: none */
    unsigned next_kept;
};

void stream_init(struct stream *stream);
void stream_free(struct stream *stream);

/* False when memory has run out, or the stream has 512 MiB; the event is lost then. */
bool stream_append(struct stream *stream, const struct log_event *event);

/* The next event begins a new block; the ones before do not change any more. */
void stream_close_block(struct stream *stream);

/* Blocks that do not change any more: 0 … stream_closed() - 1. */
static inline uint64_t stream_closed(const struct stream *stream)
{
    return stream->blocks - (stream->open ? 1 : 0);
}

/* A block that is in memory; and one that is brought there if need be, or NULL with *error. */
struct stream_block *stream_block(const struct stream *stream, uint64_t index);
struct stream_block *stream_fetch(struct stream *stream, uint64_t index, const char **error);

/* Bytes of a file that its blocks take. */
uint64_t stream_file_bytes(const struct stream *stream);

/* The block is in the file at offset from now on; drop: and no longer in memory. */
void stream_stored(struct stream *stream, uint64_t index, uint64_t offset, bool drop);

/* Adds a block that lies in a file, with `events` events in `bytes` bytes. False: as append. */
bool stream_add_stored(struct stream *stream, uint64_t offset, uint32_t events, uint32_t bytes);

struct stream_cursor {
    struct stream *stream;
    uint64_t index;  /* of the block */
    uint32_t offset; /* in the block */
    struct log_coder coder;
    uint64_t number;   /* of the event that was read last; 0: none yet */
    const char *error; /* why the stream could not be read further, or NULL */
};

void stream_open(struct stream_cursor *cursor, struct stream *stream);

/* The next event; false at the end, or with cursor->error. */
bool stream_next(struct stream_cursor *cursor, struct log_event *event);

#endif
