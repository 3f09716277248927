/* SPDX-License-Identifier: MIT */
/* The kernel's string functions, compiled freestanding as kernel_*, against libc's; and numbers.
 *
 * Operands end where their block ends, so that the sanitizer sees what C code reads too far; what
 * the string instructions write too far is seen by comparing the whole arena.
 */
#include <stdlib.h>
#include "kernel/string.h"
#include "tests/host/random.h"
#include "tests/host/tap.h"

void *kernel_memcpy(void *restrict to, const void *restrict from, size_t length);
void *kernel_memmove(void *to, const void *from, size_t length);
void *kernel_memset(void *to, int byte, size_t length);
int kernel_memcmp(const void *left, const void *right, size_t length);
void *kernel_memchr(const void *from, int byte, size_t length);
size_t kernel_strlen(const char *text);
size_t kernel_strnlen(const char *text, size_t limit);
int kernel_strcmp(const char *left, const char *right);
int kernel_strncmp(const char *left, const char *right, size_t limit);
char *kernel_strchr(const char *text, int byte);
char *kernel_strstr(const char *text, const char *part);
bool kernel_string_to_u64(const char *text, unsigned long long *value);

#define ARENA 200
#define ROUNDS 20000

static void fill(uint8_t *arena, uint64_t *seed)
{
    for (unsigned i = 0; i < ARENA; i++)
        arena[i] = random_u64(seed);
}

static void test_copies(void)
{
    uint8_t start[ARENA], ours[ARENA], libc[ARENA];
    unsigned wrong[3] = {0};
    uint64_t seed = 1;

    for (unsigned i = 0; i < ROUNDS; i++) {
        size_t to = random_below(&seed, ARENA), from = random_below(&seed, ARENA);
        size_t length = random_below(&seed, ARENA + 1 - (to > from ? to : from));
        bool apart = to + length <= from || from + length <= to;
        void *result;

        fill(start, &seed);
        memcpy(ours, start, ARENA);
        memcpy(libc, start, ARENA);
        result = kernel_memmove(ours + to, ours + from, length);
        memmove(libc + to, libc + from, length);
        wrong[0] += memcmp(ours, libc, ARENA) || result != ours + to;

        memcpy(ours, start, ARENA);
        if (apart) {
            result = kernel_memcpy(ours + to, ours + from, length);
            wrong[1] += memcmp(ours, libc, ARENA) || result != ours + to;
        }
        memcpy(libc, start, ARENA);
        memcpy(ours, start, ARENA);
        result = kernel_memset(ours + to, (int)from - 100, length);
        memset(libc + to, (int)from - 100, length);
        wrong[2] += memcmp(ours, libc, ARENA) || result != ours + to;
    }
    is_u64(wrong[0], 0, "memmove, overlapping both ways");
    is_u64(wrong[1], 0, "memcpy");
    is_u64(wrong[2], 0, "memset");
}

static int sign(int value)
{
    return (value > 0) - (value < 0);
}

/* A random string over a small alphabet (high bytes too) in a block of its own. */
static char *random_string(size_t length, uint64_t *seed)
{
    char *text = malloc(length + 1);

    for (size_t i = 0; i < length; i++)
        text[i] = "ab\xe9"[random_below(seed, 3)];
    text[length] = '\0';
    return text;
}

static unsigned compare_pair(const char *a, const char *b, uint64_t *seed)
{
    size_t a_length = strlen(a), b_length = strlen(b);
    size_t shorter = a_length < b_length ? a_length : b_length, limit = random_below(seed, 40);
    int byte = "ab\xe9z"[random_below(seed, 5)];
    unsigned wrong = 0;

    wrong += sign(kernel_memcmp(a, b, shorter)) != sign(memcmp(a, b, shorter));
    wrong += sign(kernel_strcmp(a, b)) != sign(strcmp(a, b));
    wrong += sign(kernel_strncmp(a, b, limit)) != sign(strncmp(a, b, limit));
    wrong += kernel_memchr(a, byte, a_length) != memchr(a, byte, a_length);
    wrong += kernel_strchr(a, byte) != strchr(a, byte);
    wrong += kernel_strstr(a, b) != strstr(a, b);
    wrong += kernel_strlen(a) != a_length;
    wrong += kernel_strnlen(a, limit) != strnlen(a, limit);
    return wrong;
}

static void test_searches(void)
{
    unsigned wrong = 0;
    uint64_t seed = 2;

    for (unsigned i = 0; i < ROUNDS; i++) {
        size_t length = random_below(&seed, 40);
        char *a = random_string(length, &seed);
        char *b = random_string(random_below(&seed, i % 2 ? 4 : 40), &seed);

        if (i % 3 == 0) { /* a long common start */
            free(b);
            b = strdup(a);
            if (length)
                b[random_below(&seed, length)] ^= 1;
        }
        wrong += compare_pair(a, b, &seed);
        free(a);
        free(b);
    }
    is_u64(wrong, 0, "comparisons, searches and lengths (%u pairs)", ROUNDS);
    is_u64(kernel_strnlen("\0", 0), 0, "strnlen of 0 bytes");
}

static void test_string_copy(void)
{
    char out[8] = "#######";

    ok(string_copy(out, "abc", 4), "string_copy that fits exactly");
    ok(!memcmp(out, "abc\0###", 7), "writes no byte more");
    ok(!string_copy(out, "abcdef", 4) && !strcmp(out, "abc"), "too long: cut, and false");
    ok(!string_copy(out, "x", 0) && !strcmp(out, "abc"), "no room at all: nothing is written");
    ok(string_copy(out, "", 1) && !out[0], "the empty string");
}

static void test_numbers(void)
{
    static const struct {
        const char *text;
        bool valid;
        unsigned long long value;
    } cases[] = {
        {"0", true, 0},
        {"42", true, 42},
        {"007", true, 7},
        {"18446744073709551615", true, -1ull},
        {"18446744073709551616", false, 0},
        {"99999999999999999999999", false, 0},
        {"0x0", true, 0},
        {"0xdeadBEEF", true, 0xdeadbeef},
        {"0XfF", true, 255},
        {"0xffffffffffffffff", true, -1ull},
        {"0x10000000000000000", false, 0},
        {"1K", true, 1024},
        {"3M", true, 3 << 20},
        {"0x10G", true, 16ull << 30},
        {"17179869183G", true, 17179869183ull << 30},
        {"17179869184G", false, 0},
        {"", false, 0},
        {"0x", false, 0},
        {"K", false, 0},
        {"-1", false, 0},
        {"+1", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"1KK", false, 0},
        {"1k", false, 0},
        {"1f", false, 0},
        {"0xg", false, 0},
    };

    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned long long value = 12345, again = 12345;
        bool valid = string_to_u64(cases[i].text, &value);
        bool same = valid == kernel_string_to_u64(cases[i].text, &again) && value == again;

        ok(same && valid == cases[i].valid && value == (valid ? cases[i].value : 12345),
           "number \"%s\"", cases[i].text);
    }
}

int main(void)
{
    test_copies();
    test_searches();
    test_string_copy();
    test_numbers();
    return done();
}
