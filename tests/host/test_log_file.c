/* SPDX-License-Identifier: MIT */
/* The reader of recordings' files: each rule by a file that breaks no other, files cut at every
 * byte, flipped bits, failing reads.
 *
 * Files lie in blocks of exactly their size, so that the sanitizer sees each byte too many.
 */
#include <stdlib.h>

#include "kernel/hash.h"
#include "replay/log_codec.h"
#include "tests/host/log_maker.h"
#include "tests/host/random.h"
#include "tests/host/tap.h"

#define FLIPS 10000

static const struct log_recipe small = {
    .seed = 5, .threads = 3, .pages = 2, .events = 60, .end = LOG_VERDICT_COMPLETE, .pads = true};
static const struct log_recipe tiny = {
    .seed = 5, .threads = 2, .pages = 1, .events = 40, .end = LOG_VERDICT_COMPLETE, .pads = true};
static const struct log_recipe large = {.seed = 9,
                                        .threads = 9,
                                        .pages = 20,
                                        .events = 2500,
                                        .end = LOG_VERDICT_COMPLETE,
                                        .pads = true};

/* --- reading --- */

/* What a reader makes of a file. digest: all payloads but those of PADs, and where they stood. */
struct result {
    struct log_reader reader;
    struct log_source source;
    uint64_t chunks, events;
    bool streams_good; /* every block decodes to as many events as it says */
    uint8_t digest[16];
};

static bool block_decodes(const struct log_item *item)
{
    struct log_block block;
    struct log_coder coder = {0};
    struct log_event event;
    const char *reason;
    uint32_t at = sizeof block;

    memcpy(&block, item->payload, sizeof block);
    for (uint32_t i = 0; i < block.events; i++) {
        size_t length =
            log_decode(&coder, item->payload + at, item->chunk.length - at, &event, &reason);
        if (!length)
            return false;
        at += (uint32_t)length;
    }
    return at == item->chunk.length;
}

static void read_source(const struct log_source *source, struct result *result)
{
    static _Alignas(8) uint8_t buffer[LOG_CHUNK_MAX];
    struct log_item item;
    struct hash hash;

    memset(result, 0, sizeof *result);
    result->source = *source;
    result->streams_good = true;
    hash_init(&hash, sizeof result->digest);
    log_reader_open(&result->reader, &result->source);
    while (log_reader_next(&result->reader, buffer, &item)) {
        result->chunks++;
        if (item.chunk.kind == LOG_CHUNK_PAD)
            continue;
        hash_update(&hash, &item.chunk.kind, sizeof item.chunk.kind);
        hash_update(&hash, &item.chunk.slot, sizeof item.chunk.slot);
        hash_update(&hash, item.payload, item.chunk.length);
        if (item.chunk.kind == LOG_CHUNK_STREAM)
            result->streams_good &= block_decodes(&item);
    }
    for (uint32_t slot = 0; slot < LOG_MAX_SLOTS; slot++)
        result->events += result->reader.events[slot];
    hash_final(&hash, result->digest);
}

static void read_bytes(const uint8_t *bytes, size_t size, struct result *result)
{
    uint8_t *copy = malloc(size ? size : 1);
    struct log_memory memory = {copy, size, 0};
    struct log_source source = log_memory_source(&memory);

    memcpy(copy, bytes, size);
    read_source(&source, result);
    free(copy);
}

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
#define BREAK(what, reason, ...)                                                                   \
    do {                                                                                           \
        load(&small);                                                                              \
        __VA_ARGS__;                                                                               \
        refused(what, reason);                                                                     \
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

    load(&small);
    erase(2);
    refused_sealed(KEEP_NUMBERS, "a chunk is missing", "chunks are missing or out of order");
    load(&small);
    swap(1, 2);
    refused_sealed(KEEP_NUMBERS, "two are swapped", "chunks are missing or out of order");
    load(&small);
    head(0)->sequence = 1;
    refused_sealed(KEEP_NUMBERS, "the first is number 1", "chunks are missing or out of order");
    load(&small);
    head(2)->crc ^= 0x100;
    refused_sealed(KEEP_CHECKSUMS, "another checksum", "wrong checksum");
    load(&small);
    parts.chunk[2][sizeof(struct log_chunk) + 8] ^= 1;
    refused_sealed(KEEP_CHECKSUMS, "another payload", "wrong checksum");
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
    refused("padding with something in it", "padding is not zero");
}

