/* SPDX-License-Identifier: MIT */
/* Streams: what was appended is read back in order over many blocks; memory that runs out, and
 * blocks that were damaged.
 */
#include "replay/stream.h"
#include "tests/host/host_memory.h"
#include "tests/host/random_event.h"
#include "tests/host/tap.h"

#define EVENTS 20000

static struct log_event written[EVENTS];

static void fill(struct stream *stream, unsigned count, uint64_t seed)
{
    struct log_point last = {0};

    stream_init(stream);
    for (unsigned i = 0; i < count; i++) {
        random_event(&seed, event_kinds[random_below(&seed, EVENT_KINDS)], &last, &written[i]);
        last = written[i].point;
        if (!stream_append(stream, &written[i]))
            ok(false, "event %u is appended", i + 1);
    }
}

/* Frames of the table in two levels: one, and one for each 256 blocks. */
static unsigned table_frames(const struct stream *stream)
{
    return 1 + (unsigned)((stream->blocks + 255) / 256);
}

static uint64_t coded_bytes(const struct stream_block *block)
{
    return block->chunk.length - sizeof(block->head);
}

/* How many events are read as they were written, before the end or an error. */
static unsigned read_back(struct stream *stream, struct stream_cursor *cursor)
{
    struct log_event event;
    unsigned good = 0;

    stream_open(cursor, stream);
    while (stream_next(cursor, &event) && cursor->number == good + 1 &&
           events_equal(&event, &written[good]))
        good++;
    return good;
}

static void test_round_trip(void)
{
    struct stream stream;
    struct stream_cursor cursor;
    struct log_event event;
    uint64_t bytes = 0;

    fill(&stream, EVENTS, 1);
    ok(stream.blocks > 50, "%d events take many blocks (%llu)", EVENTS,
       (unsigned long long)stream.blocks);
    is_u64(stream.events, EVENTS, "they are counted");
    for (uint64_t i = 0; i < stream.blocks; i++)
        bytes += coded_bytes(stream_block(&stream, i));
    is_u64(stream.bytes, bytes, "so are their bytes");
    is_u64(read_back(&stream, &cursor), EVENTS, "and they are read back as they were");
    ok(!cursor.error && !stream_next(&cursor, &event) && !stream_next(&cursor, &event),
       "at the end comes nothing more, and no error");
    is_u64(host_frames, stream.blocks + table_frames(&stream), "a block is a frame");
    stream_free(&stream);
    is_u64(host_frames, 0, "all frames are given back");
}

static void test_empty(void)
{
    struct stream stream;
    struct stream_cursor cursor;
    struct log_event event;

    stream_init(&stream);
    stream_open(&cursor, &stream);
    ok(!stream_next(&cursor, &event) && !cursor.error && cursor.number == 0,
       "an empty stream has no event, and that is no error");
    stream_free(&stream);
}

static void test_no_memory(void)
{
    struct stream stream;
    struct stream_cursor cursor;
    unsigned appended = 0;
    uint64_t seed = 1;
    struct log_point last = {0};

    stream_init(&stream);
    host_allowance = 3 + 2;
    for (bool room = true; room && appended < EVENTS;) {
        random_event(&seed, event_kinds[random_below(&seed, EVENT_KINDS)], &last,
                     &written[appended]);
        last = written[appended].point;
        room = stream_append(&stream, &written[appended]);
        appended += room;
    }
    host_allowance = ~0u;
    ok(appended > 0 && appended < EVENTS, "with three blocks %u events fit", appended);
    is_u64(stream.events, appended, "the one that did not is not counted");
    is_u64(read_back(&stream, &cursor), appended, "those before it can still be read");
    stream_free(&stream);
}

