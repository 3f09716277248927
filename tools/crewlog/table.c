/* SPDX-License-Identifier: MIT */
/* Hash tables: open addressing. */
#include "tools/crewlog/table.h"

#include <stdlib.h>
#include <string.h>

#include "tools/crewlog/tool.h"

#define FIRST_ROOM 256

void table_open(struct table *table, uint32_t value_size, uint64_t limit)
{
    *table = (struct table){.value_size = value_size, .limit = limit};
}

void table_close(struct table *table)
{
    free(table->keys);
    free(table->values);
    free(table->buckets);
    memset(table, 0, sizeof(*table));
}

static uint32_t *find_bucket(const struct table *table, uint64_t key)
{
    uint64_t at = key * 0x9e3779b97f4a7c15ull >> 16;
    for (;; at++) {
        uint32_t *bucket = &table->buckets[at & (table->room - 1)];
        if (*bucket == 0 || table->keys[*bucket - 1] == key)
            return bucket;
    }
}

static void make_room(struct table *table)
{
    table->room = table->room ? 2 * table->room : FIRST_ROOM;
    table->keys = grow(table->keys, table->room / 2, sizeof(table->keys[0]));
    table->values = grow(table->values, table->room / 2, table->value_size);
    table->buckets = grow(table->buckets, table->room, sizeof(table->buckets[0]));
    memset(table->buckets, 0, table->room * sizeof(table->buckets[0]));
    for (uint64_t i = 0; i < table->count; i++)
        *find_bucket(table, table->keys[i]) = (uint32_t)(i + 1);
}

void *table_value(const struct table *table, uint64_t index)
{
    return table->values + index * table->value_size;
}

uint64_t table_index(const struct table *table, const void *value)
{
    return (uint64_t)((const uint8_t *)value - table->values) / table->value_size;
}

void *table_get(struct table *table, uint64_t key, bool *added)
{
    uint32_t *bucket = table->room ? find_bucket(table, key) : NULL;
    bool found = bucket && *bucket;
    if (added)
        *added = !found;
    if (found)
        return table_value(table, *bucket - 1);
    if (table->count == table->limit)
        return NULL;
    if (2 * table->count >= table->room)
        make_room(table);
    uint64_t index = table->count++;
    bucket = find_bucket(table, key);
    table->keys[index] = key;
    *bucket = (uint32_t)(index + 1);
    return memset(table_value(table, index), 0, table->value_size);
}
