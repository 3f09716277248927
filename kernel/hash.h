/* SPDX-License-Identifier: MIT */
/* BLAKE2b (RFC 7693), unkeyed, streaming; and CRC-32C.
 *
 * The end state of recordings is compared by BLAKE2b; CRC-32C finds damage in a log.
 * Pure: no state outside the structure.
 */
#ifndef KERNEL_HASH_H
#define KERNEL_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_BLOCK_SIZE 128
#define HASH_MAX_DIGEST 64 /* bytes */
#define HASH_MIN_DIGEST 16

struct hash {
    uint64_t state[8];
    uint64_t count[2]; /* bytes compressed so far, 128-bit, low word first */
    uint8_t block[HASH_BLOCK_SIZE];
    uint32_t used; /* bytes waiting in block */
    uint32_t digest_size;
};

/* digest_size: HASH_MIN_DIGEST … HASH_MAX_DIGEST bytes. Other values are pulled to the nearer
 * bound. Digests of different sizes are unrelated, not prefixes of each other. */
void hash_init(struct hash *hash, unsigned digest_size);
void hash_update(struct hash *hash, const void *data, size_t size);

/* Writes digest_size bytes and erases *hash. */
void hash_final(struct hash *hash, uint8_t *digest);

/* CRC-32C (Castagnoli, RFC 3720): start with 0, pass the last result to go on. */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);

#endif
