/* SPDX-License-Identifier: MIT */
/* The layout of recordings' files: the digest that ties it to its version, and its description in
 * docs/log-format.md, whose tables and example must be what the code makes.
 *
 * Runs in the repository's root.
 */
#include <stdlib.h>

#include "kernel/hash.h"
#include "replay/log_file.h"
#include "replay/point.h"
#include "tests/host/log_maker.h"
#include "tests/host/random_event.h"
#include "tests/host/tap.h"

/* One row a version, ever. Who changes the layout raises LOG_FORMAT_VERSION and adds a row. */
static const struct {
    unsigned version;
    const char *digest;
} layouts[] = {
    {1, "7d8882982af003829667be434b082e23"},
    {2, "134c988903bdec772556bc39190311c3"},
};
#define LAYOUTS (sizeof layouts / sizeof layouts[0])

static void hash_number(struct hash *hash, uint64_t number)
{
    hash_update(hash, &number, sizeof number);
}

static void hash_table(struct hash *hash)
{
#define E(number, name, text, asynchronous, fields)                                                \
    hash_number(hash, number);                                                                     \
    hash_update(hash, #name ":" text, sizeof #name ":" text);                                      \
    hash_number(hash, asynchronous);                                                               \
    hash_number(hash, fields);
    LOG_EVENT_TABLE(E)
#undef E
#define X(number, name, text)                                                                      \
    hash_number(hash, number);                                                                     \
    hash_update(hash, #name ":" text, sizeof #name ":" text);
    LOG_UNIT_TABLE(X)
#undef X
    const uint64_t constants[] = {
        LOG_MAX_SLOTS,
        LOG_MAX_DEPS,
        LOG_SAME_POINT,
        LOG_FIELD_PAGE,
        LOG_FIELD_RIGHTS,
        LOG_FIELD_A,
        LOG_FIELD_B,
        LOG_FIELD_DEPS,
        LOG_RIGHTS_NONE,
        LOG_RIGHTS_READ,
        LOG_RIGHTS_WRITE,
        LOG_RIGHTS_MASK,
        LOG_RIGHTS_EXECUTE,
        LOG_EVENT_MAX_BYTES,
        sizeof(struct log_point),
        sizeof(struct log_dep),
        sizeof(struct log_event),
    };
    hash_update(hash, constants, sizeof constants);
}

static void hash_field(struct hash *hash, const char *field, size_t offset, size_t size)
{
    hash_update(hash, field, strlen(field) + 1);
    hash_number(hash, offset);
    hash_number(hash, size);
}

/* The file: its chunks, and of each structure every field's type, name, place and size. */
static void hash_file(struct hash *hash)
{
#define K(number, name, text)                                                                      \
    hash_number(hash, number);                                                                     \
    hash_update(hash, #name ":" text, sizeof #name ":" text);
    LOG_CHUNK_TABLE(K)
#undef K
#define CHUNK(name)                                                                                \
    hash_field(hash, #name, offsetof(struct log_chunk, name),                                      \
               sizeof(((struct log_chunk *)0)->name));
    CHUNK(magic)
    CHUNK(kind)
    CHUNK(slot)
    CHUNK(length)
    CHUNK(crc)
    CHUNK(file_id)
    CHUNK(sequence)
#undef CHUNK
#define F(type, name, count, form)                                                                 \
    hash_field(hash, #type " " #name #count, offsetof(layout, name), sizeof(((layout *)0)->name));
#define STRUCT(name, FIELDS, bytes)                                                                \
    {                                                                                              \
        typedef struct log_##name layout;                                                          \
        hash_field(hash, #name, bytes, sizeof(layout));                                            \
        FIELDS(F)                                                                                  \
    }
    LOG_STRUCT_TABLE(STRUCT)
#undef STRUCT
#undef F
    const uint64_t constants[] = {
        LOG_CHUNK_MAGIC,
        LOG_CHUNK_ALIGN,
        LOG_CHUNK_MAX,
        LOG_PAGE_SIZE,
        LOG_GUARD_TSC,
        LOG_GUARD_UMIP,
        LOG_GUARD_CPUID,
        LOG_BLOCK_BYTES,
        LOG_CHUNK_BYTES(0),
        LOG_CHUNK_BYTES(1),
        sizeof(struct log_chunk),
    };
    hash_update(hash, constants, sizeof constants);
    hash_update(hash, LOG_FILE_MAGIC, sizeof LOG_FILE_MAGIC);
}

/* What a fixed chunk is sealed as: the order of bytes, the checksum and what it covers. */
static void hash_sealing(struct hash *hash)
{
    _Alignas(8) uint8_t bytes[64];

    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    hash_number(hash, log_chunk_seal(bytes, LOG_CHUNK_STREAM, 3, 13, 0x0123456789abcdef, 42));
    hash_update(hash, bytes, sizeof bytes);
}

/* What a fixed sequence of events is coded as. */
static void hash_coding(struct hash *hash)
{
    uint64_t fixed = 1;
    struct log_coder coder = {0};
    uint8_t bytes[LOG_EVENT_MAX_BYTES];
    struct log_event event;

    for (unsigned i = 0; i < 50 * EVENT_KINDS; i++) {
        random_event(&fixed, event_kinds[i % EVENT_KINDS], &coder.point, &event);
        size_t length = log_encode(&coder, &event, bytes);
        hash_update(hash, bytes, length);
    }
}

/* What a point's check is: who changes it cannot replay older recordings. */
static void hash_checks(struct hash *hash)
{
    struct trap_frame frame;
    uint64_t *words = (uint64_t *)&frame;

    for (uint64_t fixed = 1, round = 0; round < 20; round++) {
        for (size_t i = 0; i < sizeof frame / sizeof *words; i++)
            words[i] = random_u64(&fixed);
        hash_number(hash, point_make(round, &frame).check);
    }
}

static void test_digest(void)
{
    uint8_t digest[HASH_MIN_DIGEST];
    char text[2 * HASH_MIN_DIGEST + 1];
    struct hash hash;
    const char *expected = "(no row for this version)";

    hash_init(&hash, sizeof digest);
    hash_table(&hash);
    hash_file(&hash);
    hash_sealing(&hash);
    hash_coding(&hash);
    hash_checks(&hash);
    hash_final(&hash, digest);
    for (unsigned i = 0; i < sizeof digest; i++)
        sprintf(text + 2 * i, "%02x", digest[i]);
    for (unsigned i = 0; i < LAYOUTS; i++)
        if (layouts[i].version == LOG_FORMAT_VERSION)
            expected = layouts[i].digest;
    if (!is_string(text, expected, "the layout is that of version %d", LOG_FORMAT_VERSION))
        diag("a changed layout needs a new LOG_FORMAT_VERSION and a row with its digest here");
    for (unsigned i = 1; i < LAYOUTS; i++)
        ok(layouts[i].version == layouts[i - 1].version + 1 &&
               strcmp(layouts[i].digest, layouts[i - 1].digest) != 0,
           "version %u follows another layout", layouts[i].version);
}

/* --- the description --- */

#define DESCRIPTION "docs/log-format.md"
#define MOST_TEXT (256 << 10)

static char *read_description(void)
{
    char *text = calloc(1, MOST_TEXT + 1);
    FILE *file = fopen(DESCRIPTION, "rb");

    if (file) {
        text[fread(text, 1, MOST_TEXT, file)] = 0;
        fclose(file);
    }
    return text;
}

/* "u32", "char[8]" for uint32_t, char [8]. */
static const char *type_name(const char *type, const char *count, char *out, size_t size)
{
    unsigned bits;

    if (sscanf(type, "uint%u_t", &bits) == 1)
        snprintf(out, size, "u%u%s", bits, count);
    else
        snprintf(out, size, "%s%s", type, count);
    return out;
}

/* *at: where the structure's table goes on. Its next row must describe the field. form: "" where
 * the table has no such column. */
static bool row_is(const char **at, size_t offset, size_t size, const char *type, const char *count,
                   const char *name, const char *form)
{
    char row[128], text[64];

    snprintf(row, sizeof row, "| %zu | %zu | %s | %s |%s%s%s", offset, size,
             type_name(type, count, text, sizeof text), name, *form ? " " : "", form,
             *form ? " |" : "");
    const char *line = *at ? strchr(*at, '\n') : NULL;
    *at = line ? line + 1 : NULL;
    bool same = *at && !strncmp(*at, row, strlen(row));
    if (!same)
        diag("expected: %s", row);
    return same;
}

/* The line above the first row of the table below that heading. */
static const char *find_table(const char *text, const char *heading)
{
    const char *at = strstr(text, heading);

    at = at ? strstr(at, "| offset |") : NULL;
    return at ? strchr(at, '\n') + 1 : NULL;
}

static bool table_ended(const char *at)
{
    const char *line = at ? strchr(at, '\n') : NULL;

    return line && line[1] != '|';
}

static void test_tables(const char *text)
{
    const char *at;
    bool right;

#define F(type, name, count, form)                                                                 \
    right &= row_is(&at, offsetof(layout, name), sizeof(((layout *)0)->name), #type, #count,       \
                    #name, #form);
#define STRUCT(name, FIELDS, bytes)                                                                \
    {                                                                                              \
        typedef struct log_##name layout;                                                          \
        at = find_table(text, "\n### " #name "\n");                                                \
        right = at != NULL;                                                                        \
        FIELDS(F)                                                                                  \
        ok(right &&table_ended(at), DESCRIPTION " describes the fields of " #name);                \
    }
    LOG_STRUCT_TABLE(STRUCT)
#undef STRUCT
#undef F
    typedef struct log_chunk layout;
    at = find_table(text, "\nThe head:\n");
    right = at != NULL;
#define F(type, name)                                                                              \
    right &= row_is(&at, offsetof(layout, name), sizeof(((layout *)0)->name), #type, "", #name, "");
    F(uint32_t, magic)
    F(uint16_t, kind)
    F(uint16_t, slot)
    F(uint32_t, length)
    F(uint32_t, crc)
    F(uint64_t, file_id)
    F(uint64_t, sequence)
#undef F
    ok(right && table_ended(at), DESCRIPTION " describes the fields of a chunk");
}

static void test_limits(const char *text)
{
    const struct {
        const char *format;
        uint64_t value;
    } said[] = {
        {"`LOG_EVENT_MAX_BYTES` (%llu)", LOG_EVENT_MAX_BYTES},
        {"of at most %llu bytes of coded events", LOG_BLOCK_BYTES},
        {"how many, 1 … %llu |", LOG_BLOCK_BYTES},
        {"of the payload, at most %llu |", LOG_CHUNK_MAX - sizeof(struct log_chunk)},
        {"threads, 1 … %llu,", LOG_MAX_SLOTS},
        {"how many, at most %llu; for each:", LOG_MAX_DEPS},
    };

    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        char sentence[128];
        snprintf(sentence, sizeof sentence, said[i].format, (unsigned long long)said[i].value);
        ok(strstr(text, sentence), DESCRIPTION " says: %.20s…", sentence);
    }
}

/* A line of the example, as "00000010: 13 70 …". */
static bool example_line_is(const struct made_log *log, const char *line, unsigned long offset)
{
    char *at;

    strtoul(line, &at, 16);
    for (unsigned i = 0; i < 16; i++) {
        unsigned long byte = strtoul(at + 1, &at, 16);
        if (offset + i >= log->size || log->bytes[offset + i] != byte)
            return false;
    }
    return *at == '\n';
}

static void test_example(const char *text)
{
    const struct log_recipe recipe = {
        .seed = 3, .threads = 1, .pages = 1, .events = 6, .end = LOG_VERDICT_COMPLETE};
    unsigned lines = 0, wrong = 0;
    struct made_log log;
    char size[64];

    log_make(&recipe, &log);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        unsigned long offset;
        int length = 0;
        line += line != text;
        if (sscanf(line, "%8lx:%n", &offset, &length) != 1 || length != 9)
            continue;
        lines++;
        wrong += !example_line_is(&log, line, offset);
    }
    ok(lines > 10 && wrong == 0, "the bytes of its example are those of that file: %u of %u lines",
       lines - wrong, lines);
    snprintf(size, sizeof size, "it has %zu bytes", log.size);
    ok(strstr(text, size), "so is its size: %s", size);
    made_log_free(&log);
}

int main(void)
{
    char *text = read_description();

    test_digest();
    test_tables(text);
    test_limits(text);
    test_example(text);
    free(text);
    return done();
}
