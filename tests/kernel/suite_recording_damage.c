/* SPDX-License-Identifier: MIT */
/* Recordings of somebody who means harm: files whose checksums are right and whose contents are
 * not. Each is refused by name, or its replay comes to an end; the kernel stands in any case.
 *
 * The code of the program stays as it is, and so does the time of events: a program that runs on
 * for ever, as its log says, is no damage.
 */
#include "arch/x86/layout.h"
#include "kernel/err.h"
#include "kernel/printf.h"
#include "kernel/string.h"
#include "mm/heap.h"
#include "replay/log_codec.h"
#include "replay/replay_commands.h"
#include "replay/replay_session.h"
#include "tests/kernel/memory_file.h"
#include "tests/kernel/suite.h"

#define ROUNDS 100
#define CUTS 20
#define CHUNKS_MAX 512

static uint8_t *file, *copy; /* MEMORY_FILE_MAX bytes each */
static uint64_t file_size;
static uint64_t chunks[CHUNKS_MAX]; /* their offsets */
static unsigned chunk_count;

static bool make_file(void)
{
    char *words[] = {"mapper", "2", "3"};
    file = kmalloc(MEMORY_FILE_MAX);
    copy = kmalloc(MEMORY_FILE_MAX);
    return file && copy && memory_file_record(3, words, file, &file_size);
}

static void find_chunks(void)
{
    struct log_chunk chunk;
    for (uint64_t offset = 0; offset < file_size && chunk_count < CHUNKS_MAX;
         offset += LOG_CHUNK_BYTES(chunk.length)) {
        memcpy(&chunk, file + offset, sizeof(chunk));
        chunks[chunk_count++] = offset;
    }
}

/* --- damage --- */

static uint64_t strange_number(uint64_t *seed)
{
    static const uint64_t numbers[] = {
        0,           1,
        63,          64,
        USER_MIN,    USER_END - PAGE_SIZE,
        USER_END,    1ull << 47,
        KERNEL_BASE, DIRECT_MAP_BASE,
        UINT32_MAX,  UINT64_MAX,
        1ull << 63,  UINT64_MAX - PAGE_SIZE + 1,
        1ull << 32,  PAGE_SIZE,
    };
    uint64_t choice = suite_random(seed) % (2 * sizeof(numbers) / sizeof(numbers[0]));
    return choice < sizeof(numbers) / sizeof(numbers[0]) ? numbers[choice] : suite_random(seed);
}

static void seal(uint64_t offset, struct log_chunk chunk)
{
    log_chunk_seal(copy + offset, chunk.kind, chunk.slot, chunk.length, chunk.file_id,
                   chunk.sequence);
}

/* A number of the structure at the begin of the payload, or what follows it but a page. */
static void damage_structure(uint64_t offset, struct log_chunk chunk, uint64_t *seed)
{
    uint32_t limit = chunk.kind == LOG_CHUNK_PAGE ? sizeof(struct log_page) : chunk.length;
    uint32_t size = 1u << suite_random(seed) % 4;
    uint64_t value = strange_number(seed);
    uint32_t place = (uint32_t)(suite_random(seed) % (limit / size)) * size;
    memcpy(copy + offset + sizeof(chunk) + place, &value, size);
    if (suite_random(seed) % 8 == 0)
        chunk.slot = (uint16_t)(suite_random(seed) % (LOG_MAX_SLOTS + 1));
    seal(offset, chunk);
}

