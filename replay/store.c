/* SPDX-License-Identifier: MIT */
/* Finding, reading, writing and removing recordings on a disk. Pure; locks: the caller's. */
#include "replay/store.h"

#include "kernel/err.h"
#include "kernel/printf.h"
#include "kernel/string.h"
#include "replay/store_internal.h"

#define ROOM_LEAST (1048576u / STORE_SECTOR)        /* sectors that a recording needs at least */
#define PROGRAM_NAME_MAX (STORE_NAME_SIZE - 1 - 11) /* before ".4294967295" */

/* --- finding --- */

static unsigned index_of(const struct store *store, const struct store_entry *entry)
{
    return (unsigned)(entry - store->directory.entries);
}

const struct store_entry *store_find(const struct store *store, const char *name)
{
    for (unsigned i = 0; i < STORE_ENTRIES; i++) {
        const struct store_entry *entry = &store->directory.entries[i];
        if (entry->state != STORE_FREE && strcmp(entry->name, name) == 0)
            return entry;
    }
    return NULL;
}

const struct store_entry *store_unfinished(const struct store *store)
{
    for (unsigned i = 0; i < STORE_ENTRIES; i++) {
        const struct store_entry *entry = &store->directory.entries[i];
        if (entry->state == STORE_OPEN && entry != store->writing)
            return entry;
    }
    return NULL;
}

/* The next one in age of those that `wanted` says yes to; NULL: none. */
static const struct store_entry *next_by_age(const struct store_directory *directory,
                                             const struct store_entry *after,
                                             bool (*wanted)(const struct store_entry *))
{
    const struct store_entry *found = NULL;
    for (unsigned i = 0; i < STORE_ENTRIES; i++) {
        const struct store_entry *entry = &directory->entries[i];
        if (entry->state != STORE_FREE && wanted(entry) &&
            (!after || entry->order > after->order) && (!found || entry->order < found->order))
            found = entry;
    }
    return found;
}

static bool any(const struct store_entry *entry)
{
    (void)entry;
    return true;
}

static bool is_removable(const struct store_entry *entry)
{
    return entry->state == STORE_CLOSED && !(entry->flags & STORE_KEPT);
}

void store_for_each(const struct store *store, store_function *function, void *argument)
{
    const struct store_entry *entry = NULL;
    while ((entry = next_by_age(&store->directory, entry, any)) != NULL)
        function(entry, argument);
}

/* The number behind "program."; 0 for any other name. */
static uint32_t number_of(const char *name, const char *program)
{
    size_t length = strlen(program);
    unsigned long long number;
    if (strncmp(name, program, length) != 0 || name[length] != '.' ||
        !string_to_u64(name + length + 1, &number) || number >= UINT32_MAX)
        return 0;
    return (uint32_t)number;
}

void store_unique_name(const struct store *store, const char *program, char out[STORE_NAME_SIZE])
{
    char base[PROGRAM_NAME_MAX + 1];
    uint32_t highest = 0;
    string_copy(base, *program ? program : "unnamed", sizeof(base));
    for (char *at = base; *at; at++)
        if (*at <= ' ' || *at >= 127)
            *at = '_';
    for (unsigned i = 0; i < STORE_ENTRIES; i++) {
        uint32_t number = number_of(store->directory.entries[i].name, base);
        if (store->directory.entries[i].state != STORE_FREE && number > highest)
            highest = number;
    }
    memset(out, 0, STORE_NAME_SIZE);
    format_text(out, STORE_NAME_SIZE, "%s.%u", base, highest + 1);
}

/* --- gaps --- */

struct gap {
    uint64_t start, sectors;
};

static const struct store_entry *first_behind(const struct store_directory *directory,
                                              uint64_t sector)
{
    const struct store_entry *found = NULL;
    for (unsigned i = 0; i < STORE_ENTRIES; i++) {
        const struct store_entry *entry = &directory->entries[i];
        if (entry->state != STORE_FREE && entry->start >= sector &&
            (!found || entry->start < found->start))
            found = entry;
    }
    return found;
}

