/* SPDX-License-Identifier: MIT */
/* 64-bit running hash and pseudo-random numbers: few instructions, not cryptographic. */
#ifndef USER_LIB_HASH_H
#define USER_LIB_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Odd, from the golden ratio, so that the multiplication is a permutation. */
#define HASH_MULTIPLIER 0x9e3779b97f4a7c15ul

/* Depends on the order in which values are mixed in. */
static inline uint64_t hash_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * HASH_MULTIPLIER;
    return hash ^ (hash >> 29);
}

uint64_t hash_bytes(uint64_t hash, const volatile void *bytes, size_t length);

/* The next of a sequence that its seed determines. */
static inline uint64_t random_next(uint64_t *state)
{
    *state += HASH_MULTIPLIER;
    return hash_mix(hash_mix(0, *state), *state >> 32);
}

#endif
