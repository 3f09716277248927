/* SPDX-License-Identifier: MIT */
/* ustar archives: built in memory, made by tar, damaged by rule and at random.
 *
 * Archives are passed in blocks of exactly their size, so that the sanitizer sees each byte too
 * many.
 */
#include <stdlib.h>
#include <unistd.h>
#include "kernel/err.h"
#include "kernel/ustar.h"
#include "tests/host/random.h"
#include "tests/host/tap.h"

#define BLOCK 512u
#define ARCHIVE_MAX (64 * BLOCK)

/* Offsets of header fields. */
enum {
    NAME = 0,
    SIZE = 124,
    CHECKSUM = 148,
    TYPE = 156,
    MAGIC = 257,
    VERSION = 263,
    PREFIX = 345,
};

struct archive {
    uint8_t bytes[ARCHIVE_MAX];
    size_t size;
};

static void seal(uint8_t *header)
{
    unsigned sum = 0;

    memset(header + CHECKSUM, ' ', 8);
    for (unsigned i = 0; i < BLOCK; i++)
        sum += header[i];
    sprintf((char *)header + CHECKSUM, "%06o", sum);
}

/* Returns the entry's header. */
static uint8_t *add(struct archive *archive, const char *name, char type, const void *data,
                    size_t size)
{
    uint8_t *header = archive->bytes + archive->size;

    memset(header, 0, BLOCK);
    memcpy(header + NAME, name, strlen(name));
    sprintf((char *)header + SIZE, "%011zo", size);
    header[TYPE] = type;
    memcpy(header + MAGIC, "ustar\00000", 8);
    seal(header);
    memset(header + BLOCK, 0, (size + BLOCK - 1) / BLOCK * BLOCK);
    memcpy(header + BLOCK, data, size);
    archive->size += BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK;
    return header;
}

static void add_zeros(struct archive *archive, unsigned blocks)
{
    memset(archive->bytes + archive->size, 0, blocks * BLOCK);
    archive->size += blocks * BLOCK;
}

static void build(struct archive *archive)
{
    static char big[1300];

    memset(big, 'b', sizeof big);
    archive->size = 0;
    add(archive, "dir/", '5', "", 0);
    add(archive, "dir/first", '0', "hello", 5);
    add(archive, "empty", '0', "", 0);
    add(archive, "./big", '\0', big, sizeof big);
    add(archive, "block", '7', big, BLOCK);
    add_zeros(archive, 2);
}

struct listing {
    char names[4096]; /* "name:size " for each */
    char reason[100];
    int error; /* that ended it */
};

static void list(const struct archive *archive, struct listing *listing)
{
    uint8_t *copy = malloc(archive->size ? archive->size : 1);
    struct ustar_file file;
    struct ustar reader;
    unsigned sum = 0;

    memcpy(copy, archive->bytes, archive->size);
    ustar_open(&reader, copy, archive->size);
    listing->names[0] = '\0';
    while (!(listing->error = ustar_next(&reader, &file))) {
        size_t used = strlen(listing->names);

        snprintf(listing->names + used, sizeof listing->names - used, "%s:%zu ", file.name,
                 file.size);
        for (size_t i = 0; i < file.size; i++)
            sum += file.data[i]; /* all of it can be read */
    }
    *(volatile unsigned *)&sum;
    snprintf(listing->reason, sizeof listing->reason, "%s", reader.reason ? reader.reason : "");
    if (ustar_next(&reader, &file) != listing->error)
        listing->error = 1; /* the end, and an error, must be final */
    free(copy);
}

static void test_good(void)
{
    struct archive archive;
    struct listing listing;

    build(&archive);
    list(&archive, &listing);
    is_string(listing.names, "dir/first:5 empty:0 big:1300 block:512 ", "files of a good archive");
    is_u64(listing.error, ERR_NOT_FOUND, "it ends in ERR_NOT_FOUND, for good");
    archive.size -= 2 * BLOCK;
    list(&archive, &listing);
    is_string(listing.names, "dir/first:5 empty:0 big:1300 block:512 ", "no zero block at the end");
    is_u64(listing.error, ERR_NOT_FOUND, "that is an end, too");
    archive.size += BLOCK;
    list(&archive, &listing);
    is_u64(listing.error, ERR_NOT_FOUND, "one zero block at the very end, too");
    build(&archive);
    memcpy(archive.bytes + SIZE, "00000100000", 11); /* of dir/: a limit for its files */
    seal(archive.bytes);
    list(&archive, &listing);
    is_string(listing.names, "dir/first:5 empty:0 big:1300 block:512 ", "a directory has no data");
    archive.size = 0;
    list(&archive, &listing);
    is_u64(listing.error, ERR_NOT_FOUND, "an archive without a byte is empty");
}

