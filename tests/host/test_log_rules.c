/* SPDX-License-Identifier: MIT */
/* The reader of recordings' files: each rule by a file that breaks no other.
 *
 * Such a file is a good one with one change; numbers and checksums of its chunks are made right
 * again.
 */
#include "tests/host/log_result.h"
#include "tests/host/tap.h"

static const struct log_recipe small = {
    .seed = 5, .threads = 3, .pages = 2, .events = 60, .end = LOG_VERDICT_COMPLETE, .pads = true};

/* --- files made of other files' chunks --- */

#define MOST_CHUNKS 64

struct file {
    uint8_t chunk[MOST_CHUNKS][LOG_CHUNK_MAX];
    size_t count;
};

static struct file parts;

static struct log_chunk *head(size_t index)
{
    return (struct log_chunk *)parts.chunk[index];
}

static void *payload(size_t index)
{
    return parts.chunk[index] + sizeof(struct log_chunk);
}

/* The first chunk of that kind, or the one `more` further. */
static size_t find(enum log_chunk_kind kind, unsigned more)
{
    for (size_t i = 0; i < parts.count; i++)
        if (head(i)->kind == kind && more-- == 0)
            return i;
    abort();
}

static void load(const struct log_recipe *recipe)
{
    struct made_log log;

    log_make(recipe, &log);
    memset(&parts, 0, sizeof parts);
    parts.count = log.chunk_count;
    if (parts.count > MOST_CHUNKS - 2)
        abort();
    for (size_t i = 0; i < parts.count; i++) {
        size_t end = i + 1 < log.chunk_count ? log.chunks[i + 1] : log.size;
        memcpy(parts.chunk[i], log.bytes + log.chunks[i], end - log.chunks[i]);
    }
    made_log_free(&log);
}

static void erase(size_t index)
{
    parts.count--;
    memmove(parts.chunk[index], parts.chunk[index + 1], (parts.count - index) * LOG_CHUNK_MAX);
}

/* A second one of chunk `index`, in front of chunk `before`. */
static void copy_to(size_t index, size_t before)
{
    static uint8_t kept[LOG_CHUNK_MAX];

    memcpy(kept, parts.chunk[index], LOG_CHUNK_MAX);
    memmove(parts.chunk[before + 1], parts.chunk[before], (parts.count - before) * LOG_CHUNK_MAX);
    memcpy(parts.chunk[before], kept, LOG_CHUNK_MAX);
    parts.count++;
}

static void swap(size_t left, size_t right)
{
    static uint8_t kept[LOG_CHUNK_MAX];

    memcpy(kept, parts.chunk[left], LOG_CHUNK_MAX);
    memcpy(parts.chunk[left], parts.chunk[right], LOG_CHUNK_MAX);
    memcpy(parts.chunk[right], kept, LOG_CHUNK_MAX);
}

enum sealing { NUMBERED, KEEP_NUMBERS, KEEP_CHECKSUMS };

/* The chunks as a file. Their numbers and checksums are made right unless the test breaks those. */
static void read_parts(enum sealing sealing, struct result *result)
{
    static uint8_t bytes[MOST_CHUNKS * LOG_CHUNK_MAX];
    size_t size = 0;

    for (size_t i = 0; i < parts.count; i++) {
        if (sealing == NUMBERED)
            head(i)->sequence = i;
        uint64_t length = LOG_CHUNK_BYTES(head(i)->length);
        if (sealing != KEEP_CHECKSUMS)
            log_chunk_reseal(parts.chunk[i], LOG_CHUNK_MAX);
        memcpy(bytes + size, parts.chunk[i], length <= LOG_CHUNK_MAX ? length : LOG_CHUNK_MAX);
        size += length <= LOG_CHUNK_MAX ? length : LOG_CHUNK_MAX;
    }
    read_bytes(bytes, size, result);
}