static void damage_event(struct log_event *event, uint64_t *seed)
{
    switch (suite_random(seed) % 8) {
    case 0:
        event->kind = (uint8_t)(1 + suite_random(seed) % LOG_REVOKE);
        break;
    case 1:
    case 2:
        event->page = strange_number(seed) & PAGE_MASK;
        break;
    case 3:
        event->rights = (uint8_t)(suite_random(seed) % 8);
        break;
    case 4:
        event->a = strange_number(seed);
        break;
    case 5:
        event->b = strange_number(seed);
        break;
    case 6:
        event->point.rip = strange_number(seed);
        break;
    case 7:
        event->dep_count = (uint8_t)(suite_random(seed) % 3);
        for (unsigned i = 0; i < event->dep_count; i++)
            event->deps[i] = (struct log_dep){.slot = (uint32_t)suite_random(seed) % LOG_MAX_SLOTS,
                                              .event = 1 + suite_random(seed) % 300};
        break;
    }
}

/* One of its events, or all dependencies. */
static void damage_events(uint64_t offset, struct log_chunk chunk, uint64_t *seed)
{
    static struct stream_block block;
    struct log_coder reader = {0}, writer = {0};
    struct log_event event;
    const char *reason;
    memcpy(&block, copy + offset, sizeof(chunk) + chunk.length);
    uint64_t victim = suite_random(seed) % block.head.events;
    bool all = suite_random(seed) % 8 == 0;
    uint32_t size = chunk.length - (uint32_t)sizeof(block.head), in = 0, out = 0;
    uint8_t *bytes = copy + offset + sizeof(chunk) + sizeof(block.head);
    for (uint64_t i = 0; i < block.head.events; i++) {
        in += (uint32_t)log_decode(&reader, block.bytes + in, size - in, &event, &reason);
        if (all)
            event.dep_count = 0;
        else if (i == victim)
            damage_event(&event, seed);
        uint8_t coded[LOG_EVENT_MAX_BYTES];
        uint32_t length = (uint32_t)log_encode(&writer, &event, coded);
        if (out + length > size)
            break; /* it has no room: the block ends here, and says that it holds more */
        memcpy(bytes + out, coded, length);
        out += length;
    }
    memset(bytes + out, 0, size - out);
    seal(offset, chunk);
}

/* Of each kind as often, of events as often as of all others; the last of a kind often: what
 * ascends can be large there. */
static uint64_t choose_chunk(uint64_t *seed)
{
    bool events = suite_random(seed) % 2, last = suite_random(seed) % 2;
    unsigned kind = events ? LOG_CHUNK_STREAM : 1 + suite_random(seed) % LOG_CHUNK_END;
    uint64_t found = chunks[0], skip = last ? UINT64_MAX : suite_random(seed) % 16;
    for (unsigned i = 0; i < chunk_count && skip > 0; i++) {
        struct log_chunk chunk;
        memcpy(&chunk, copy + chunks[i], sizeof(chunk));
        if (chunk.kind != kind)
            continue;
        found = chunks[i];
        skip--;
    }
    return found;
}

static void damage(uint64_t *seed)
{
    struct log_chunk chunk;
    uint64_t offset = choose_chunk(seed);
    memcpy(&chunk, copy + offset, sizeof(chunk));
    if (chunk.kind == LOG_CHUNK_STREAM)
        damage_events(offset, chunk, seed);
    else
        damage_structure(offset, chunk, seed);
}

/* --- cut, each thread at another event --- */

/* The first `limit` events of a block, as a chunk at copy + to. Returns where it ends. */
static uint64_t copy_events(uint64_t to, const struct log_chunk *chunk, const uint8_t *payload,
                            uint64_t limit, uint64_t sequence)
{
    struct log_coder coder = {0};
    struct log_block head;
    struct log_event event;
    const char *reason;
    memcpy(&head, payload, sizeof(head));
    uint32_t used = 0, size = chunk->length - (uint32_t)sizeof(head);
    if (head.events > limit)
        head.events = (uint32_t)limit;
    for (uint32_t i = 0; i < head.events; i++)
        used += (uint32_t)log_decode(&coder, payload + sizeof(head) + used, size - used, &event,
                                     &reason);
    memcpy(copy + to + sizeof(*chunk), &head, sizeof(head));
    memcpy(copy + to + sizeof(*chunk) + sizeof(head), payload + sizeof(head), used);
    return to + log_chunk_seal(copy + to, LOG_CHUNK_STREAM, chunk->slot,
                               (uint32_t)sizeof(head) + used, chunk->file_id, sequence);
}