static void test_names(void)
{
    struct archive archive = {.size = 0};
    struct listing listing;
    uint8_t *header;
    char name[101], prefix[156], expected[300];

    memset(name, 'n', 100);
    name[100] = '\0';
    memset(prefix, 'p', 155);
    prefix[155] = '\0';
    header = add(&archive, name, '0', "x", 1);
    memcpy(header + PREFIX, prefix, 155);
    seal(header);
    header = add(&archive, "short", '0', "", 0);
    memcpy(header + PREFIX, "./a/b", 5);
    seal(header);
    add(&archive, "././twice", '0', "", 0);
    list(&archive, &listing);
    sprintf(expected, "%s/%s:1 a/b/short:0 twice:0 ", prefix, name);
    is_string(listing.names, expected, "the longest name, prefixes, leading ./");
}

static void test_find(void)
{
    struct archive archive;
    struct ustar_file file;
    const char *reason = "unset";

    build(&archive);
    archive.size -= 2 * BLOCK;
    add(&archive, "empty", '0', "second", 6);
    is_u64(ustar_find(archive.bytes, archive.size, "big", &file, &reason), 0, "found by name");
    ok(file.size == 1300 && file.data[1299] == 'b', "with its content");
    ok(!reason, "and no reason");
    is_u64(ustar_find(archive.bytes, archive.size, "empty", &file, NULL), 0, "of two…");
    is_u64(file.size, 0, "…the first");
    is_u64(ustar_find(archive.bytes, archive.size, "dir/", &file, NULL), ERR_NOT_FOUND,
           "a directory is not found");
    is_u64(ustar_find(archive.bytes, archive.size, "bigg", &file, NULL), ERR_NOT_FOUND,
           "nor a longer name");
    archive.bytes[archive.size - 2 * BLOCK] = '!';
    is_u64(ustar_find(archive.bytes, archive.size, "none", &file, &reason), ERR_BAD_ARCHIVE,
           "damage is found on the way");
    is_string(reason, "wrong header checksum", "and named");
}

#define MUTATION(what, reason_text, ...)                                                           \
    do {                                                                                           \
        struct archive archive_, *archive = &archive_;                                             \
        struct listing listing_;                                                                   \
        build(archive);                                                                            \
        uint8_t *header = archive->bytes + BLOCK; /* of dir/first */                               \
        (void)header;                                                                              \
        __VA_ARGS__;                                                                               \
        list(archive, &listing_);                                                                  \
        if (is_string(listing_.reason, reason_text, "%s", what))                                   \
            mutations_ok &= listing_.error == ERR_BAD_ARCHIVE;                                     \
    } while (0)

static bool mutations_ok = true;

