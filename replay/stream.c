/* SPDX-License-Identifier: MIT */
/* Streams in memory: a list of one-frame blocks. */
#include "replay/stream.h"

#include "arch/x86/layout.h"
#include "kernel/string.h"
#include "mm/frames.h"

void stream_init(struct stream *stream)
{
    memset(stream, 0, sizeof(*stream));
}

void stream_free(struct stream *stream)
{
    while (stream->first) {
        struct stream_block *block = stream->first;
        stream->first = block->next;
        frame_free(VIRT_TO_PHYS(block));
    }
    stream_init(stream);
}

static bool add_block(struct stream *stream)
{
    uint64_t frame = frame_alloc();
    if (!frame)
        return false;
    struct stream_block *block = PHYS_TO_VIRT(frame);
    block->next = NULL;
    block->used = 0;
    if (stream->last)
        stream->last->next = block;
    else
        stream->first = block;
    stream->last = block;
    memset(&stream->coder, 0, sizeof(stream->coder));
    return true;
}

bool stream_append(struct stream *stream, const struct log_event *event)
{
    if (!stream->last || stream->last->used + LOG_EVENT_MAX_BYTES > STREAM_BLOCK_BYTES)
        if (!add_block(stream))
            return false;
    struct stream_block *block = stream->last;
    size_t length = log_encode(&stream->coder, event, block->bytes + block->used);
    block->used += length;
    stream->bytes += length;
    stream->events++;
    return true;
}

void stream_open(struct stream_cursor *cursor, const struct stream *stream)
{
    memset(cursor, 0, sizeof(*cursor));
    cursor->block = stream->first;
}

bool stream_next(struct stream_cursor *cursor, struct log_event *event)
{
    while (cursor->block && cursor->offset >= cursor->block->used) {
        cursor->block = cursor->block->next;
        cursor->offset = 0;
        memset(&cursor->coder, 0, sizeof(cursor->coder));
    }
    if (!cursor->block || cursor->error)
        return false;
    size_t length = log_decode(&cursor->coder, cursor->block->bytes + cursor->offset,
                               cursor->block->used - cursor->offset, event, &cursor->error);
    cursor->offset += length;
    cursor->number++;
    return length != 0;
}
