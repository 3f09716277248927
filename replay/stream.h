/* SPDX-License-Identifier: MIT */
/* The stream of one thread in memory: blocks of coded events, and a cursor that reads them.
 *
 * Locks: the writer's caller holds the view lock of the thread whose stream it is. A finished
 * stream is read without locks.
 */
#ifndef REPLAY_STREAM_H
#define REPLAY_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/log_codec.h"

#define STREAM_BLOCK_BYTES (4096 - 2 * sizeof(uint64_t))

struct stream_block {
    struct stream_block *next;
    uint64_t used;
    uint8_t bytes[STREAM_BLOCK_BYTES];
};
_Static_assert(sizeof(struct stream_block) == 4096, "one frame");
_Static_assert(LOG_EVENT_MAX_BYTES <= STREAM_BLOCK_BYTES, "an event never crosses blocks");

struct stream {
    struct stream_block *first, *last;
    struct log_coder coder;
    uint64_t events; /* how many; the number of the last one */
    uint64_t bytes;
};

void stream_init(struct stream *stream);
void stream_free(struct stream *stream);

/* False when memory has run out; the event is lost then, and with it the recording. */
bool stream_append(struct stream *stream, const struct log_event *event);

struct stream_cursor {
    const struct stream_block *block;
    uint64_t offset; /* in the block */
    struct log_coder coder;
    uint64_t number;   /* of the event that was read last; 0: none yet */
    const char *error; /* why the stream could not be read further, or NULL */
};

void stream_open(struct stream_cursor *cursor, const struct stream *stream);

/* The next event; false at the end, or with cursor->error. */
bool stream_next(struct stream_cursor *cursor, struct log_event *event);

#endif