static void test_rules(void)
{
    MUTATION("a bit of the name", "wrong header checksum", header[NAME] ^= 1);
    MUTATION("the checksum", "wrong header checksum", header[CHECKSUM + 3] ^= 1);
    MUTATION("no checksum", "wrong header checksum", memset(header + CHECKSUM, ' ', 8));
    MUTATION("GNU format", "GNU format: create the archive with --format=ustar",
             memcpy(header + MAGIC, "ustar  ", 8), seal(header));
    MUTATION("V7 format", "not in ustar format", memset(header + MAGIC, 0, 8), seal(header));
    MUTATION("other version", "not in ustar format", header[VERSION] = '1', seal(header));
    MUTATION("hard link", "contains a link", header[TYPE] = '1', seal(header));
    MUTATION("symbolic link", "contains a link", header[TYPE] = '2', seal(header));
    MUTATION("pax header", "contains pax headers: create the archive with --format=ustar",
             header[TYPE] = 'x', seal(header));
    MUTATION("device", "contains something that is neither file nor directory", header[TYPE] = '3',
             seal(header));
    MUTATION("size in base 256", "file size is not octal", header[SIZE] = 0x80, seal(header));
    MUTATION("size with an 8", "file size is not octal", header[SIZE + 10] = '8', seal(header));
    MUTATION("no size", "file size is not octal", memset(header + SIZE, 0, 12), seal(header));
    MUTATION("largest size", "file goes on after the archive's end", memset(header + SIZE, '7', 12),
             seal(header));
    MUTATION("no name", "file without a name", memset(header + NAME, 0, 100), seal(header));
    MUTATION("one block too few", "file goes on after the archive's end",
             archive->size -= 3 * BLOCK);
    MUTATION("one byte too few", "file goes on after the archive's end",
             archive->size -= 2 * BLOCK + 1);
    MUTATION("cut in a header", "ends within a header", archive->size = BLOCK + 511);
    MUTATION("lone zero block", "a lone block of zeros between entries", memset(header, 0, BLOCK));
    ok(mutations_ok, "every rejection returned ERR_BAD_ARCHIVE, again and again");
}

/* Checksums are made right again, else nothing but them would be tested. */
static void test_fuzz(void)
{
    const unsigned rounds = 50000;
    unsigned bad = 0, whole = 0, unnamed = 0;
    uint64_t seed = 287;

    for (unsigned i = 0; i < rounds; i++) {
        struct archive archive;
        struct listing listing;

        build(&archive);
        for (unsigned count = 1 + random_below(&seed, 4); count; count--) {
            size_t header = random_below(&seed, 3) * BLOCK;

            archive.bytes[header + random_below(&seed, BLOCK)] = random_u64(&seed);
            if (random_below(&seed, 4))
                seal(archive.bytes + header);
        }
        if (random_below(&seed, 4) == 0)
            archive.size = random_below(&seed, archive.size + 1);
        list(&archive, &listing);
        bad += listing.error == ERR_BAD_ARCHIVE;
        whole += listing.error == ERR_NOT_FOUND;
        unnamed += (listing.error == ERR_BAD_ARCHIVE) != (listing.reason[0] != '\0');
    }
    is_u64(bad + whole, rounds, "%u mutated archives: %u bad, %u good", rounds, bad, whole);
    is_u64(unnamed, 0, "bad ones, and only they, have a reason");
    ok(bad > rounds / 20 && whole > rounds / 20, "mutations hit both ways");
}

/* An archive of a few files made by the real tar. */
static bool run_tar(const char *format, struct archive *archive)
{
    char directory[] = "/tmp/test_ustar.XXXXXX", command[600];
    FILE *pipe;

    if (!mkdtemp(directory))
        return false;
    snprintf(command, sizeof command,
             "cd %s && mkdir -p sub/deep && printf 12345 >sub/deep/five && : >none && "
             "head -c 3000 /dev/zero >sub/zeros && tar --format=%s --sort=name -cf - . 2>/dev/null;"
             "rm -r %s",
             directory, format, directory);
    pipe = popen(command, "r");
    archive->size = pipe ? fread(archive->bytes, 1, sizeof archive->bytes, pipe) : 0;
    return pipe && !pclose(pipe) && archive->size;
}

static void test_real_tar(void)
{
    struct archive archive;
    struct listing listing;

    if (!run_tar("ustar", &archive)) {
        skip("archives made by tar", "GNU tar or a temporary directory is not to be had");
        return;
    }
    list(&archive, &listing);
    is_string(listing.names, "none:0 sub/deep/five:5 sub/zeros:3000 ", "files of tar's archive");
    is_u64(listing.error, ERR_NOT_FOUND, "which ends well");
    run_tar("gnu", &archive);
    list(&archive, &listing);
    is_string(listing.reason, "GNU format: create the archive with --format=ustar",
              "tar's own format is refused by name");
    run_tar("v7", &archive);
    list(&archive, &listing);
    is_string(listing.reason, "not in ustar format", "so is V7's");
}

int main(void)
{
    test_good();
    test_names();
    test_find();
    test_rules();
    test_fuzz();
    test_real_tar();
    return done();
}
