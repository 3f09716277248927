/* SPDX-License-Identifier: MIT */
/* Fuzzing of what reads recordings' files: libFuzzer's entry points (tests/fuzz.sh), which
 * tests/host/test_fuzz_corpus.c calls as well.
 *
 * Each input is read twice: as it is, and with all chunks' numbers and checksums made right, since
 * otherwise nothing but checksums would be tested. The mutator knows chunks, for the same reason.
 * abort() says that the reader has broken a promise; everything else is the sanitizers' to find.
 */
#include "tests/fuzz/fuzz_log.h"

#include <stdlib.h>
#include <string.h>

#include "replay/event_text.h"
#include "replay/log_check.h"
#include "tests/host/log_maker.h"
#include "tests/host/random.h"
#include "tools/crewlog/log.h"

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition))                                                                          \
            abort();                                                                               \
    } while (0)

/* --- reading --- */

/* What is decoded is in range, and is decoded to the same again when it is coded anew. */
static void check_event(const struct log_coder *before, const struct log_event *event,
                        uint64_t number)
{
    struct log_coder coder = *before, again = *before;
    uint8_t coded[LOG_EVENT_MAX_BYTES];
    struct log_event decoded;
    const char *reason;
    char text[256];

    size_t length = log_encode(&coder, event, coded);
    REQUIRE(length <= sizeof coded);
    REQUIRE(log_decode(&again, coded, length, &decoded, &reason) == length);
    REQUIRE(log_point_equal(&decoded.point, &event->point) && decoded.page == event->page &&
            decoded.a == event->a && decoded.b == event->b && decoded.rights == event->rights &&
            decoded.dep_count == event->dep_count);
    REQUIRE(event_format(text, sizeof text, number, event) < (int)sizeof text);
}

static void read_block(const struct log_item *item)
{
    struct log_block block;
    struct log_coder coder = {0};
    struct log_event event;
    const char *reason = NULL;
    uint32_t at = sizeof block;

    memcpy(&block, item->payload, sizeof block);
    REQUIRE(block.events && block.events <= LOG_BLOCK_BYTES);
    for (uint32_t i = 0; i < block.events; i++) {
        struct log_coder before = coder;
        size_t left = item->chunk.length - at;
        size_t length = log_decode(&coder, item->payload + at, left, &event, &reason);
        REQUIRE(length <= left && (length == 0) == (reason != NULL));
        if (!length)
            return;
        check_event(&before, &event, block.first_event + i);
        at += (uint32_t)length;
    }
}

static void check_end(const struct log_reader *reader, size_t size, uint64_t chunks)
{
    REQUIRE(reader->verdict > LOG_VERDICT_NONE && reader->verdict <= LOG_VERDICT_BAD);
    REQUIRE((reader->verdict == LOG_VERDICT_COMPLETE) == (reader->reason == NULL));
    REQUIRE(reader->offset <= size && reader->sequence == chunks);
    REQUIRE(reader->slots <= LOG_MAX_SLOTS && reader->found.threads <= LOG_MAX_SLOTS);
    REQUIRE(!reader->ended || (reader->begun && reader->end.slots == reader->slots));
    if (reader->verdict == LOG_VERDICT_COMPLETE || reader->verdict == LOG_VERDICT_STOPPED)
        REQUIRE(reader->ended && reader->offset == size);
    if (reader->ended)
        for (uint32_t slot = 0; slot < LOG_MAX_SLOTS; slot++)
            REQUIRE(reader->events[slot] == (slot < reader->slots ? reader->ends[slot].events : 0));
}

/* The same by crewlog's layer, which finds events by an index, and all threads' in their order. */
static void read_by_crewlog(const uint8_t *data, size_t size)
{
    static struct log log;
    static struct log_merge merge;
    const struct log_cursor *cursor;
    uint64_t count = 0;
    char text[256];

    log_open_part(&log, "fuzzed", data, size);
    log_merge_open(&merge, &log);
    while ((cursor = log_merge_next(&merge)) != NULL) {
        REQUIRE(cursor->number == merge.done[cursor->slot] && cursor->slot < LOG_MAX_SLOTS);
        count++;
    }
    REQUIRE(log.damage.reason || count + log_merge_left(&merge, NULL) == log_events(&log));
    log_verdict_text(&log, text, sizeof text);
    log.bytes = NULL; /* not mapped: not to be unmapped */
    log_close(&log);
}

static void check_rules(const struct log_source *source, const struct log_reader *reader)
{
    static struct log_check check;

    bool kept = log_check(&check, source);
    REQUIRE(kept == (check.reason == NULL));
    REQUIRE(check.offset <= source->size && check.slot < LOG_MAX_SLOTS);
    REQUIRE(check.whole.verdict == reader->verdict);
    REQUIRE(!kept || reader->verdict != LOG_VERDICT_BAD);
}

enum log_verdict fuzz_read(const uint8_t *data, size_t size)
{
    static _Alignas(8) uint8_t buffer[LOG_CHUNK_MAX];
    struct log_memory memory = {data, size, 0};
    struct log_source source = log_memory_source(&memory);
    struct log_reader reader;
    struct log_item item;
    uint64_t chunks = 0;

