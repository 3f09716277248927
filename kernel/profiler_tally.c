/* SPDX-License-Identifier: MIT */
/* Counts of strings: open addressing over an array of entries in the order of their arrival. */
#include "kernel/profiler_tally.h"

#include <stddef.h>

#include "kernel/string.h"
#include "mm/heap.h"

#define ENTRIES 2048
#define SLOTS 4096 /* a power of 2; never more than half full */
#define TEXT_SIZE (256u << 10)

struct tally {
    uint32_t columns, count;
    size_t text_used;
    struct tally_entry entries[ENTRIES]; /* [0] is the rest */
    uint16_t slots[SLOTS];               /* entry + 1, or 0 */
    char text[TEXT_SIZE];
    uint32_t counts[]; /* columns for each entry */
};

static uint32_t hash_of(const char *key)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (; *key; key++)
        hash = (hash ^ (uint8_t)*key) * 16777619u;
    return hash;
}

static struct tally_entry *append(struct tally *tally, const char *key, uint32_t hash)
{
    size_t length = strlen(key) + 1;
    if (tally->count == ENTRIES || length > TEXT_SIZE - tally->text_used)
        return NULL;
    struct tally_entry *entry = &tally->entries[tally->count];
    *entry = (struct tally_entry){
        .key = memcpy(tally->text + tally->text_used, key, length),
        .hash = hash,
        .counts = &tally->counts[(size_t)tally->count * tally->columns],
    };
    tally->text_used += length;
    tally->count++;
    return entry;
}

static struct tally_entry *find_or_append(struct tally *tally, const char *key)
{
    uint32_t hash = hash_of(key), slot = hash % SLOTS;
    for (; tally->slots[slot]; slot = (slot + 1) % SLOTS) {
        struct tally_entry *entry = &tally->entries[tally->slots[slot] - 1];
        if (entry->hash == hash && strcmp(entry->key, key) == 0)
            return entry;
    }
    struct tally_entry *entry = append(tally, key, hash);
    if (entry)
        tally->slots[slot] = (uint16_t)tally->count;
    return entry;
}

struct tally *tally_create(uint32_t columns)
{
    struct tally *tally =
        kzalloc(sizeof(*tally) + (size_t)ENTRIES * columns * sizeof(tally->counts[0]));
    if (!tally)
        return NULL;
    tally->columns = columns;
    find_or_append(tally, TALLY_REST);
    return tally;
}

void tally_destroy(struct tally *tally)
{
    kfree(tally);
}

void tally_add(struct tally *tally, const char *key, uint32_t column)
{
    struct tally_entry *entry = find_or_append(tally, key);
    if (!entry)
        entry = &tally->entries[0];
    entry->counts[column]++;
    entry->total++;
}

const struct tally_entry *tally_take_largest(struct tally *tally)
{
    struct tally_entry *largest = NULL;
    for (uint32_t i = 0; i < tally->count; i++) {
        struct tally_entry *entry = &tally->entries[i];
        if (!entry->taken && entry->total > (largest ? largest->total : 0))
            largest = entry;
    }
    if (largest)
        largest->taken = true;
    return largest;
}
