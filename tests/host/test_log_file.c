/* SPDX-License-Identifier: MIT */
/* The reader of recordings' files: files cut at every byte, flipped bits, failing reads. (The
 * rules: test_log_rules.c.)
 *
 * Files lie in blocks of exactly their size, so that the sanitizer sees each byte too many.
 */
#include "tests/host/log_result.h"
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
    test_cuts();
    test_flips();
    test_resealed();
    test_failing_reads();
    return done();
}