    log_reader_open(&reader, &source);
    while (log_reader_next(&reader, buffer, &item)) {
        chunks++;
        REQUIRE(item.payload >= buffer &&
                item.payload + item.chunk.length <= buffer + sizeof buffer);
        if (item.chunk.kind == LOG_CHUNK_STREAM)
            read_block(&item);
    }
    check_end(&reader, size, chunks);
    REQUIRE(!log_reader_next(&reader, buffer, &item));
    check_rules(&source, &reader);
    if (chunks)
        read_by_crewlog(data, size);
    return reader.verdict;
}

/* --- chunks in bytes of any kind --- */

/* The bytes of the chunk at `at` when all of it is there, else 0. */
static size_t chunk_at(const uint8_t *data, size_t size, size_t at)
{
    struct log_chunk chunk;

    if (size - at < sizeof chunk)
        return 0;
    memcpy(&chunk, data + at, sizeof chunk);
    if (chunk.length > LOG_CHUNK_MAX - sizeof chunk || LOG_CHUNK_BYTES(chunk.length) > size - at)
        return 0;
    return LOG_CHUNK_BYTES(chunk.length);
}

void fuzz_make_right(uint8_t *data, size_t size)
{
    uint64_t sequence = 0, file_id = 0;
    size_t length;

    for (size_t at = 0; (length = chunk_at(data, size, at)) != 0; at += length) {
        struct log_chunk chunk;
        memcpy(&chunk, data + at, sizeof chunk);
        if (sequence == 0)
            file_id = chunk.file_id;
        chunk.magic = LOG_CHUNK_MAGIC;
        chunk.sequence = sequence++;
        chunk.file_id = file_id;
        memcpy(data + at, &chunk, sizeof chunk);
        memset(data + at + sizeof chunk + chunk.length, 0, length - sizeof chunk - chunk.length);
        log_chunk_reseal(data + at, length);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);

    memcpy(copy, data, size);
    fuzz_read(copy, size);
    fuzz_make_right(copy, size);
    fuzz_read(copy, size);
    free(copy);
    return 0;
}

/* --- mutation --- */

/* The offset of one of the chunks, its bytes in *length; 0 bytes: there is none. */
static size_t choose(const uint8_t *data, size_t size, uint64_t *seed, size_t *length)
{
    size_t chosen = 0, next;
    unsigned count = 0;

    *length = 0;
    for (size_t at = 0; (next = chunk_at(data, size, at)) != 0; at += next) {
        if (random_below(seed, ++count))
            continue;
        chosen = at;
        *length = next;
    }
    return chosen;
}

/* Another payload, perhaps of another length, for one chunk. */
static size_t mutate_payload(uint8_t *data, size_t size, size_t most, uint64_t *seed)
{
    static uint8_t payload[LOG_CHUNK_MAX];
    struct log_chunk chunk;
    size_t old, at = choose(data, size, seed, &old);

    if (!old)
        return size;
    memcpy(&chunk, data + at, sizeof chunk);
    memcpy(payload, data + at + sizeof chunk, chunk.length);
    size_t room = random_below(seed, 2) ? chunk.length : LOG_CHUNK_MAX - sizeof chunk;
    size_t length = room ? LLVMFuzzerMutate(payload, chunk.length, room) : 0;
    size_t total = LOG_CHUNK_BYTES(length);
    if (size - old + total > most)
        return size;
    memmove(data + at + total, data + at + old, size - at - old);
    chunk.length = (uint32_t)length;
    memcpy(data + at, &chunk, sizeof chunk);
    memcpy(data + at + sizeof chunk, payload, length);
    return size - old + total;
}

static size_t erase_chunk(uint8_t *data, size_t size, uint64_t *seed)
{
    size_t length, at = choose(data, size, seed, &length);

    memmove(data + at, data + at + length, size - at - length);
    return size - length;
}

/* A copy of one chunk in front of another. */
static size_t copy_chunk(uint8_t *data, size_t size, size_t most, uint64_t *seed)
{
    static uint8_t kept[LOG_CHUNK_MAX];
    size_t length, other, at = choose(data, size, seed, &length);
    size_t before = choose(data, size, seed, &other);

    if (size + length > most)
        return size;
    memcpy(kept, data + at, length);
    memmove(data + before + length, data + before, size - before);
    memcpy(data + before, kept, length);
    return size + length;
}

static void mutate_head(uint8_t *data, size_t size, uint64_t *seed)
{
    size_t length, at = choose(data, size, seed, &length);

    if (length)
        LLVMFuzzerMutate(data + at + offsetof(struct log_chunk, kind), 4, 4);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed_word)
{
    uint64_t seed = seed_word | 1ull << 32;

    switch (random_below(&seed, 12)) {
    case 0:
        return LLVMFuzzerMutate(data, size, most);
    case 1:
        size = erase_chunk(data, size, &seed);
        break;
    case 2:
        size = copy_chunk(data, size, most, &seed);
        break;
    case 3:
        mutate_head(data, size, &seed);
        break;
    default:
        size = mutate_payload(data, size, most, &seed);
    }
    if (random_below(&seed, 8))
        fuzz_make_right(data, size);
    return size ? size : 1;
}