/* Everything up to BEGIN, and of each thread as many events as chance wants. */
static uint64_t copy_cut(uint64_t *seed)
{
    uint64_t end = 0, sequence = 0, left[LOG_MAX_SLOTS];
    for (unsigned i = 0; i < LOG_MAX_SLOTS; i++)
        left[i] = suite_random(seed) % 300;
    for (unsigned i = 0; i < chunk_count; i++) {
        struct log_chunk chunk;
        struct log_block head;
        const uint8_t *payload = file + chunks[i] + sizeof(chunk);
        memcpy(&chunk, file + chunks[i], sizeof(chunk));
        if (chunk.kind <= LOG_CHUNK_BEGIN) {
            memcpy(copy + end, file + chunks[i], LOG_CHUNK_BYTES(chunk.length));
            end += LOG_CHUNK_BYTES(chunk.length);
            sequence++;
        } else if (chunk.kind == LOG_CHUNK_STREAM && left[chunk.slot]) {
            memcpy(&head, payload, sizeof(head));
            end = copy_events(end, &chunk, payload, left[chunk.slot], sequence++);
            left[chunk.slot] -= left[chunk.slot] < head.events ? left[chunk.slot] : head.events;
        }
    }
    return end;
}

/* tests/kernel/selftest.sh compares the ends of both replays. */
static void test_cuts(void)
{
    unsigned wrong = 0;
    for (uint64_t i = 1; i <= CUTS; i++) {
        struct recording *recording;
        char reason[RECORDING_REASON_MAX];
        uint64_t seed = i * 991;
        printk("# cut %llu\n", (unsigned long long)i);
        if (memory_file_read(copy, copy_cut(&seed), &recording, reason) != 0) {
            wrong++;
            continue;
        }
        recording_publish(recording);
        wrong += recording_complete(recording) || replay_run(recording, 1) != 0 ||
                 replay_run(recording, 2) != 0;
        recording_delete(recording->number);
    }
    is_equal(wrong, 0, "cut at any events, %u recordings are replayed as far as they go", CUTS);
}

/* --- what comes of it --- */

struct results {
    unsigned refused, unnamed, matching, diverged, failed;
};

static void try_file(struct results *results)
{
    struct recording *recording;
    char reason[RECORDING_REASON_MAX] = "";
    if (memory_file_read(copy, file_size, &recording, reason) != 0) {
        results->refused++;
        results->unnamed += !reason[0];
        return;
    }
    recording_publish(recording);
    int error = replay_run(recording, 1);
    results->matching += error == 0;
    results->diverged += error == ERR_DIVERGED;
    results->failed += error && error != ERR_DIVERGED;
    recording_delete(recording->number);
}

static void run(void)
{
    struct results results = {0};
    if (!ok(make_file(), "a small program is recorded"))
        return;
    find_chunks();
    test_cuts();
    uint64_t heap = heap_bytes_in_use();
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        uint64_t seed = i * 77;
        printk("# damage %llu\n", (unsigned long long)i);
        memcpy(copy, file, file_size);
        for (uint64_t n = 1 + i % 2; n > 0; n--)
            damage(&seed);
        try_file(&results);
    }
    ok(results.refused > 0 && results.diverged > 0, "%u files are refused, %u diverge, %u match",
       results.refused, results.diverged, results.matching);
    ok(results.failed < ROUNDS / 4, "%u cannot be started", results.failed);
    is_equal(results.unnamed, 0, "whatever is refused has a reason");
    is_equal(heap_bytes_in_use(), heap, "nothing is left in the heap");
    kfree(file);
    kfree(copy);
}

const struct suite suite_recording_damage = {.name = "recording-damage", .run = run};
