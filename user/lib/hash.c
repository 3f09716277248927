/* SPDX-License-Identifier: MIT */
/* The hash of a piece of memory. */
#include "user/lib/hash.h"

typedef uint64_t __attribute__((may_alias, aligned(1))) unaligned_word;

uint64_t hash_bytes(uint64_t hash, const volatile void *bytes, size_t length)
{
    const volatile unsigned char *in = bytes;

    for (; length >= 8; length -= 8, in += 8)
        hash = hash_mix(hash, *(const volatile unaligned_word *)in);
    while (length-- > 0)
        hash = hash_mix(hash, *in++);
    return hash;
}