static struct gap largest_gap(const struct store_directory *directory, uint64_t sectors)
{
    struct gap largest = {STORE_DATA_SECTOR, 0};
    uint64_t start = STORE_DATA_SECTOR;
    const struct store_entry *entry;
    do {
        entry = first_behind(directory, start);
        uint64_t end = entry ? entry->start : sectors;
        if (end - start > largest.sectors)
            largest = (struct gap){start, end - start};
        if (entry)
            start = entry->start + entry->sectors;
    } while (entry);
    return largest;
}

uint64_t store_largest_gap(const struct store *store)
{
    return store->device ? largest_gap(&store->directory, store->sectors).sectors : 0;
}

/* --- reading --- */

static uint64_t readable_sectors(const struct store *store, const struct store_entry *entry)
{
    if (entry == store->writing)
        return store->written;
    if (entry->state == STORE_OPEN)
        return entry->sectors;
    return (entry->used + STORE_SECTOR - 1) / STORE_SECTOR;
}

int store_read(const struct store *store, const struct store_entry *entry, uint64_t offset,
               uint32_t length, void *buffer)
{
    uint64_t readable = readable_sectors(store, entry) * STORE_SECTOR;
    if (offset % STORE_SECTOR != 0 || length % STORE_SECTOR != 0)
        return ERR_USAGE;
    if (offset > readable || length > readable - offset)
        return ERR_RANGE;
    return store->device->read(store->device->context, store_sector(entry, offset),
                               length / STORE_SECTOR, buffer);
}

/* --- creating --- */

static struct store_entry *free_entry(struct store_directory *directory)
{
    for (unsigned i = 0; i < STORE_ENTRIES; i++)
        if (directory->entries[i].state == STORE_FREE)
            return &directory->entries[i];
    return NULL;
}

/* Removes from store->next what has to go for a new entry; tells which, oldest first. */
static unsigned make_room(struct store *store, uint8_t victims[STORE_ENTRIES])
{
    uint64_t quarter = (store->sectors - STORE_DATA_SECTOR) / 4;
    uint64_t wanted = quarter > ROOM_LEAST ? quarter : ROOM_LEAST;
    unsigned count = 0;
    _Static_assert(STORE_ENTRIES <= 256, "an index fits into a byte");
    while (largest_gap(&store->next, store->sectors).sectors < wanted ||
           !free_entry(&store->next)) {
        const struct store_entry *oldest = next_by_age(&store->next, NULL, is_removable);
        if (!oldest)
            break;
        unsigned index = (unsigned)(oldest - store->next.entries);
        victims[count++] = (uint8_t)index;
        memset(&store->next.entries[index], 0, sizeof(*oldest));
    }
    return count;
}

static int check_new_name(const struct store *store, const char *name, char out[STORE_NAME_SIZE])
{
    memset(out, 0, STORE_NAME_SIZE);
    if (!string_copy(out, name, STORE_NAME_SIZE) || !store_name_is_valid(out) ||
        store_find(store, out))
        return ERR_STORE_NAME;
    return 0;
}

/* The new entry in store->next; its index, or an error. */
static int reserve(struct store *store, const char *name, uint64_t id)
{
    struct store_entry *entry = free_entry(&store->next);
    struct gap gap = largest_gap(&store->next, store->sectors);
    if (!entry || gap.sectors < ROOM_LEAST)
        return ERR_STORE_FULL;
    *entry = (struct store_entry){
        .id = id,
        .order = store->next.next_order++,
        .start = gap.start,
        .sectors = gap.sectors,
        .state = STORE_OPEN,
    };
    memcpy(entry->name, name, STORE_NAME_SIZE);
    return (int)(entry - store->next.entries);
}

