/* SPDX-License-Identifier: MIT */
/* The rules of what is in recordings (replay/log_check.h): each by a file that breaks no other one;
 * good files break none; damaged ones, with right checksums, never harm.
 */
#include <stdlib.h>

#include "kernel/abi.h"
#include "replay/log_check.h"
#include "tests/host/log_maker.h"
#include "tests/host/random.h"
#include "tests/host/tap.h"

#define DAMAGED_FILES 3000

static struct log_check check;

/* --- small files of given events --- */

#define MAX_EVENTS 12
#define FILE_ID 77

struct script {
    const char *what;
    const char *reason; /* NULL: no rule is broken */
    uint32_t slot;
    uint64_t event;                         /* whose fault it is */
    struct log_event events[2][MAX_EVENTS]; /* of two threads, up to kind 0 */
    uint64_t page;                          /* of the checkpoint; 0: 0x402000 */
    uint64_t end_ticks;                     /* of thread 0; 0: 100 */
    bool one_thread, cut, first_only;       /* first_only: the checkpoint has only thread 0 */
    uint32_t split;                         /* events of thread 0 in a first block of their own */
    unsigned events_short, bytes_more;      /* in thread 0's block */
};

struct file {
    uint8_t bytes[1 << 16];
    size_t size;
    uint64_t sequence;
};

static struct file file;

static void put(enum log_chunk_kind kind, uint32_t slot, const void *payload, uint32_t length)
{
    uint8_t *chunk = file.bytes + file.size;

    memcpy(chunk + sizeof(struct log_chunk), payload, length);
    file.size += log_chunk_seal(chunk, kind, slot, length, FILE_ID, file.sequence++);
}

static uint32_t threads_of(const struct script *script)
{
    return script->one_thread ? 1 : 2;
}

static void put_checkpoint(const struct script *script)
{
    struct log_header header = {.version = LOG_FORMAT_VERSION,
                                .page_size = LOG_PAGE_SIZE,
                                .fpu_bytes = 512,
                                .output_digest_size = 16};
    const struct log_vma vmas[] = {{0x400000, 0x403000, 5, 0}, {0x500000, 0x501000, 3, 0}};
    struct {
        struct log_thread thread;
        uint8_t fpu[512];
    } thread = {.thread.fpu_bytes = 512};
    struct {
        struct log_page page;
        uint8_t contents[LOG_PAGE_SIZE];
    } page = {.page.address = script->page ? script->page : 0x402000, .contents = {1}};
    struct log_begin begin = {2, script->first_only ? 1 : threads_of(script), 1};

    memcpy(header.magic, LOG_FILE_MAGIC, sizeof header.magic);
    put(LOG_CHUNK_HEADER, 0, &header, sizeof header);
    put(LOG_CHUNK_VMA, 0, &vmas[0], sizeof vmas[0]);
    put(LOG_CHUNK_VMA, 0, &vmas[1], sizeof vmas[1]);
    for (uint32_t slot = 0; slot < begin.threads; slot++)
        put(LOG_CHUNK_THREAD, slot, &thread, sizeof thread);
    put(LOG_CHUNK_PAGE, 0, &page, sizeof page);
    put(LOG_CHUNK_BEGIN, 0, &begin, sizeof begin);
}

/* Events first … end - 1 as one block. */
static void put_block(const struct script *script, uint32_t slot, uint32_t first, uint32_t end)
{
    static uint8_t payload[LOG_CHUNK_MAX];
    struct log_block block = {.first_event = first + 1, .events = end - first};
    struct log_coder coder = {0};
    size_t size = sizeof block;

    for (uint32_t i = first; i < end; i++)
        size += log_encode(&coder, &script->events[slot][i], payload + size);
    if (slot == 0) {
        block.events -= script->events_short;
        memset(payload + size, 0, script->bytes_more);
        size += script->bytes_more;
    }
    memcpy(payload, &block, sizeof block);
    put(LOG_CHUNK_STREAM, slot, payload, (uint32_t)size);
}

