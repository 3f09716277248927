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

static unsigned block_count(const struct stream *stream)
{
    unsigned count = 0;

    for (const struct stream_block *block = stream->first; block; block = block->next)
        count++;
    return count;
}

/* How many events are read as they were written, before the end or an error. */
static unsigned read_back(const struct stream *stream, struct stream_cursor *cursor)
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
    ok(block_count(&stream) > 50, "%d events take many blocks (%u)", EVENTS, block_count(&stream));
    is_u64(stream.events, EVENTS, "they are counted");
    for (const struct stream_block *block = stream.first; block; block = block->next)
        bytes += block->used;
    is_u64(stream.bytes, bytes, "so are their bytes");
    is_u64(read_back(&stream, &cursor), EVENTS, "and they are read back as they were");
    ok(!cursor.error && !stream_next(&cursor, &event) && !stream_next(&cursor, &event),
       "at the end comes nothing more, and no error");
    is_u64(host_frames, block_count(&stream), "a block is a frame");
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
    host_allowance = 3;
    for (bool room = true; room && appended < EVENTS;) {
        random_event(&seed, event_kinds[random_below(&seed, EVENT_KINDS)], &last,
                     &written[appended]);
        last = written[appended].point;
        room = stream_append(&stream, &written[appended]);
        appended += room;
    }
    host_allowance = ~0u;
    ok(appended > 0 && appended < EVENTS, "with three frames %u events fit", appended);
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
        struct stream_block *block = random_below(&seed, 2) ? stream.first : stream.last;
        uint64_t place = random_below(&seed, block->used);
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

int main(void)
{
    test_round_trip();
    test_empty();
    test_no_memory();
    test_damage();
    return done();
}
