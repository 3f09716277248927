/* SPDX-License-Identifier: MIT */
/* BLAKE2b against RFC 7693 and b2sum; CRC-32C against RFC 3720. */
#include <stdlib.h>
#include <unistd.h>
#include "kernel/hash.h"
#include "tests/host/random.h"
#include "tests/host/tap.h"

static void to_hex(const uint8_t *digest, unsigned size, char *out)
{
    for (unsigned i = 0; i < size; i++)
        sprintf(out + 2 * i, "%02x", digest[i]);
}

/* The digest of data in pieces of at most `piece` bytes (0: all at once), as hexadecimal text. */
static void digest_of(const void *data, size_t size, unsigned digest_size, size_t piece, char *out)
{
    struct hash hash;
    uint8_t digest[HASH_MAX_DIGEST];

    hash_init(&hash, digest_size);
    for (size_t at = 0, part; at < size; at += part) {
        part = piece && piece < size - at ? piece : size - at;
        hash_update(&hash, (const char *)data + at, part);
    }
    hash_final(&hash, digest);
    to_hex(digest, digest_size, out);
}

/* RFC 7693, appendix A. */
static void test_abc(void)
{
    char hex[2 * HASH_MAX_DIGEST + 1];

    digest_of("abc", 3, 64, 0, hex);
    is_string(hex,
              "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
              "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923",
              "BLAKE2b-512 of abc");
}

/* The pseudorandom input of RFC 7693, appendix E. */
static void fill_sequence(uint8_t *out, size_t size, uint32_t seed)
{
    uint32_t a = 0xdead4bad * seed, b = 1;

    for (size_t i = 0; i < size; i++) {
        uint32_t t = a + b;

        a = b;
        b = t;
        out[i] = t >> 24;
    }
}

/* A keyed digest is an unkeyed one with another parameter block and the key as its first block. */
static void digest_keyed(uint8_t *out, unsigned size, const uint8_t *data, size_t data_size,
                         const uint8_t *key, unsigned key_size)
{
    uint8_t block[HASH_BLOCK_SIZE] = {0};
    struct hash hash;

    hash_init(&hash, size);
    if (key_size) {
        hash.state[0] ^= (uint64_t)key_size << 8;
        memcpy(block, key, key_size);
        hash_update(&hash, block, sizeof block);
    }
    hash_update(&hash, data, data_size);
    hash_final(&hash, out);
}

/* RFC 7693, appendix E: the digest of 48 digests of different sizes, half of them keyed. */
static void test_rfc_selftest(void)
{
    static const unsigned sizes[] = {20, 32, 48, 64}, lengths[] = {0, 3, 128, 129, 255, 1024};
    uint8_t data[1024], key[64], digest[64];
    char hex[65];
    struct hash total;

    hash_init(&total, 32);
    for (unsigned i = 0; i < 4; i++)
        for (unsigned j = 0; j < 6; j++) {
            fill_sequence(data, lengths[j], lengths[j]);
            digest_keyed(digest, sizes[i], data, lengths[j], NULL, 0);
            hash_update(&total, digest, sizes[i]);
            fill_sequence(key, sizes[i], sizes[i]);
            digest_keyed(digest, sizes[i], data, lengths[j], key, sizes[i]);
            hash_update(&total, digest, sizes[i]);
        }
    hash_final(&total, digest);
    to_hex(digest, 32, hex);
    is_string(hex, "c23a7800d98123bd10f506c61e29da5603d763b8bbad2e737f5e765a7bccd475",
              "BLAKE2b self-test of the RFC");
}

static void test_pieces(void)
{
    static const size_t sizes[] = {0, 1, 127, 128, 129, 255, 256, 257, 1024, 4095, 4096, 10007};
    static uint8_t data[10007];
    unsigned differing = 0, compared = 0;

    fill_sequence(data, sizeof data, 1);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char whole[129], parts[129];

        digest_of(data, sizes[i], 32, 0, whole);
        for (size_t piece = 1; piece < 300; piece++, compared++) {
            digest_of(data, sizes[i], 32, piece, parts);
            differing += strcmp(whole, parts) != 0;
        }
    }
    is_u64(differing, 0, "digests do not depend on how the data is cut (%u compared)", compared);
}