static uint32_t put_stream(const struct script *script, uint32_t slot)
{
    uint32_t count = 0, split = slot == 0 ? script->split : 0;

    while (count < MAX_EVENTS && script->events[slot][count].kind)
        count++;
    if (split)
        put_block(script, slot, 0, split);
    if (count > split)
        put_block(script, slot, split, count);
    return count - (slot == 0 ? script->events_short : 0);
}

static void write_file(const struct script *script)
{
    struct {
        struct log_end end;
        struct log_end_thread threads[2];
    } end = {.end = {.complete = 1, .slots = threads_of(script)}};

    file.size = file.sequence = 0;
    put_checkpoint(script);
    for (uint32_t slot = 0; slot < threads_of(script); slot++) {
        end.threads[slot].events = put_stream(script, slot);
        end.threads[slot].ticks = slot == 0 && script->end_ticks ? script->end_ticks : 100;
    }
    if (!script->cut)
        put(LOG_CHUNK_END, 0, &end,
            (uint32_t)(sizeof end.end + threads_of(script) * sizeof end.threads[0]));
}

/* --- the rules --- */

#define AT(t) .point = {.ticks = t, .rip = 0x400100}
#define PROMOTE(...)                                                                               \
    {                                                                                              \
        .kind = LOG_PROMOTE, .page = 0x402000, .rights = LOG_RIGHTS_READ, __VA_ARGS__              \
    }
#define DEMOTE(...)                                                                                \
    {                                                                                              \
        .kind = LOG_DEMOTE, .page = 0x402000, __VA_ARGS__                                          \
    }
#define CALL(number, ...)                                                                          \
    {                                                                                              \
        .kind = LOG_SYSCALL, .a = number, __VA_ARGS__                                              \
    }
#define PLAIN(name, ...)                                                                           \
    {                                                                                              \
        .kind = LOG_##name, __VA_ARGS__                                                            \
    }
#define STOP                                                                                       \
    {                                                                                              \
        .kind = LOG_STOP, AT(100)                                                                  \
    }
#define AFTER(count, ...) .dep_count = count, .deps = {__VA_ARGS__}

