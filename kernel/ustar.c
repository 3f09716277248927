/* SPDX-License-Identifier: MIT */
/* Reading a POSIX ustar archive in memory (IEEE 1003.1, pax, "ustar Interchange Format").
 *
 * Offsets are multiples of the block size and never exceed archive->size. Any context.
 */
#include <stdbool.h>
#include "kernel/err.h"
#include "kernel/string.h"
#include "kernel/ustar.h"

#define BLOCK_SIZE 512u
#define TYPE_DIRECTORY '5'

/* All fields are text: octal numbers end in a blank or 0, names need not end at all. */
struct ustar_header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8];
    char type;
    char link[100], magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155];
    char padding[12];
};

_Static_assert(sizeof(struct ustar_header) == BLOCK_SIZE, "fixed by the archive format");

static bool parse_octal(const char *field, size_t size, uint64_t *value)
{
    size_t i = 0, first;

    while (i < size && field[i] == ' ')
        i++;
    first = i;
    *value = 0;
    for (; i < size && field[i] >= '0' && field[i] <= '7'; i++)
        *value = *value * 8 + (field[i] - '0'); /* at most 12 digits: 36 bits */
    if (i == first)
        return false;
    for (; i < size; i++)
        if (field[i] != ' ' && field[i] != '\0')
            return false;
    return true;
}

/* The sum of all bytes, those of the sum itself taken as blanks. */
static bool checksum_fits(const struct ustar_header *header)
{
    const uint8_t *bytes = (const uint8_t *)header;
    size_t field = offsetof(struct ustar_header, checksum);
    uint64_t expected, sum = 0;

    for (size_t i = 0; i < BLOCK_SIZE; i++)
        sum += i >= field && i < field + sizeof header->checksum ? ' ' : bytes[i];
    return parse_octal(header->checksum, sizeof header->checksum, &expected) && sum == expected;
}

static const char *check_header(const struct ustar_header *header)
{
    if (!checksum_fits(header))
        return "wrong header checksum";
    if (!memcmp(header->magic, "ustar ", 6))
        return "GNU format: create the archive with --format=ustar";
    if (memcmp(header->magic, "ustar", 6) || memcmp(header->version, "00", 2))
        return "not in ustar format";
    switch (header->type) {
    case '0':
    case '\0':
    case '7': /* contiguous file; to be read like '0' */
    case TYPE_DIRECTORY:
        return NULL;
    case '1':
    case '2':
        return "contains a link";
    case 'g':
    case 'x':
        return "contains pax headers: create the archive with --format=ustar";
    default:
        return "contains something that is neither file nor directory";
    }
}

static void append(char *name, size_t *length, const char *field, size_t size)
{
    size_t part = strnlen(field, size);

    memcpy(name + *length, field, part);
    *length += part;
}

/* prefix + '/' + name, without leading "./"; the sum of the fields is USTAR_NAME_MAX. */
static void join_name(const struct ustar_header *header, char name[USTAR_NAME_MAX + 1])
{
    size_t length = 0, skip = 0;

    _Static_assert(sizeof header->prefix + 1 + sizeof header->name == USTAR_NAME_MAX, "");
    append(name, &length, header->prefix, sizeof header->prefix);
    if (length)
        name[length++] = '/';
    append(name, &length, header->name, sizeof header->name);
    while (length - skip >= 2 && name[skip] == '.' && name[skip + 1] == '/')
        skip += 2;
    memmove(name, name + skip, length - skip);
    name[length - skip] = '\0';
}

static int fail(struct ustar *archive, const char *reason)
{
    archive->reason = reason;
    return ERR_BAD_ARCHIVE;
}

static bool is_zero_block(const uint8_t *block)
{
    for (size_t i = 0; i < BLOCK_SIZE; i++)
        if (block[i])
            return false;
    return true;
}

/* Two blocks of zeros, or one that is the archive's last. */
static int end_at_zero_block(struct ustar *archive)
{
    size_t second = archive->next + BLOCK_SIZE;

    if (archive->size - second >= BLOCK_SIZE && !is_zero_block(archive->data + second))
        return fail(archive, "a lone block of zeros between entries");
    archive->next = archive->size;
    return ERR_NOT_FOUND;
}

void ustar_open(struct ustar *archive, const void *data, size_t size)
{
    *archive = (struct ustar){.data = data, .size = size};
}

/* Reads one entry, of whatever type, and steps over it. */
static int read_entry(struct ustar *archive, struct ustar_file *file, char *type)
{
    struct ustar_header header;
    size_t left = archive->size - archive->next - BLOCK_SIZE;
    uint64_t size, blocks;
    const char *reason;

    memcpy(&header, archive->data + archive->next, sizeof header);
    reason = check_header(&header);
    if (reason)
        return fail(archive, reason);
    if (!parse_octal(header.size, sizeof header.size, &size))
        return fail(archive, "file size is not octal");
    if (header.type == TYPE_DIRECTORY)
        size = 0; /* there it is a limit, not a length */
    blocks = (size + BLOCK_SIZE - 1) / BLOCK_SIZE;
    if (blocks > left / BLOCK_SIZE)
        return fail(archive, "file goes on after the archive's end");
    join_name(&header, file->name);
    if (!file->name[0] && header.type != TYPE_DIRECTORY)
        return fail(archive, "file without a name");
    file->data = archive->data + archive->next + BLOCK_SIZE;
    file->size = size;
    *type = header.type;
    archive->next += BLOCK_SIZE + blocks * BLOCK_SIZE;
    return 0;
}

int ustar_next(struct ustar *archive, struct ustar_file *file)
{
    char type;

    if (archive->reason)
        return ERR_BAD_ARCHIVE;
    do {
        int error;

        if (archive->next == archive->size)
            return ERR_NOT_FOUND;
        if (archive->size - archive->next < BLOCK_SIZE)
            return fail(archive, "ends within a header");
        if (is_zero_block(archive->data + archive->next))
            return end_at_zero_block(archive);
        error = read_entry(archive, file, &type);
        if (error)
            return error;
    } while (type == TYPE_DIRECTORY);
    return 0;
}

int ustar_find(const void *data, size_t size, const char *name, struct ustar_file *file,
               const char **reason)
{
    struct ustar archive;
    int error;

    ustar_open(&archive, data, size);
    while (!(error = ustar_next(&archive, file)))
        if (!strcmp(file->name, name))
            break;
    if (reason)
        *reason = archive.reason;
    return error;
}
