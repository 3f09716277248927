/* SPDX-License-Identifier: MIT */
/* A hash table from numbers to values of one size; values stand in the order in which they came. */
#ifndef TOOLS_CREWLOG_TABLE_H
#define TOOLS_CREWLOG_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct table {
    uint64_t count;
    uint64_t limit; /* the most that it takes */
    uint64_t *keys; /* [count] */
    /* private */
    uint8_t *values;
    uint32_t value_size;
    uint32_t *buckets; /* index + 1; 0: free */
    uint64_t room;     /* of buckets, a power of two; half as many values */
};

void table_open(struct table *table, uint32_t value_size, uint64_t limit);
void table_close(struct table *table);

/* The key's value, valid until the next call; a new one is all zero. NULL: the table is full. */
void *table_get(struct table *table, uint64_t key, bool *added);
void *table_value(const struct table *table, uint64_t index);
uint64_t table_index(const struct table *table, const void *value);

#endif