/* Any byte of any block changed: the reader ends, without an event that is out of range. */
static void test_damage(void)
{
    struct stream stream;
    uint64_t seed = 8;
    unsigned errors = 0, endless = 0;

    fill(&stream, 400, 2);
    for (unsigned round = 0; round < 2000; round++) {
        struct stream_block *block =
            stream_block(&stream, random_below(&seed, 2) ? 0 : stream.blocks - 1);
        uint64_t place = random_below(&seed, coded_bytes(block));
        uint8_t old = block->bytes[place];
        struct stream_cursor cursor;
        struct log_event event;
        unsigned events = 0;

        block->bytes[place] = (uint8_t)random_u64(&seed);
        stream_open(&cursor, &stream);
        while (stream_next(&cursor, &event) && events <= stream.bytes)
            events++;
        errors += cursor.error != NULL;
        endless += events > stream.bytes;
        if (cursor.error && stream_next(&cursor, &event))
            ok(false, "nothing follows an error");
        block->bytes[place] = old;
    }
    ok(errors > 0, "a changed byte can make a stream unreadable (%u of 2000)", errors);
    is_u64(endless, 0, "and always lets it end");
    stream_free(&stream);
}

/* --- blocks in a file --- */

static struct stream_block file[200];
static unsigned loads;
static uint64_t broken_load = UINT64_MAX;

static const char *load_block(const struct stream_backing *backing, uint64_t offset,
                              struct stream_block *block)
{
    (void)backing;
    loads++;
    if (offset == broken_load)
        return "a broken disk";
    *block = file[offset];
    return NULL;
}

static const struct stream_backing backing = {.load = load_block};

/* Writes all closed blocks to the file, and drops them from memory if told so. */
static void store(struct stream *stream, bool drop)
{
    for (uint64_t i = 0; i < stream_closed(stream); i++) {
        file[i + 1] = *stream_block(stream, i);
        stream_stored(stream, i, i + 1, drop);
    }
    stream->backing = &backing;
}

static void test_stored(void)
{
    struct stream stream;
    struct stream_cursor cursor, ahead;
    struct log_event event;

    fill(&stream, EVENTS, 3);
    uint64_t before = stream_file_bytes(&stream);
    stream_close_block(&stream);
    is_u64(stream_file_bytes(&stream), before, "closing the last block adds nothing to a file");
    is_u64(stream_closed(&stream), stream.blocks, "then all blocks are closed");
    ok(stream.blocks < sizeof(file) / sizeof(file[0]), "they fit this test's file");
    store(&stream, true);
    is_u64(host_frames, table_frames(&stream), "blocks that are in a file leave memory");
    is_u64(read_back(&stream, &cursor), EVENTS, "a cursor brings them back");
    is_u64(loads, stream.blocks, "each once");
    is_u64(host_frames, table_frames(&stream) + STREAM_KEPT, "and few are kept");
    stream_open(&cursor, &stream);
    unsigned wrong = 0;
    for (unsigned i = 0; i < EVENTS; i++) {
        wrong += !stream_next(&cursor, &event) || !events_equal(&event, &written[i]);
        ahead = cursor;
        for (unsigned j = 1; j < 400 && i % 97 == 0 && i + j < EVENTS; j++)
            wrong += !stream_next(&ahead, &event) || !events_equal(&event, &written[i + j]);
    }
    is_u64(wrong, 0, "a copy of a cursor may look ahead over several blocks");
    broken_load = 5;
    stream_open(&cursor, &stream);
    while (stream_next(&cursor, &event))
        continue;
    ok(cursor.error && strcmp(cursor.error, "a broken disk") == 0,
       "a failed load ends it, by name");
    broken_load = UINT64_MAX;
    stream_free(&stream);
    is_u64(host_frames, 0, "all frames are given back");
}

/* As a file is read: references only. Appending goes on behind what was stored. */
static void test_added(void)
{
    struct stream stream, other;
    struct stream_cursor cursor;

    fill(&stream, EVENTS, 4);
    stream_close_block(&stream);
    store(&stream, false);
    stream_init(&other);
    for (uint64_t i = 0; i < stream.blocks; i++)
        stream_add_stored(&other, i + 1, file[i + 1].head.events,
                          (uint32_t)coded_bytes(&file[i + 1]));
    other.backing = &backing;
    ok(other.events == stream.events && other.bytes == stream.bytes &&
           stream_file_bytes(&other) == stream_file_bytes(&stream),
       "a stream of references counts the same");
    is_u64(read_back(&other, &cursor), EVENTS, "and reads the same");
    stream_free(&other);
    stream_free(&stream);
    is_u64(host_frames, 0, "all frames are given back");
}

int main(void)
{
    test_stored();
    test_added();
    test_round_trip();
    test_empty();
    test_no_memory();
    test_damage();
    return done();
}
