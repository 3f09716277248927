/* SPDX-License-Identifier: MIT */
/* Random numbers that are the same in each run, for tests: xorshift64*. */
#ifndef TESTS_HOST_RANDOM_H
#define TESTS_HOST_RANDOM_H

#include <stdint.h>

/* state: any value but 0; it is the seed. */
static inline uint64_t random_u64(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1dull;
}

static inline uint64_t random_below(uint64_t *state, uint64_t limit)
{
    return random_u64(state) % limit;
}

#endif