static const struct script scripts[] = {
    {.what = "a good one",
     .events = {{PROMOTE(AT(3)), DEMOTE(AT(5)), CALL(SYS_write, AT(7)),
                 PLAIN(ORDER, .a = 18, AT(7)), PLAIN(RESULT, .a = 1, AT(7)), CALL(SYS_exit, AT(9)),
                 PLAIN(EXIT, AT(9))},
                {PROMOTE(AT(4), AFTER(1, {0, 2})), STOP}}},
    {.what = "an exception", .one_thread = true, .events = {{PLAIN(FATAL, .a = 14, AT(3))}}},
    {.what = "ticks that go back",
     .reason = "ticks go back",
     .event = 2,
     .split = 1,
     .events = {{PROMOTE(AT(3)), DEMOTE(AT(2)), STOP}, {STOP}}},
    {.what = "a promotion to nothing",
     .reason = "rights that this kind of event never has",
     .event = 1,
     .events = {{PLAIN(PROMOTE, .page = 0x402000), STOP}, {STOP}}},
    {.what = "a demotion to write",
     .reason = "rights that this kind of event never has",
     .event = 1,
     .events = {{DEMOTE(.rights = LOG_RIGHTS_WRITE), STOP}, {STOP}}},
    {.what = "an access that executes",
     .reason = "rights that this kind of event never has",
     .event = 1,
     .events = {{PLAIN(ACCESS, .rights = LOG_RIGHTS_READ | LOG_RIGHTS_EXECUTE), STOP}, {STOP}}},
    {.what = "a refusal of nothing",
     .reason = "rights that this kind of event never has",
     .event = 1,
     .events = {{PLAIN(REFUSED, AT(1)), STOP}, {STOP}}},
    {.what = "a page of the kernel",
     .reason = "page is not a program's",
     .event = 1,
     .events = {{PLAIN(PROMOTE, .page = 1ull << 47, .rights = LOG_RIGHTS_READ), STOP}, {STOP}}},
    {.what = "object 19",
     .reason = "unknown kernel object",
     .event = 2,
     .events = {{CALL(SYS_futex), PLAIN(ORDER, .a = 19), STOP}, {STOP}}},
    {.what = "value 0",
     .reason = "unknown kind of value",
     .event = 1,
     .events = {{PLAIN(VALUE, .a = 0), STOP}, {STOP}}},
    {.what = "value 5",
     .reason = "unknown kind of value",
     .event = 1,
     .events = {{PLAIN(VALUE, .a = 5), STOP}, {STOP}}},
    {.what = "a thread that waits for itself",
     .reason = "depends on its own thread",
     .event = 1,
     .events = {{PROMOTE(AFTER(1, {0, 1})), STOP}, {STOP}}},
    {.what = "two dependencies on one thread",
     .reason = "depends twice on one thread",
     .event = 1,
     .events = {{PROMOTE(AFTER(2, {1, 1}, {1, 1})), STOP}, {STOP}}},
    {.what = "a dependency on a third event of two",
     .reason = "depends on an event that does not exist",
     .slot = 1,
     .event = 1,
     .events = {{PROMOTE(AT(1)), STOP}, {PROMOTE(AFTER(1, {0, 3})), STOP}}},
    {.what = "a dependency on a third thread of two",
     .reason = "depends on an event that does not exist",
     .event = 1,
     .events = {{PROMOTE(AFTER(1, {2, 1})), STOP}, {STOP}}},
    {.what = "the same in a recording that was cut",
     .cut = true,
     .events = {{PROMOTE(AFTER(1, {2, 1})), STOP}, {STOP}}},
    {.what = "two calls in one",
     .reason = "a system call within a system call",
     .event = 2,
     .events = {{CALL(SYS_write), CALL(SYS_write), STOP}, {STOP}}},
    {.what = "a result of nothing",
     .reason = "comes only in a system call",
     .event = 1,
     .events = {{PLAIN(RESULT, .a = 0), STOP}, {STOP}}},
    {.what = "an object outside of a call",
     .reason = "comes only in a system call",
     .event = 3,
     .events = {{CALL(SYS_write), PLAIN(RESULT, .a = 0), PLAIN(ORDER, .a = 1), STOP}, {STOP}}},
    {.what = "an exit without a call",
     .reason = "comes only in a system call",
     .event = 1,
     .events = {{PLAIN(EXIT, .a = 0)}, {STOP}}},
    {.what = "an event of an ended thread",
     .reason = "an event behind the end of its thread",
     .event = 2,
     .events = {{STOP, STOP}, {STOP}}},
    {.what = "a thread that does not end",
     .reason = "the thread's last event does not end it",
     .event = 1,
     .events = {{PROMOTE(AT(1))}, {STOP}}},
    {.what = "the same in a recording that was cut",
     .cut = true,
     .events = {{PROMOTE(AT(1))}, {STOP}}},
    {.what = "a thread without events",
     .reason = "the thread's last event does not end it",
     .slot = 1,
     .events = {{STOP}}},
    {.what = "an end before the last event",
     .reason = "the thread ends with fewer ticks than its last event has",
     .end_ticks = 99,
     .events = {{STOP}, {STOP}}},
    {.what = "a second thread out of nowhere",
     .reason = "more or fewer threads than were made",
     .first_only = true,
     .events = {{STOP}, {STOP}}},
    {.what = "a second thread by clone",
     .first_only = true,
     .events = {{CALL(SYS_clone), PLAIN(RESULT, .a = 101), STOP}, {STOP}}},
    {.what = "a clone without its thread",
     .reason = "more or fewer threads than were made",
     .one_thread = true,
     .events = {{CALL(SYS_clone), PLAIN(RESULT, .a = 101), STOP}}},
    {.what = "a clone that failed",
     .one_thread = true,
     .events = {{CALL(SYS_clone), PLAIN(RESULT, .a = (uint64_t)-11), STOP}}},
    {.what = "a page between the mappings",
     .reason = "a page outside of all mappings",
     .page = 0x403000,
     .events = {{STOP}, {STOP}}},
    {.what = "a page behind the mappings",
     .reason = "a page outside of all mappings",
     .page = 0x501000,
     .events = {{STOP}, {STOP}}},
    {.what = "a page in the second mapping", .page = 0x500000, .events = {{STOP}, {STOP}}},
    {.what = "bytes behind a block's events",
     .reason = "bytes behind the last event of a block",
     .event = 1,
     .bytes_more = 3,
     .events = {{STOP}, {STOP}}},
    {.what = "an event more than the block says",
     .reason = "bytes behind the last event of a block",
     .event = 1,
     .events_short = 1,
     .events = {{PROMOTE(AT(1)), STOP}, {STOP}}},
};

