/* SPDX-License-Identifier: MIT */
/* Counts of strings, by CPU: a hash table of bounded size. What finds no room any more is counted
 * under TALLY_REST, so that sums stay right.
 *
 * Locks: the caller's. Thread context.
 */
#ifndef KERNEL_PROFILER_TALLY_H
#define KERNEL_PROFILER_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#define TALLY_REST "(others)"

struct tally_entry {
    const char *key;
    uint32_t hash;
    uint32_t *counts; /* by CPU */
    uint64_t total;
    bool taken; /* tally_take_largest has returned it */
};

struct tally;

struct tally *tally_create(uint32_t columns); /* NULL: no memory */
void tally_destroy(struct tally *tally);      /* NULL is allowed */

void tally_add(struct tally *tally, const char *key, uint32_t column);

/* The largest entry that it has not returned yet; NULL after the last. */
const struct tally_entry *tally_take_largest(struct tally *tally);

#endif
