/* SPDX-License-Identifier: MIT */
/* Opening recordings; chunks and events on demand. */
#include "tools/crewlog/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/hash.h"

static bool read_mapped(void *context, uint64_t offset, void *out, uint32_t length)
{
    const struct log *log = context;
    memcpy(out, log->bytes + offset, length);
    return true;
}

/* --- opening --- */

static void note_block(struct log *log, const struct log_item *item)
{
    struct log_index *index = &log->index[item->chunk.slot];
    struct log_block block;
    memcpy(&block, item->payload, sizeof(block));
    index->blocks++;
    index->bytes += item->chunk.length - sizeof(block);
    if (index->count && item->offset - index->entries[index->count - 1].offset < LOG_INDEX_STEP)
        return;
    if (index->count == index->room) {
        index->room = index->room ? 2 * index->room : 16;
        index->entries = grow(index->entries, index->room, sizeof(index->entries[0]));
    }
    index->entries[index->count++] =
        (struct log_index_entry){.offset = item->offset, .first_event = block.first_event};
}

void log_open_part(struct log *log, const char *name, const uint8_t *bytes, uint64_t size)
{
    _Alignas(8) uint8_t buffer[LOG_CHUNK_MAX];
    struct log_item item;
    memset(log, 0, sizeof(*log));
    log->name = name;
    log->bytes = bytes;
    log->size = size;
    log->source = (struct log_source){.read = read_mapped, .context = log, .size = size};
    log_reader_open(&log->reader, &log->source);
    while (log_reader_next(&log->reader, buffer, &item))
        if (item.chunk.kind == LOG_CHUNK_STREAM)
            note_block(log, &item);
    if (log->reader.sequence)
        return;
    const char *kind = file_kind(bytes, size);
    if (*kind)
        die("%s: not a recording; it is %s", name, kind);
    die("%s: offset 0: %s", name,
        log->reader.verdict == LOG_VERDICT_BAD ? log->reader.reason : "not a whole header");
}

void log_close(struct log *log)
{
    for (unsigned slot = 0; slot < LOG_MAX_SLOTS; slot++)
        free(log->index[slot].entries);
    memset(log, 0, sizeof(*log));
}

/* --- how it ended --- */

bool log_complete(const struct log *log)
{
    return log->reader.verdict == LOG_VERDICT_COMPLETE && !log->damage.reason;
}

enum log_verdict log_verdict(const struct log *log, uint64_t *good)
{
    *good = log->damage.reason ? log->damage.offset : log->reader.offset;
    return log->damage.reason ? LOG_VERDICT_BAD : log->reader.verdict;
}

const char *log_verdict_text(const struct log *log, char *out, unsigned size)
{
    const struct log_damage *damage = &log->damage;
    const struct log_reader *reader = &log->reader;
    if (damage->reason)
        snprintf(out, size, "damaged at offset %" PRIu64 ": event %" PRIu64 " of thread %u: %s",
                 damage->offset, damage->event, damage->slot, damage->reason);
    else if (reader->verdict == LOG_VERDICT_COMPLETE)
        snprintf(out, size, "complete");
    else if (reader->verdict == LOG_VERDICT_STOPPED)
        snprintf(out, size, "stopped: %s", reader->reason);
    else
        snprintf(out, size, "%s at offset %" PRIu64 ": %s",
                 reader->verdict == LOG_VERDICT_CUT ? "cut" : "damaged", reader->offset,
                 reader->reason);
    return out;
}

enum status log_status(const struct log *log)
{
    char text[256];
    if (log_complete(log))
        return STATUS_FINE;
    warn("%s: %s", log->name, log_verdict_text(log, text, sizeof(text)));
    return STATUS_INCOMPLETE;
}

uint64_t log_events(const struct log *log)
{
    uint64_t events = 0;
    for (unsigned slot = 0; slot < LOG_MAX_SLOTS; slot++)
        events += log->reader.events[slot];
    return events;
}

/* --- chunks --- */

/* The chunk at the offset; it was checked when the file was opened. */
static void item_at(const struct log *log, uint64_t offset, struct log_item *item)
{
    memcpy(&item->chunk, log->bytes + offset, sizeof(item->chunk));
    item->offset = offset;
    item->payload = log->bytes + offset + sizeof(item->chunk);
}

void log_walk_open(struct log_walk *walk, const struct log *log)
{
    *walk = (struct log_walk){.log = log};
}

/* The mapping shows what others do to the file meanwhile: so lengths are looked at again. */
static bool still_there(const struct log *log, uint64_t offset)
{
    struct log_chunk chunk;
    uint64_t left = log->reader.offset - offset;
    if (left < sizeof(chunk))
        return false;
    memcpy(&chunk, log->bytes + offset, sizeof(chunk));
    return chunk.length <= LOG_CHUNK_MAX && LOG_CHUNK_BYTES(chunk.length) <= left;
}

bool log_walk_next(struct log_walk *walk, struct log_item *item)
{
    if (!still_there(walk->log, walk->offset))
        return false;
    item_at(walk->log, walk->offset, item);
    walk->offset += LOG_CHUNK_BYTES(item->chunk.length);
    return true;
}

/* --- cursors --- */