static void refused_sealed(enum sealing sealing, const char *what, const char *reason)
{
    struct result result;

    read_parts(sealing, &result);
    ok(result.reader.verdict == LOG_VERDICT_BAD && result.reader.reason &&
           !strcmp(result.reader.reason, reason),
       "%s: %s", what, reason);
    if (result.reader.verdict != LOG_VERDICT_BAD || strcmp(result.reader.reason, reason) != 0)
        diag("got %s: %s", log_verdict_name(result.reader.verdict), result.reader.reason);
}

static void refused(const char *what, const char *reason)
{
    refused_sealed(NUMBERED, what, reason);
}

/* BREAK(what, reason, change…): the small file with that change, everything else right. */
#define BREAK(what, reason, ...) BREAK_AS(NUMBERED, what, reason, __VA_ARGS__)
#define BREAK_AS(sealing, what, reason, ...)                                                       \
    do {                                                                                           \
        load(&small);                                                                              \
        __VA_ARGS__;                                                                               \
        refused_sealed(sealing, what, reason);                                                     \
    } while (0)
#define FIRST(kind, name) ((struct log_##name *)payload(find(LOG_CHUNK_##kind, 0)))
#define NTH(kind, name, more) ((struct log_##name *)payload(find(LOG_CHUNK_##kind, more)))

/* --- the rules --- */

static void test_heads(void)
{
    BREAK("another magic number, first", "not a recording", head(0)->magic++);
    BREAK("another magic number, later", "no chunk begins here", head(3)->magic++);
    BREAK("a chunk of 8 KiB", "chunk is too long", head(3)->length = LOG_CHUNK_MAX);
    BREAK("a chunk of 4 GiB", "chunk is too long", head(3)->length = UINT32_MAX);
    BREAK("another file's chunk", "chunk of another recording", head(3)->file_id++);
    BREAK("kind 0", "unknown kind of chunk", head(3)->kind = 0);
    BREAK("kind 9", "unknown kind of chunk", head(3)->kind = LOG_CHUNK_PAD + 1);
    BREAK("kind 65535", "unknown kind of chunk", head(3)->kind = UINT16_MAX);
    BREAK("a mapping of thread 1", "thread out of range", head(1)->slot = 1);
    BREAK("events of thread 64", "thread out of range",
          head(find(LOG_CHUNK_STREAM, 0))->slot = LOG_MAX_SLOTS);

    const char *missing = "chunks are missing or out of order";
    BREAK_AS(KEEP_NUMBERS, "a chunk is missing", missing, erase(2));
    BREAK_AS(KEEP_NUMBERS, "two are swapped", missing, swap(1, 2));
    BREAK_AS(KEEP_NUMBERS, "the first is number 1", missing, head(0)->sequence = 1);
    BREAK_AS(KEEP_CHECKSUMS, "another checksum", "wrong checksum", head(2)->crc ^= 0x100);
    BREAK_AS(KEEP_CHECKSUMS, "another payload", "wrong checksum",
             parts.chunk[2][sizeof(struct log_chunk) + 8] ^= 1);
    load(&small);
    size_t pad = find(LOG_CHUNK_PAD, 0);
    parts.chunk[pad][LOG_CHUNK_BYTES(head(pad)->length) - 1] ^= 1;
    refused_sealed(KEEP_CHECKSUMS, "a byte behind the payload", "wrong checksum");
}

static void test_order(void)
{
    BREAK("a mapping first", "the file does not begin with its header", erase(0));
    BREAK("padding first", "the file does not begin with its header",
          copy_to(find(LOG_CHUNK_PAD, 0), 0));
    BREAK("two headers", "a second header", copy_to(0, 1));
    BREAK("a mapping behind BEGIN", "a part of the checkpoint behind its end",
          copy_to(find(LOG_CHUNK_VMA, 2), find(LOG_CHUNK_BEGIN, 0) + 1));
    BREAK("a page behind BEGIN", "a part of the checkpoint behind its end",
          copy_to(find(LOG_CHUNK_PAGE, 2), find(LOG_CHUNK_BEGIN, 0) + 1));
    BREAK("a thread behind BEGIN", "a part of the checkpoint behind its end",
          copy_to(find(LOG_CHUNK_THREAD, 1), find(LOG_CHUNK_BEGIN, 0) + 1));
    BREAK("two BEGINs", "a part of the checkpoint behind its end",
          copy_to(find(LOG_CHUNK_BEGIN, 0), find(LOG_CHUNK_BEGIN, 0) + 1));
    BREAK("events before BEGIN", "events before the end of the checkpoint",
          copy_to(find(LOG_CHUNK_STREAM, 0), find(LOG_CHUNK_BEGIN, 0)));
    BREAK("an end before BEGIN", "events before the end of the checkpoint",
          copy_to(find(LOG_CHUNK_END, 0), find(LOG_CHUNK_BEGIN, 0)));
    BREAK("events behind END", "data behind the end of the recording",
          copy_to(find(LOG_CHUNK_STREAM, 0), find(LOG_CHUNK_END, 0) + 1));
    BREAK("two ENDs", "data behind the end of the recording",
          copy_to(find(LOG_CHUNK_END, 0), find(LOG_CHUNK_END, 0) + 1));
}

