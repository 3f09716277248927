/* SPDX-License-Identifier: MIT */
/* The memory functions that compilers call by themselves.
 *
 * Eight bytes a round: a recorder that single-steps pays for every instruction and for every
 * iteration of a `rep`. COMPILER_BARRIER keeps the loops from being turned into calls of the very
 * function they implement.
 */
#include "user/lib/string.h"

#include <stdint.h>

#define COMPILER_BARRIER() __asm__ volatile("" ::: "memory")

typedef uint64_t __attribute__((may_alias, aligned(1))) unaligned_word;

void *memcpy(void *restrict to, const void *restrict from, size_t length)
{
    unsigned char *out = to;
    const unsigned char *in = from;

    for (; length >= 8; length -= 8, in += 8, out += 8) {
        *(unaligned_word *)out = *(const unaligned_word *)in;
        COMPILER_BARRIER();
    }
    while (length-- > 0) {
        *out++ = *in++;
        COMPILER_BARRIER();
    }
    return to;
}

void *memmove(void *to, const void *from, size_t length)
{
    unsigned char *out = to;
    const unsigned char *in = from;

    if (out <= in || out >= in + length) {
        while (length-- > 0) {
            *out++ = *in++;
            COMPILER_BARRIER();
        }
        return to;
    }
    while (length-- > 0) {
        out[length] = in[length];
        COMPILER_BARRIER();
    }
    return to;
}

void *memset(void *to, int value, size_t length)
{
    unsigned char *out = to;
    uint64_t pattern = (unsigned char)value * 0x0101010101010101ul;

    for (; length >= 8; length -= 8, out += 8) {
        *(unaligned_word *)out = pattern;
        COMPILER_BARRIER();
    }
    while (length-- > 0) {
        *out++ = (unsigned char)value;
        COMPILER_BARRIER();
    }
    return to;
}

int memcmp(const void *left, const void *right, size_t length)
{
    const unsigned char *a = left;
    const unsigned char *b = right;

    for (size_t i = 0; i < length; i++) {
        if (a[i] != b[i])
            return a[i] - b[i];
    }
    return 0;
}