/* --- what is right --- */

static void reads_as(const struct log_recipe *recipe, enum log_verdict verdict, const char *what)
{
    struct log_recipe with_end = *recipe;
    struct made_log log;
    struct result result;

    with_end.end = verdict;
    log_make(&with_end, &log);
    read_bytes(log.bytes, log.size, &result);
    ok(result.reader.verdict == verdict && result.streams_good, "%s: read as %s", what,
       log_verdict_name(verdict));
    is_u64(result.chunks, log.chunk_count, "%s: all chunks are read", what);
    ok(result.events >= recipe->events && log_reader_usable(&result.reader), "%s: all events",
       what);
    if (verdict == LOG_VERDICT_STOPPED)
        is_string(result.reader.reason, "the disk is full", "%s: with the reason", what);
    if (verdict == LOG_VERDICT_CUT)
        is_string(result.reader.reason, "the file has no end chunk", "%s: with the reason", what);
    made_log_free(&log);
}

static void test_good(void)
{
    for (int verdict = LOG_VERDICT_COMPLETE; verdict <= LOG_VERDICT_CUT; verdict++) {
        reads_as(&small, verdict, "a small file");
        reads_as(&large, verdict, "a large file");
    }
    struct log_recipe recipe = {.threads = 1, .pages = 1, .end = LOG_VERDICT_COMPLETE};
    unsigned wrong = 0;
    for (recipe.seed = 1; recipe.seed <= 200; recipe.seed++) {
        struct made_log log;
        struct result result;
        recipe.threads = 1 + recipe.seed % LOG_MAX_SLOTS;
        recipe.pages = 1 + recipe.seed % 37;
        recipe.events = recipe.seed * 7 % 500;
        recipe.pads = recipe.seed % 2;
        log_make(&recipe, &log);
        read_bytes(log.bytes, log.size, &result);
        wrong += result.reader.verdict != LOG_VERDICT_COMPLETE || !result.streams_good;
        made_log_free(&log);
    }
    is_u64(wrong, 0, "200 made files are complete");
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

/* --- damage --- */

/* What is left of a file is its whole chunks, and no more is claimed of it. */
static bool honest(const struct result *cut, const struct result *whole)
{
    if (cut->reader.verdict == LOG_VERDICT_COMPLETE || cut->reader.verdict == LOG_VERDICT_STOPPED)
        return cut->reader.verdict == whole->reader.verdict &&
               !memcmp(cut->digest, whole->digest, sizeof cut->digest);
    if (!cut->reader.reason || !cut->streams_good || cut->chunks > whole->chunks)
        return false;
    for (uint32_t slot = 0; slot < LOG_MAX_SLOTS; slot++)
        if (cut->reader.events[slot] > whole->reader.events[slot])
            return false;
    return true;
}

/* Bytes 0 … size - 1 of the file: whole chunks, in front of END or behind it. */
static bool cut_right(const struct made_log *log, size_t size, const struct result *whole)
{
    struct result cut;
    size_t chunks = 0;

    while (chunks < log->chunk_count &&
           (chunks + 1 < log->chunk_count ? log->chunks[chunks + 1] : log->size) <= size)
        chunks++;
    read_bytes(log->bytes, size, &cut);
    if (!honest(&cut, whole) || cut.chunks != chunks)
        return false;
    bool at_chunk = size == (chunks < log->chunk_count ? log->chunks[chunks] : log->size);
    if (at_chunk && cut.reader.ended)
        return cut.reader.verdict == LOG_VERDICT_COMPLETE;
    return cut.reader.verdict == LOG_VERDICT_CUT && cut.reader.offset <= size;
}

static void test_cuts(void)
{
    struct made_log log;
    struct result whole;
    size_t wrong = 0;

    log_make(&tiny, &log);
    read_bytes(log.bytes, log.size, &whole);
    for (size_t size = 0; size < log.size; size++) {
        bool right = cut_right(&log, size, &whole);
        if (!right && !wrong++)
            diag("wrong at %zu of %zu", size, log.size);
    }
    is_u64(wrong, 0, "a file of %zu bytes cut at each: cut, and what is before it is read",
           log.size);
    made_log_free(&log);
}

/* Whether the file with bit `bit` flipped is read as damaged there. */
static bool flip_found(struct made_log *log, size_t bit, const struct result *whole)
{
    struct result result;

    log->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    struct log_memory memory = {log->bytes, log->size, 0};
    struct log_source source = log_memory_source(&memory);
    read_source(&source, &result);
    log->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    return honest(&result, whole) && result.reader.offset <= bit / 8 &&
           (result.reader.verdict == LOG_VERDICT_BAD || result.reader.verdict == LOG_VERDICT_CUT);
}

static void test_flips(void)
{
    struct made_log log;
    struct result whole;
    uint64_t seed = 77;
    size_t wrong = 0;

    log_make(&tiny, &log);
    read_bytes(log.bytes, log.size, &whole);
    for (size_t bit = 0; bit < log.size * 8; bit++)
        wrong += !flip_found(&log, bit, &whole);
    is_u64(wrong, 0, "each of its %zu bits flipped: found, and what is before it is read",
           log.size * 8);
    made_log_free(&log);

    log_make(&large, &log);
    read_bytes(log.bytes, log.size, &whole);
    wrong = 0;
    for (unsigned i = 0; i < FLIPS; i++)
        wrong += !flip_found(&log, random_below(&seed, log.size * 8), &whole);
    is_u64(wrong, 0, "a file of %zu bytes with %d bits flipped, one at a time: found", log.size,
           FLIPS);
    made_log_free(&log);
}

/* Bits flipped and checksums made right again: any verdict, but no byte too far. */
static void test_resealed(void)
{
    struct made_log log;
    struct result result;
    uint64_t seed = 78;
    unsigned by_verdict[LOG_VERDICT_BAD + 1] = {0};

    log_make(&tiny, &log);
    for (unsigned i = 0; i < FLIPS; i++) {
        size_t chunk = random_below(&seed, log.chunk_count);
        size_t end = chunk + 1 < log.chunk_count ? log.chunks[chunk + 1] : log.size;
        size_t start = log.chunks[chunk], size = end - start;
        uint8_t kept[LOG_CHUNK_MAX];
        memcpy(kept, log.bytes + start, size);
        for (uint64_t flips = 1 + random_below(&seed, 4); flips; flips--) {
            size_t bit = random_below(&seed, random_below(&seed, 2) ? 64 * 8 : size * 8);
            if (bit / 8 < size)
                log.bytes[start + bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        log_chunk_reseal(log.bytes + start, log.size - start);
        read_bytes(log.bytes, log.size, &result);
        by_verdict[result.reader.verdict]++;
        memcpy(log.bytes + start, kept, size);
    }
    ok(by_verdict[LOG_VERDICT_BAD] > FLIPS / 4 && by_verdict[LOG_VERDICT_NONE] == 0,
       "%d damaged files with right checksums: %u bad, %u cut, %u stopped, %u complete", FLIPS,
       by_verdict[LOG_VERDICT_BAD], by_verdict[LOG_VERDICT_CUT], by_verdict[LOG_VERDICT_STOPPED],
       by_verdict[LOG_VERDICT_COMPLETE]);
    made_log_free(&log);
}

static void test_failing_reads(void)
{
    struct made_log log;
    struct result result, whole;
    size_t wrong = 0;

    log_make(&tiny, &log);
    read_bytes(log.bytes, log.size, &whole);
    for (size_t fails_at = 1; fails_at < log.size; fails_at++) {
        struct log_memory memory = {log.bytes, log.size, fails_at};
        struct log_source source = log_memory_source(&memory);
        read_source(&source, &result);
        wrong += result.reader.verdict != LOG_VERDICT_BAD ||
                 strcmp(result.reader.reason, "cannot be read") != 0 || !honest(&result, &whole);
    }
    is_u64(wrong, 0, "reads that fail at each byte: cannot be read");
    made_log_free(&log);
}

static void test_names(void)
{
    is_string(log_chunk_name(LOG_CHUNK_STREAM), "stream", "kinds of chunks have names");
    is_string(log_chunk_name(0), "?", "unknown ones have none");
    is_string(log_unit_name(LOG_UNIT_ALL), "all", "units have names");
    is_string(log_unit_name(7), "?", "unknown ones have none");
    is_string(log_verdict_name(LOG_VERDICT_CUT), "cut", "verdicts have names");
}

int main(void)
{
    test_names();
    test_good();
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
    test_cuts();
    test_flips();
    test_resealed();
    test_failing_reads();
    return done();
}