static void test_script(const struct script *script)
{
    write_file(script);
    struct log_memory memory = {.bytes = file.bytes, .size = file.size};
    struct log_source source = log_memory_source(&memory);
    bool good = log_check(&check, &source);

    is_string(check.reason, script->reason, "%s", script->what);
    ok(good == !script->reason, "%s: as a whole", script->what);
    if (!script->reason)
        ok(check.whole.verdict == (script->cut ? LOG_VERDICT_CUT : LOG_VERDICT_COMPLETE),
           "%s: the verdict", script->what);
    else
        ok(check.slot == script->slot && check.event == script->event && check.offset != 0 &&
               check.offset < file.size,
           "%s: thread %u, event %u", script->what, check.slot, (unsigned)check.event);
}

/* --- made files, good and damaged --- */

static bool check_bytes(const uint8_t *bytes, size_t size)
{
    struct log_memory memory = {.bytes = bytes, .size = size};
    struct log_source source = log_memory_source(&memory);

    return log_check(&check, &source);
}

static void test_made(void)
{
    unsigned wrong = 0;

    for (unsigned i = 0; i < 30; i++) {
        struct log_recipe recipe = {.seed = i,
                                    .threads = 1 + i % 9,
                                    .pages = 1 + i,
                                    .events = 2000,
                                    .pads = i % 2,
                                    .end = LOG_VERDICT_COMPLETE + i % 3};
        struct made_log log;
        log_make(&recipe, &log);
        if (!check_bytes(log.bytes, log.size) || check.whole.verdict != recipe.end) {
            diag("seed %u: %s", i, check.reason ? check.reason : "another verdict");
            wrong++;
        }
        made_log_free(&log);
    }
    is_u64(wrong, 0, "30 made recordings keep all rules");
}

static void test_damaged(void)
{
    struct log_recipe recipe = {
        .seed = 3, .threads = 3, .pages = 3, .events = 300, .end = LOG_VERDICT_COMPLETE};
    struct made_log log;
    uint64_t seed = 99;
    unsigned without_reason = 0, found = 0;

    log_make(&recipe, &log);
    uint8_t *copy = malloc(log.size);
    for (unsigned i = 0; i < DAMAGED_FILES; i++) {
        size_t chunk = log.chunks[random_below(&seed, log.chunk_count)];
        size_t place = chunk + sizeof(struct log_chunk) + random_below(&seed, 300);
        memcpy(copy, log.bytes, log.size);
        copy[place < log.size ? place : log.size - 1] ^= (uint8_t)(1 << random_below(&seed, 8));
        log_chunk_reseal(copy + chunk, log.size - chunk);
        bool good = check_bytes(copy, log.size);
        without_reason += good != !check.reason || (!good && check.offset > log.size);
        found += !good;
    }
    free(copy);
    is_u64(without_reason, 0, "%d damaged recordings: each refusal has a reason and a place",
           DAMAGED_FILES);
    ok(found > DAMAGED_FILES / 4, "%u of them were refused", found);
    made_log_free(&log);
}

int main(void)
{
    for (unsigned i = 0; i < sizeof scripts / sizeof scripts[0]; i++)
        test_script(&scripts[i]);
    test_made();
    test_damaged();
    return done();
}