int store_create(struct store *store, const char *name, uint64_t id, store_function *removed,
                 void *argument)
{
    char padded[STORE_NAME_SIZE];
    uint8_t victims[STORE_ENTRIES];
    int error = store_change_begin(store);
    if (!error && (store->writing || store_unfinished(store)))
        error = ERR_STORE_OPEN;
    if (!error)
        error = check_new_name(store, name, padded);
    if (error)
        return error;
    unsigned count = make_room(store, victims);
    int index = reserve(store, padded, id);
    error = index < 0 ? index : store_change_write(store);
    if (error)
        return error;
    for (unsigned i = 0; i < count && removed; i++)
        removed(&store->directory.entries[victims[i]], argument);
    store_change_end(store);
    store->writing = &store->directory.entries[index];
    store->written = 0;
    return 0;
}

/* --- appending, closing --- */

uint64_t store_room(const struct store *store)
{
    return store->writing ? (store->writing->sectors - store->written) * STORE_SECTOR : 0;
}

int store_append(struct store *store, const void *data, uint32_t length)
{
    if (!store->writing || length % STORE_SECTOR != 0)
        return ERR_USAGE;
    if (length > store_room(store))
        return ERR_STORE_FULL;
    int error = store->device->write(store->device->context, store->writing->start + store->written,
                                     length / STORE_SECTOR, data);
    if (!error)
        store->written += length / STORE_SECTOR;
    return error;
}

int store_flush(struct store *store)
{
    return store->device ? store->device->flush(store->device->context) : ERR_NO_DISK;
}

/* Ends the open entry at `index`. */
static int end_entry(struct store *store, unsigned index, const struct store_scan *end)
{
    struct store_entry *entry = &store->next.entries[index];
    int error = store_change_begin(store);
    if (!error)
        error = store_flush(store);
    if (error)
        return error;
    uint64_t units =
        (end->used + STORE_UNIT_SECTORS * STORE_SECTOR - 1) / (STORE_UNIT_SECTORS * STORE_SECTOR);
    entry->sectors = units * STORE_UNIT_SECTORS;
    entry->used = end->used;
    entry->state = STORE_CLOSED;
    entry->flags = end->complete ? STORE_COMPLETE : 0;
    if (end->used == 0)
        memset(entry, 0, sizeof(*entry));
    error = store_change_write(store);
    if (!error)
        store_change_end(store);
    return error;
}

int store_close(struct store *store, uint64_t used, bool complete)
{
    struct store_scan end = {used, complete};
    if (!store->writing)
        return ERR_USAGE;
    if (used > store->written * STORE_SECTOR)
        return ERR_RANGE;
    int error = end_entry(store, index_of(store, store->writing), &end);
    if (!error)
        store->writing = NULL;
    return error;
}

int store_recover(struct store *store, store_scan_function *scan, void *argument)
{
    struct store_scan end = {0, false};
    const struct store_entry *entry = store_unfinished(store);
    if (!entry)
        return 0;
    int error = scan(store, entry, &end, argument);
    if (error)
        return error;
    if (end.used > entry->sectors * STORE_SECTOR)
        return ERR_RANGE;
    return end_entry(store, index_of(store, entry), &end);
}

/* --- single entries --- */

/* Begins a change of the entry of that name that is not being written. */
static int begin_entry(struct store *store, const char *name, struct store_entry **out)
{
    const struct store_entry *entry = store_find(store, name);
    int error = store_change_begin(store);
    if (error)
        return error;
    if (!entry)
        return ERR_NOT_FOUND;
    if (entry == store->writing)
        return ERR_STORE_OPEN;
    *out = &store->next.entries[index_of(store, entry)];
    return 0;
}

int store_delete(struct store *store, const char *name)
{
    struct store_entry *entry;
    int error = begin_entry(store, name, &entry);
    if (error)
        return error;
    memset(entry, 0, sizeof(*entry));
    error = store_change_write(store);
    if (!error)
        store_change_end(store);
    return error;
}

int store_keep(struct store *store, const char *name, bool keep)
{
    struct store_entry *entry;
    int error = begin_entry(store, name, &entry);
    if (!error && entry->state == STORE_OPEN)
        error = ERR_STORE_OPEN;
    if (error)
        return error;
    entry->flags = keep ? entry->flags | STORE_KEPT : entry->flags & ~STORE_KEPT;
    error = store_change_write(store);
    if (!error)
        store_change_end(store);
    return error;
}
