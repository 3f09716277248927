/* SPDX-License-Identifier: MIT */
/* What must be true of a superblock and a directory that come from a disk. Pure. */
#include "kernel/hash.h"
#include "kernel/string.h"
#include "replay/store_internal.h"

uint32_t store_super_crc(const struct store_super *super)
{
    struct store_super copy = *super;
    copy.crc = 0;
    return crc32c(0, &copy, sizeof(copy));
}

uint32_t store_directory_crc(const struct store_directory *directory)
{
    static const uint32_t zero;
    const uint8_t *bytes = (const uint8_t *)directory;
    size_t at = offsetof(struct store_directory, crc), behind = at + sizeof(zero);
    uint32_t crc = crc32c(0, bytes, at);
    crc = crc32c(crc, &zero, sizeof(zero));
    return crc32c(crc, bytes + behind, sizeof(*directory) - behind);
}

bool store_name_is_valid(const char name[STORE_NAME_SIZE])
{
    unsigned length = 0;
    while (length < STORE_NAME_SIZE && name[length] > ' ' && name[length] < 127)
        length++;
    if (length == 0 || length == STORE_NAME_SIZE)
        return false;
    for (unsigned i = length; i < STORE_NAME_SIZE; i++)
        if (name[i] != 0)
            return false;
    return true;
}

static bool is_zero(const void *data, size_t size)
{
    const uint8_t *bytes = data;
    while (size > 0 && *bytes == 0)
        bytes++, size--;
    return size == 0;
}

static bool extent_is_valid(const struct store_entry *entry, uint64_t sectors)
{
    return entry->start >= STORE_DATA_SECTOR && entry->start % STORE_UNIT_SECTORS == 0 &&
           entry->sectors > 0 && entry->sectors % STORE_UNIT_SECTORS == 0 &&
           entry->start < sectors && entry->sectors <= sectors - entry->start;
}

static bool entry_is_valid(const struct store_entry *entry, uint64_t sectors, uint64_t next_order)
{
    if (entry->state == STORE_FREE)
        return is_zero(entry, sizeof(*entry));
    if (!store_name_is_valid(entry->name) || !extent_is_valid(entry, sectors) ||
        entry->order >= next_order || !is_zero(entry->zero, sizeof(entry->zero)))
        return false;
    if (entry->state == STORE_OPEN)
        return entry->used == 0 && entry->flags == 0;
    return entry->state == STORE_CLOSED && entry->used > 0 &&
           entry->used <= entry->sectors * STORE_SECTOR &&
           (entry->flags & ~(STORE_KEPT | STORE_COMPLETE)) == 0;
}

static bool entries_agree(const struct store_entry *left, const struct store_entry *right)
{
    if (left->state == STORE_FREE || right->state == STORE_FREE)
        return true;
    return (left->start + left->sectors <= right->start ||
            right->start + right->sectors <= left->start) &&
           left->order != right->order && strcmp(left->name, right->name) != 0 &&
           (left->state != STORE_OPEN || right->state != STORE_OPEN);
}

bool store_directory_is_valid(const struct store_directory *directory, uint64_t id,
                              uint64_t sectors)
{
    if (directory->magic != STORE_DIRECTORY_MAGIC || directory->version != STORE_VERSION ||
        directory->crc != store_directory_crc(directory) || directory->id != id ||
        directory->generation == 0 || !is_zero(directory->zero, sizeof(directory->zero)))
        return false;
    for (unsigned i = 0; i < STORE_ENTRIES; i++) {
        const struct store_entry *entry = &directory->entries[i];
        if (!entry_is_valid(entry, sectors, directory->next_order))
            return false;
        for (unsigned other = 0; other < i; other++)
            if (!entries_agree(entry, &directory->entries[other]))
                return false;
    }
    return true;
}