static void test_bounds(void)
{
    struct hash hash;
    uint8_t digest[HASH_MAX_DIGEST + 1];

    hash_init(&hash, 0);
    is_u64(hash.digest_size, HASH_MIN_DIGEST, "a digest of 0 bytes becomes the smallest");
    hash_init(&hash, 1000);
    is_u64(hash.digest_size, HASH_MAX_DIGEST, "a digest of 1000 bytes becomes the largest");
    memset(digest, 0xee, sizeof digest);
    hash_final(&hash, digest);
    is_u64(digest[HASH_MAX_DIGEST], 0xee, "nothing is written behind the digest");
    is_u64(hash.digest_size | hash.state[0], 0, "hash_final erases the state");
}

/* False when b2sum cannot be run. */
static bool b2sum_of(const char *path, unsigned digest_size, char *out)
{
    char command[256];
    FILE *pipe;
    bool read;

    snprintf(command, sizeof command, "b2sum -l %u %s 2>/dev/null", 8 * digest_size, path);
    pipe = popen(command, "r");
    read = pipe && fscanf(pipe, "%128[0-9a-f]", out) == 1;
    if (pipe)
        pclose(pipe);
    return read;
}

static void test_b2sum(void)
{
    static uint8_t data[70000];
    char path[] = "/tmp/test_hash.XXXXXX", ours[129], theirs[129];
    uint64_t seed = 20;
    unsigned wrong = 0, compared = 0;
    int file = mkstemp(path);

    if (file < 0 || !b2sum_of(path, 64, theirs)) {
        skip("BLAKE2b as b2sum", "b2sum or a temporary file is not to be had");
        return;
    }
    for (; compared < 60; compared++) {
        size_t size = random_below(&seed, compared % 2 ? 600 : sizeof data);
        unsigned digest_size = 16 + random_below(&seed, 49);

        fill_sequence(data, size, compared);
        if (ftruncate(file, 0) || pwrite(file, data, size, 0) != (ssize_t)size)
            break;
        digest_of(data, size, digest_size, 1000, ours);
        wrong += !b2sum_of(path, digest_size, theirs) || strcmp(ours, theirs);
    }
    close(file);
    unlink(path);
    ok(compared == 60 && !wrong, "BLAKE2b as b2sum: %u files, %u differ", compared, wrong);
}

/* RFC 3720, B.4, and the usual check value. */
static void test_crc32c(void)
{
    uint8_t zeros[32] = {0}, ones[32], up[32], down[32];

    memset(ones, 0xff, sizeof ones);
    for (unsigned i = 0; i < 32; i++) {
        up[i] = i;
        down[i] = 31 - i;
    }
    is_u64(crc32c(0, zeros, 32), 0x8a9136aa, "CRC-32C of 32 zeros");
    is_u64(crc32c(0, ones, 32), 0x62a8ab43, "CRC-32C of 32 times ff");
    is_u64(crc32c(0, up, 32), 0x46dd794e, "CRC-32C of 00…1f");
    is_u64(crc32c(0, down, 32), 0x113fdb5c, "CRC-32C of 1f…00");
    is_u64(crc32c(0, "123456789", 9), 0xe3069283, "CRC-32C of 123456789");
    is_u64(crc32c(crc32c(0, "1234", 4), "56789", 5), 0xe3069283, "CRC-32C goes on");
    is_u64(crc32c(0, NULL, 0), 0, "CRC-32C of nothing");
}

int main(void)
{
    test_abc();
    test_rfc_selftest();
    test_pieces();
    test_bounds();
    test_b2sum();
    test_crc32c();
    return done();
}