static const struct log_index_entry *find_entry(const struct log_index *index, uint64_t number)
{
    uint64_t low = 0, high = index->count;
    while (high - low > 1) {
        uint64_t middle = (low + high) / 2;
        if (index->entries[middle].first_event <= number)
            low = middle;
        else
            high = middle;
    }
    return index->count ? &index->entries[low] : NULL;
}

static void enter_block(struct log_cursor *cursor, const struct log_item *item)
{
    struct log_block block;
    memcpy(&block, item->payload, sizeof(block));
    cursor->block = item->offset;
    cursor->at = item->payload + sizeof(block);
    cursor->end = item->payload + item->chunk.length;
    cursor->left = block.events;
    cursor->number = block.first_event - 1;
    cursor->coder = (struct log_coder){0};
}

/* Goes to the slot's next block, if there is one. */
static bool next_block(struct log_cursor *cursor)
{
    struct log_walk walk = {.log = cursor->log, .offset = cursor->chunk};
    struct log_item item;
    while (log_walk_next(&walk, &item)) {
        if (item.chunk.kind != LOG_CHUNK_STREAM || item.chunk.slot != cursor->slot ||
            item.chunk.length < sizeof(struct log_block))
            continue;
        cursor->chunk = walk.offset;
        enter_block(cursor, &item);
        return true;
    }
    return false;
}

void log_cursor_open_block(struct log_cursor *cursor, struct log *log, const struct log_item *item)
{
    memset(cursor, 0, sizeof(*cursor));
    cursor->log = log;
    cursor->slot = item->chunk.slot;
    cursor->chunk = log->reader.offset;
    enter_block(cursor, item);
}

void log_cursor_open(struct log_cursor *cursor, struct log *log, uint32_t slot, uint64_t number)
{
    const struct log_index_entry *entry = find_entry(&log->index[slot], number);
    memset(cursor, 0, sizeof(*cursor));
    cursor->log = log;
    cursor->slot = slot;
    cursor->chunk = entry ? entry->offset : log->reader.offset;
    while (cursor->number + 1 < number && log_cursor_next(cursor))
        ;
}

static bool damaged(struct log_cursor *cursor, const char *reason)
{
    struct log_damage *damage = &cursor->log->damage;
    uint64_t offset = (uint64_t)(cursor->at - cursor->log->bytes);
    if (!damage->reason || offset < damage->offset)
        *damage = (struct log_damage){
            .reason = reason,
            .offset = offset,
            .slot = cursor->slot,
            .event = cursor->number + 1,
        };
    cursor->left = 0;
    cursor->chunk = cursor->log->reader.offset;
    cursor->at = cursor->end;
    return false;
}

bool log_cursor_next(struct log_cursor *cursor)
{
    const char *reason;
    if (cursor->left == 0) {
        if (cursor->at != cursor->end)
            return damaged(cursor, "bytes behind the last event of a block");
        if (!next_block(cursor))
            return false;
    }
    size_t length = log_decode(&cursor->coder, cursor->at, (size_t)(cursor->end - cursor->at),
                               &cursor->event, &reason);
    if (length == 0)
        return damaged(cursor, reason);
    cursor->offset = (uint64_t)(cursor->at - cursor->log->bytes);
    cursor->bytes = (uint32_t)length;
    cursor->at += length;
    cursor->left--;
    cursor->number++;
    return true;
}

/* --- all threads --- */

void log_merge_open(struct log_merge *merge, struct log *log)
{
    memset(merge, 0, sizeof(*merge));
    merge->log = log;
    for (uint32_t slot = 0; slot < LOG_MAX_SLOTS; slot++) {
        log_cursor_open(&merge->cursors[slot], log, slot, 1);
        merge->ready[slot] = log_cursor_next(&merge->cursors[slot]);
    }
    merge->turn = LOG_MAX_SLOTS;
}

bool log_merge_enabled(const struct log_merge *merge, const struct log_event *event)
{
    for (unsigned i = 0; i < event->dep_count; i++)
        if (merge->done[event->deps[i].slot] < event->deps[i].event)
            return false;
    return true;
}

/* A thread goes on for as long as it can: so an event that nothing orders comes early. */
const struct log_cursor *log_merge_next(struct log_merge *merge)
{
    if (merge->turn < LOG_MAX_SLOTS)
        merge->ready[merge->turn] = log_cursor_next(&merge->cursors[merge->turn]);
    else
        merge->turn = 0;
    for (uint32_t tries = 0; tries < LOG_MAX_SLOTS; tries++) {
        const struct log_cursor *cursor = &merge->cursors[merge->turn];
        if (merge->ready[merge->turn] && log_merge_enabled(merge, &cursor->event)) {
            merge->done[merge->turn]++;
            return cursor;
        }
        merge->turn = (merge->turn + 1) % LOG_MAX_SLOTS;
    }
    merge->turn = LOG_MAX_SLOTS;
    return NULL;
}

uint64_t log_merge_left(const struct log_merge *merge, const struct log_cursor **blocked)
{
    uint64_t left = 0;
    if (blocked)
        *blocked = NULL;
    for (uint32_t slot = 0; slot < LOG_MAX_SLOTS; slot++) {
        left += merge->log->reader.events[slot] - merge->done[slot];
        if (blocked && merge->ready[slot] &&
            (!*blocked || merge->cursors[slot].offset < (*blocked)->offset))
            *blocked = &merge->cursors[slot];
    }
    return left;
}
