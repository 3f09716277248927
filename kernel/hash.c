/* SPDX-License-Identifier: MIT */
/* BLAKE2b as RFC 7693 gives it, without a key; CRC-32C byte by byte.
 *
 * The last block is compressed by hash_final only, so a full block waits until more data comes.
 * Little-endian host. Any context.
 */
#include <stdbool.h>
#include "kernel/hash.h"
#include "kernel/string.h"

#define ROUNDS 12

/* The initial values of SHA-512 (RFC 7693, 2.6). */
static const uint64_t initial[8] = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};

/* RFC 7693, 2.7; rounds 10 and 11 use the first two rows again. */
static const uint8_t sigma[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

static inline uint64_t rotate_right(uint64_t value, unsigned bits)
{
    return value >> bits | value << (64 - bits);
}

static inline void mix(uint64_t *v, unsigned a, unsigned b, unsigned c, unsigned d, uint64_t x,
                       uint64_t y)
{
    v[a] += v[b] + x;
    v[d] = rotate_right(v[d] ^ v[a], 32);
    v[c] += v[d];
    v[b] = rotate_right(v[b] ^ v[c], 24);
    v[a] += v[b] + y;
    v[d] = rotate_right(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = rotate_right(v[b] ^ v[c], 63);
}

static void compress(struct hash *hash, const uint8_t *block, uint64_t size, bool last)
{
    uint64_t v[16], m[16];

    hash->count[0] += size;
    hash->count[1] += hash->count[0] < size;
    memcpy(m, block, sizeof m);
    memcpy(v, hash->state, sizeof hash->state);
    memcpy(v + 8, initial, sizeof initial);
    v[12] ^= hash->count[0];
    v[13] ^= hash->count[1];
    if (last)
        v[14] = ~v[14];
    for (unsigned round = 0; round < ROUNDS; round++) {
        const uint8_t *s = sigma[round % 10];

        mix(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
        mix(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
        mix(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
        mix(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
        mix(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
        mix(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
        mix(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
        mix(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
    }
    for (unsigned i = 0; i < 8; i++)
        hash->state[i] ^= v[i] ^ v[i + 8];
}

void hash_init(struct hash *hash, unsigned digest_size)
{
    if (digest_size < HASH_MIN_DIGEST)
        digest_size = HASH_MIN_DIGEST;
    if (digest_size > HASH_MAX_DIGEST)
        digest_size = HASH_MAX_DIGEST;
    *hash = (struct hash){.digest_size = digest_size};
    memcpy(hash->state, initial, sizeof initial);
    hash->state[0] ^= 0x01010000 ^ digest_size; /* parameter block: fan-out 1, depth 1, no key */
}

void hash_update(struct hash *hash, const void *data, size_t size)
{
    const uint8_t *from = data;

    while (size) {
        if (hash->used == HASH_BLOCK_SIZE) {
            compress(hash, hash->block, HASH_BLOCK_SIZE, false);
            hash->used = 0;
        }
        /* Whole blocks straight from the caller, as long as at least one byte stays for later. */
        while (!hash->used && size > HASH_BLOCK_SIZE) {
            compress(hash, from, HASH_BLOCK_SIZE, false);
            from += HASH_BLOCK_SIZE;
            size -= HASH_BLOCK_SIZE;
        }
        size_t room = HASH_BLOCK_SIZE - hash->used;
        size_t part = size < room ? size : room;

        memcpy(hash->block + hash->used, from, part);
        hash->used += part;
        from += part;
        size -= part;
    }
}

void hash_final(struct hash *hash, uint8_t *digest)
{
    memset(hash->block + hash->used, 0, HASH_BLOCK_SIZE - hash->used);
    compress(hash, hash->block, hash->used, true);
    memcpy(digest, hash->state, hash->digest_size);
    *hash = (struct hash){0};
}

/* The table is linear over XOR: an entry is the sum of those of its bits, which are
 * the remainders of x^8 … x^15 modulo the reflected polynomial 0x82f63b78. */
#define CRC_BIT(n, bit, value) ((n)&1u << (bit) ? (value) : 0u)
#define CRC_1(n)                                                                                   \
    (CRC_BIT(n, 0, 0xf26b8303u) ^ CRC_BIT(n, 1, 0xe13b70f7u) ^ CRC_BIT(n, 2, 0xc79a971fu) ^        \
     CRC_BIT(n, 3, 0x8ad958cfu) ^ CRC_BIT(n, 4, 0x105ec76fu) ^ CRC_BIT(n, 5, 0x20bd8edeu) ^        \
     CRC_BIT(n, 6, 0x417b1dbcu) ^ CRC_BIT(n, 7, 0x82f63b78u))
#define CRC_4(n) CRC_1(n), CRC_1(n + 1), CRC_1(n + 2), CRC_1(n + 3)
#define CRC_16(n) CRC_4(n), CRC_4(n + 4), CRC_4(n + 8), CRC_4(n + 12)
#define CRC_64(n) CRC_16(n), CRC_16(n + 16), CRC_16(n + 32), CRC_16(n + 48)

static const uint32_t crc_table[256] = {CRC_64(0), CRC_64(64), CRC_64(128), CRC_64(192)};

uint32_t crc32c(uint32_t crc, const void *data, size_t size)
{
    const uint8_t *from = data;

    crc = ~crc;
    while (size--)
        crc = crc >> 8 ^ crc_table[(crc ^ *from++) & 0xff];
    return ~crc;
}