#define SIZE(KIND, size)                                                                           \
    BREAK(#KIND " of " #size, "wrong size of a chunk",                                             \
          head(find(LOG_CHUNK_##KIND, 0))->length = (uint32_t)(size))

static void test_sizes(void)
{
    SIZE(HEADER, sizeof(struct log_header) - 8);
    SIZE(HEADER, sizeof(struct log_header) + 8);
    SIZE(VMA, sizeof(struct log_vma) - 1);
    SIZE(VMA, sizeof(struct log_vma) + 1);
    SIZE(VMA, 0);
    SIZE(THREAD, sizeof(struct log_thread) - 1);
    SIZE(PAGE, sizeof(struct log_page));
    SIZE(PAGE, sizeof(struct log_page) + LOG_PAGE_SIZE + 1);
    SIZE(BEGIN, sizeof(struct log_begin) - 1);
    SIZE(BEGIN, sizeof(struct log_begin) + 1);
    SIZE(STREAM, sizeof(struct log_block));
    SIZE(END, sizeof(struct log_end) - 1);
}

/* A text that fills its field to the last byte. */
#define ENDLESS(name)                                                                              \
    BREAK("endless " #name, "header: text without an end: " #name,                                 \
          memset(FIRST(HEADER, header)->name, 'x', sizeof(FIRST(HEADER, header)->name)))

static void test_header(void)
{
    BREAK("a header's magic", "not a recording", FIRST(HEADER, header)->magic[7] = 'v');
    BREAK("version 1", "another version of the format", FIRST(HEADER, header)->version = 1);
    BREAK("a later version", "another version of the format",
          FIRST(HEADER, header)->version = LOG_FORMAT_VERSION + 1);
    BREAK("pages of 8 KiB", "another size of pages", FIRST(HEADER, header)->page_size = 8192);
    BREAK("unit 2", "unknown unit of ticks", FIRST(HEADER, header)->unit = LOG_UNIT_ALL + 1);
    ENDLESS(kernel);
    ENDLESS(program);
    ENDLESS(warnings);
    ENDLESS(source);
    ENDLESS(source_model);
    ENDLESS(cpu_vendor);
    ENDLESS(cpu_brand);
    ENDLESS(arguments);
    BREAK("more arguments than zeroes", "header: more arguments than there is room for",
          FIRST(HEADER, header)->argument_count = 257);
    BREAK("a hash of no program", "header: hash of a program of no bytes",
          FIRST(HEADER, header)->program_bytes = 0);
    BREAK("FPU state of 511 bytes", "header: wrong size of the FPU state",
          FIRST(HEADER, header)->fpu_bytes = 511);
    BREAK("FPU state of 4097 bytes", "header: wrong size of the FPU state",
          FIRST(HEADER, header)->fpu_bytes = 4097);
    BREAK("129 bytes of output that wait", "header: bad state of the output's hash",
          FIRST(HEADER, header)->output_used = 129);
    BREAK("another hash of the output", "header: bad state of the output's hash",
          FIRST(HEADER, header)->output_digest_size = 64);
}

#define VMA_RANGE(what, change) BREAK(what, "mapping out of range", FIRST(VMA, vma)->change)

static void test_checkpoint(void)
{
    VMA_RANGE("an empty mapping", end = FIRST(VMA, vma)->start);
    VMA_RANGE("a mapping that ends before it begins", end = FIRST(VMA, vma)->start - 4096);
    BREAK("a mapping in the kernel's half", "mapping out of range",
          NTH(VMA, vma, 2)->end = (1ull << 47) + 4096);
    VMA_RANGE("a mapping that begins within a page", start++);
    VMA_RANGE("a mapping that ends within a page", end++);
    VMA_RANGE("prot 8", prot = 8);
    VMA_RANGE("a mapping's reserved field", reserved = 1);
    BREAK("mappings that overlap", "mappings overlap or are out of order",
          NTH(VMA, vma, 1)->start = FIRST(VMA, vma)->end - 4096);
    BREAK("mappings in another order", "mappings overlap or are out of order",
          swap(find(LOG_CHUNK_VMA, 1), find(LOG_CHUNK_VMA, 2)));
    BREAK("threads in another order", "threads of the checkpoint are out of order",
          swap(find(LOG_CHUNK_THREAD, 0), find(LOG_CHUNK_THREAD, 1)));
    BREAK("no thread 0", "threads of the checkpoint are out of order",
          erase(find(LOG_CHUNK_THREAD, 0)));
    BREAK("FPU state of another size than its chunk", "wrong size of the FPU state",
          FIRST(THREAD, thread)->fpu_bytes++);
    BREAK("FPU state of another size than the header says", "wrong size of the FPU state",
          FIRST(HEADER, header)->fpu_bytes++);
    BREAK("a page within a page", "page out of range", FIRST(PAGE, page)->address++);
    BREAK("a page in the kernel's half", "page out of range",
          NTH(PAGE, page, 2)->address = 1ull << 47);
    BREAK("pages in another order", "pages are out of order",
          swap(find(LOG_CHUNK_PAGE, 0), find(LOG_CHUNK_PAGE, 1)));
    BREAK("a page twice", "pages are out of order",
          NTH(PAGE, page, 1)->address = FIRST(PAGE, page)->address);
    BREAK("a page of zeroes", "a page of zeroes", memset(FIRST(PAGE, page) + 1, 0, LOG_PAGE_SIZE));
}

static void test_begin(void)
{
    const char *numbers = "the checkpoint has other numbers of mappings, threads or pages";

    BREAK("one mapping less", numbers, FIRST(BEGIN, begin)->vmas--);
    BREAK("one thread more", numbers, FIRST(BEGIN, begin)->threads++);
    BREAK("one page less", numbers, FIRST(BEGIN, begin)->pages--);
    BREAK("a page lost", numbers, erase(find(LOG_CHUNK_PAGE, 1)));
    load(&small);
    erase(find(LOG_CHUNK_THREAD, 1));
    erase(find(LOG_CHUNK_THREAD, 0));
    FIRST(BEGIN, begin)->threads = 0;
    refused("no thread at all", "the checkpoint has no thread");
}

static void test_streams(void)
{
    BREAK("a stream that begins at event 2", "events are missing or out of order",
          FIRST(STREAM, block)->first_event++);
    BREAK("a stream that begins at event 0", "events are missing or out of order",
          FIRST(STREAM, block)->first_event = 0);
    BREAK("a block twice", "events are missing or out of order",
          copy_to(find(LOG_CHUNK_STREAM, 0), find(LOG_CHUNK_STREAM, 0)));
    BREAK("a block without events", "block out of range", FIRST(STREAM, block)->events = 0);
    BREAK("more events than bytes", "block out of range",
          FIRST(STREAM, block)->events = LOG_BLOCK_BYTES + 1);
    BREAK("a block's reserved field", "block out of range", FIRST(STREAM, block)->reserved = 1);
    BREAK("a block of more than a page", "block out of range",
          head(find(LOG_CHUNK_STREAM, 0))->length = LOG_BLOCK_BYTES + sizeof(struct log_block) + 1);
}

#define CONTRADICTION(what, change) BREAK(what, "end contradicts itself", FIRST(END, end)->change)
#define END_RANGE(what, change) BREAK(what, "end out of range", FIRST(END, end)->change)

static void test_end(void)
{
    const char *threads = "wrong number of threads at the end";
    const char *events = "the end counts other numbers of events";

    END_RANGE("complete 2", complete = 2);
    END_RANGE("ended 2", ended = 2);
    END_RANGE("killed 2", killed = 2);
    END_RANGE("the end's reserved field", reserved = 1);
    BREAK("an endless reason", "end out of range",
          memset(FIRST(END, end)->reason, 'x', sizeof(FIRST(END, end)->reason)));
    BREAK("an endless reason of the process", "end out of range",
          memset(FIRST(END, end)->end_reason, 'x', sizeof(FIRST(END, end)->end_reason)));
    CONTRADICTION("complete with a reason why not", reason[0] = 'x');
    CONTRADICTION("incomplete without a reason", complete = 0);
    CONTRADICTION("an exit status of a process that goes on", ended = 0);
    BREAK("killed, but not ended", "end contradicts itself", FIRST(END, end)->ended = 0,
          FIRST(END, end)->exit_status = 0, FIRST(END, end)->killed = 1);
    CONTRADICTION("the killer of a process that was not killed", end_reason[0] = 'x');
    BREAK("65 threads", threads, FIRST(END, end)->slots = LOG_MAX_SLOTS + 1);
    BREAK("4294967295 threads", threads, FIRST(END, end)->slots = UINT32_MAX);
    BREAK("one thread more than there is room for", threads, FIRST(END, end)->slots++);
    BREAK("one thread less than there were", threads, FIRST(END, end)->slots--,
          head(find(LOG_CHUNK_END, 0))->length -= sizeof(struct log_end_thread));
    BREAK("one event more", events, ((struct log_end_thread *)(FIRST(END, end) + 1))[1].events++);
    BREAK("a block lost", events, erase(find(LOG_CHUNK_STREAM, 2)));
}

static void test_pad(void)
{
    load(&small);
    size_t pad = find(LOG_CHUNK_PAD, 0);
    head(pad)->length = 9;
    parts.chunk[pad][sizeof(struct log_chunk) + 8] = 1;
    refused("a PAD with something in it", "padding is not zero");
    load(&small);
    pad = find(LOG_CHUNK_PAD, 0);
    head(pad)->length = 1;
    parts.chunk[pad][sizeof(struct log_chunk) + 7] = 1;
    refused("something behind the payload", "padding is not zero");
}

#define KEEP(what, ...)                                                                            \
    do {                                                                                           \
        struct result result;                                                                      \
        load(&small);                                                                              \
        __VA_ARGS__;                                                                               \
        read_parts(NUMBERED, &result);                                                             \
        ok(result.reader.verdict == LOG_VERDICT_COMPLETE, what ": no rule is broken");             \
    } while (0)

/* What the description says that a reader does not look at. */
static void test_open(void)
{
    KEEP("guards of later versions", FIRST(HEADER, header)->guards = UINT32_MAX);
    KEEP("no arguments", FIRST(HEADER, header)->argument_count = 0);
    KEEP("another source of ticks", strcpy(FIRST(HEADER, header)->source, "other"));
}

/* A file may also have its chunks in any order that the rules allow. */
static void test_pads_anywhere(void)
{
    struct result before, after;

    load(&small);
    read_parts(NUMBERED, &before);
    for (size_t i = 1; parts.count < MOST_CHUNKS - 1; i += 2)
        copy_to(find(LOG_CHUNK_PAD, 0), i <= parts.count ? i : parts.count);
    read_parts(NUMBERED, &after);
    ok(after.reader.verdict == LOG_VERDICT_COMPLETE &&
           !memcmp(before.digest, after.digest, sizeof before.digest),
       "padding may stand anywhere behind the header");
}

int main(void)
{
    test_pads_anywhere();
    test_heads();
    test_order();
    test_sizes();
    test_header();
    test_checkpoint();
    test_begin();
    test_streams();
    test_end();
    test_pad();
    test_open();
    return done();
}
