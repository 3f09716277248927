/* SPDX-License-Identifier: MIT */
/* Streams: a table in two levels that leads to one-frame blocks, in memory or in a file. */
#include "replay/stream.h"

#include "arch/x86/layout.h"
#include "kernel/string.h"
#include "mm/frames.h"

#define TABLE_REFS (LOG_PAGE_SIZE / sizeof(struct stream_ref))
#define TABLES (LOG_PAGE_SIZE / sizeof(struct stream_ref *))
#define MAX_BLOCKS (TABLES * TABLE_REFS) /* 512 MiB */

static void *new_frame(bool zero)
{
    uint64_t frame = zero ? frame_alloc_zero() : frame_alloc();
    return frame ? PHYS_TO_VIRT(frame) : NULL;
}

static void free_frame(void *memory)
{
    if (memory)
        frame_free(VIRT_TO_PHYS(memory));
}

static struct stream_ref *ref_of(const struct stream *stream, uint64_t index)
{
    return &stream->tables[index / TABLE_REFS][index % TABLE_REFS];
}

void stream_init(struct stream *stream)
{
    memset(stream, 0, sizeof(*stream));
}

void stream_free(struct stream *stream)
{
    for (uint64_t i = 0; i < stream->blocks; i++)
        free_frame(ref_of(stream, i)->block);
    for (unsigned i = 0; stream->tables && i < TABLES; i++)
        free_frame(stream->tables[i]);
    free_frame(stream->tables);
    stream_init(stream);
}

/* --- writing --- */

/* The reference of a new block at the end; NULL: no memory, or no room. */
static struct stream_ref *add_ref(struct stream *stream)
{
    uint64_t index = stream->blocks;
    if (!stream->tables)
        stream->tables = new_frame(true);
    if (!stream->tables || index == MAX_BLOCKS)
        return NULL;
    struct stream_ref **table = &stream->tables[index / TABLE_REFS];
    if (!*table)
        *table = new_frame(true);
    if (!*table)
        return NULL;
    return &(*table)[index % TABLE_REFS];
}

static uint32_t used(const struct stream_block *block)
{
    return block->chunk.length - (uint32_t)sizeof(block->head);
}

void stream_close_block(struct stream *stream)
{
    if (stream->open)
        stream->chunk_bytes +=
            LOG_CHUNK_BYTES(stream_block(stream, stream->blocks - 1)->chunk.length);
    stream->open = false;
}

static struct stream_block *add_block(struct stream *stream)
{
    struct stream_ref *ref = add_ref(stream);
    struct stream_block *block = ref ? new_frame(false) : NULL;
    if (!block)
        return NULL;
    stream_close_block(stream);
    memset(block, 0, offsetof(struct stream_block, bytes));
    block->chunk.length = sizeof(block->head);
    block->head.first_event = stream->events + 1;
    *ref = (struct stream_ref){.block = block};
    stream->blocks++;
    stream->open = true;
    memset(&stream->coder, 0, sizeof(stream->coder));
    return block;
}

bool stream_append(struct stream *stream, const struct log_event *event)
{
    struct stream_block *block = stream->open ? ref_of(stream, stream->blocks - 1)->block : NULL;
    if (!block || used(block) + LOG_EVENT_MAX_BYTES > LOG_BLOCK_BYTES)
        block = add_block(stream);
    if (!block)
        return false;
    size_t length = log_encode(&stream->coder, event, block->bytes + used(block));
    block->chunk.length += (uint32_t)length;
    block->head.events++;
    stream->bytes += length;
    stream->events++;
    return true;
}

uint64_t stream_file_bytes(const struct stream *stream)
{
    uint64_t sum = stream->chunk_bytes;
    if (stream->open)
        sum += LOG_CHUNK_BYTES(stream_block(stream, stream->blocks - 1)->chunk.length);
    return sum;
}

struct stream_block *stream_block(const struct stream *stream, uint64_t index)
{
    return ref_of(stream, index)->block;
}

void stream_stored(struct stream *stream, uint64_t index, uint64_t offset, bool drop)
{
    struct stream_ref *ref = ref_of(stream, index);
    ref->offset = offset;
    if (!drop)
        return;
    free_frame(ref->block);
    ref->block = NULL;
}

bool stream_add_stored(struct stream *stream, uint64_t offset, uint32_t events, uint32_t bytes)
{
    struct stream_ref *ref = add_ref(stream);
    if (!ref)
        return false;
    *ref = (struct stream_ref){.offset = offset};
    stream->blocks++;
    stream->events += events;
    stream->bytes += bytes;
    stream->chunk_bytes += LOG_CHUNK_BYTES(sizeof(struct log_block) + bytes);
    return true;
}

/* --- reading --- */

/* The oldest of the loaded blocks makes room. */
static void keep(struct stream *stream, uint64_t index)
{
    uint64_t old = stream->kept[stream->next_kept];
    if (old)
        stream_stored(stream, old - 1, ref_of(stream, old - 1)->offset, true);
    stream->kept[stream->next_kept] = index + 1;
    stream->next_kept = (stream->next_kept + 1) % STREAM_KEPT;
}

static const char *load(struct stream *stream, uint64_t index)
{
    struct stream_ref *ref = ref_of(stream, index);
    struct stream_block *block = new_frame(false);
    if (!block)
        return "out of memory";
    const char *error = stream->backing->load(stream->backing, ref->offset, block);
    if (error) {
        free_frame(block);
        return error;
    }
    ref->block = block;
    keep(stream, index);
    return NULL;
}

struct stream_block *stream_fetch(struct stream *stream, uint64_t index, const char **error)
{
    *error = ref_of(stream, index)->block ? NULL : load(stream, index);
    return *error ? NULL : ref_of(stream, index)->block;
}

void stream_open(struct stream_cursor *cursor, struct stream *stream)
{
    memset(cursor, 0, sizeof(*cursor));
    cursor->stream = stream;
}

/* The block that the next event is in; NULL at the end or with cursor->error. */
static struct stream_block *current_block(struct stream_cursor *cursor)
{
    if (cursor->index >= cursor->stream->blocks)
        return NULL;
    return stream_fetch(cursor->stream, cursor->index, &cursor->error);
}

bool stream_next(struct stream_cursor *cursor, struct log_event *event)
{
    struct stream_block *block = cursor->error ? NULL : current_block(cursor);
    while (block && cursor->offset >= used(block)) {
        cursor->index++;
        cursor->offset = 0;
        memset(&cursor->coder, 0, sizeof(cursor->coder));
        block = current_block(cursor);
    }
    if (!block)
        return false;
    size_t length = log_decode(&cursor->coder, block->bytes + cursor->offset,
                               used(block) - cursor->offset, event, &cursor->error);
    cursor->offset += (uint32_t)length;
    cursor->number++;
    return length != 0;
}
