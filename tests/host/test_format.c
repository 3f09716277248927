/* SPDX-License-Identifier: MIT */
/* format_text against libc's snprintf; err_text. */
#include <limits.h>
#include "kernel/err.h"
#include "kernel/printf.h"
#include "tests/host/random.h"
#include "tests/host/tap.h"

/* Same format, same arguments, for both; buffers of exactly `size_` bytes before a guard byte. */
#define COMPARE(size, ...)                                                                         \
    do {                                                                                           \
        size_t size_ = (size);                                                                     \
        char ours[256], libc[256];                                                                 \
        memset(ours, '#', sizeof ours);                                                            \
        memset(libc, '#', sizeof libc);                                                            \
        int ours_length = format_text(ours, size_, __VA_ARGS__);                                   \
        int libc_length = snprintf(libc, size_, __VA_ARGS__);                                      \
        compared++;                                                                                \
        if (ours_length != libc_length || memcmp(ours, libc, sizeof ours))                         \
            report(format, ours, ours_length, libc, libc_length);                                  \
    } while (0)

static unsigned compared, differing;

static void report(const char *format, const char *ours, int ours_length, const char *libc,
                   int libc_length)
{
    if (differing++ < 10)
        diag("\"%s\": got %d \"%.200s\", expected %d \"%.200s\"", format, ours_length, ours,
             libc_length, libc);
}

static void random_spec(char *out, const char *length, char conversion, uint64_t *seed)
{
    bool integer = strchr("duxX", conversion) != NULL;

    *out++ = '<';
    *out++ = '%';
    if (random_below(seed, 3) == 0)
        *out++ = '-';
    else if (integer && random_below(seed, 2))
        *out++ = '0';
    if (conversion == 'd' && random_below(seed, 3) == 0)
        *out++ = '+';
    if (random_below(seed, 2))
        out += sprintf(out, "%u", 1 + (unsigned)random_below(seed, 40));
    if ((integer || conversion == 's') && random_below(seed, 3) == 0)
        out += sprintf(out, ".%u", (unsigned)random_below(seed, 30));
    sprintf(out, "%s%c>", length, conversion);
}

static uint64_t random_value(uint64_t *seed)
{
    static const uint64_t edges[] = {0,        1,         9,          10,         INT_MAX,
                                     INT_MIN,  UINT_MAX,  LLONG_MAX,  LLONG_MIN,  ULLONG_MAX,
                                     SHRT_MAX, USHRT_MAX, 1ull << 32, 1ull << 16, 0xdeadbeef};

    if (random_below(seed, 2))
        return edges[random_below(seed, sizeof edges / sizeof edges[0])];
    return random_u64(seed) >> random_below(seed, 64);
}

static void compare_integer(uint64_t *seed)
{
    static const char *const lengths[] = {"", "h", "hh", "l", "ll", "z"};
    unsigned length = random_below(seed, 6);
    uint64_t value = random_value(seed);
    size_t size = random_below(seed, 4) ? 200 : random_below(seed, 30);
    char format[40];

    random_spec(format, lengths[length], "duxX"[random_below(seed, 4)], seed);
    if (length < 3)
        COMPARE(size, format, (int)value);
    else if (length == 4)
        COMPARE(size, format, (long long)value);
    else
        COMPARE(size, format, (long)value);
}

static void compare_text(uint64_t *seed)
{
    static const char text[] = "The quick brown fox jumps over";
    size_t size = random_below(seed, 4) ? 200 : random_below(seed, 40);
    const char *part = text + random_below(seed, sizeof text);
    uint64_t value = random_value(seed) | 1;
    char format[40];

    switch (random_below(seed, 4)) {
    case 0:
        random_spec(format, "", 'c', seed);
        COMPARE(size, format, (int)(value & 0xff));
        break;
    case 1:
        random_spec(format, "", 'p', seed);
        COMPARE(size, format, (void *)value);
        break;
    default:
        random_spec(format, "", 's', seed);
        COMPARE(size, format, part);
    }
}

static void test_random(void)
{
    uint64_t seed = 288;

    for (unsigned i = 0; i < 40000; i++) {
        compare_integer(&seed);
        compare_text(&seed);
    }
    ok(differing == 0 && compared == 80000, "%u random conversions as by snprintf", compared);
}

static void test_mixed(void)
{
    const char *volatile format; /* else the compiler knows better than to call snprintf so */

    compared = differing = 0;
    format = "%d%%|%s|%c|%lx|%-5u|%05d|%+d|%zu";
    for (size_t size = 0; size < 60; size++)
        COMPARE(size, format, -1, "text", 'c', 0xabcdefUL, 42u, -42, 7, (size_t)1 << 40);
    format = "%*d|%-*d|%*d|%.*s|%.*s|%.*s";
    COMPARE(200, format, 7, 1, 7, 2, -7, 3, 2, "abc", -1, "abc", 0, "abc");
    format = "%.0d|%.d|%5.3d|%05.3d|%-8.3x|%i";
    COMPARE(200, format, 0, 0, 7, 7, 255, -3);
    format = "%s";
    COMPARE(200, format, "");
    COMPARE(1, format, "abc");
    is_u64(differing, 0, "mixed formats at every buffer size (%u)", compared);
}

/* A string that ends where its precision does needs no 0. */
static void test_unterminated(void)
{
    static const char text[3] = {'a', 'b', 'c'};
    char out[16];

    is_u64(format_text(out, sizeof out, "%.3s", text), 3, "%%.3s reads three bytes only");
    is_string(out, "abc", "and prints them");
}

/* The compiler refuses these at once; the kernel must survive them all the same. */
static void test_own_rules(void)
{
    char out[32];
    const char *volatile format = "%s|%p";
    const char *volatile null = NULL;

    format_text(out, sizeof out, format, null, (void *)NULL);
    is_string(out, "(null)|0x0", "NULL as %%s and %%p");
    format = "a%qb";
    is_u64(format_text(out, sizeof out, format, 0), 4, "an unknown conversion…");
    is_string(out, "a%qb", "…stands as it is");
    format = "100%";
    format_text(out, sizeof out, format, 0);
    is_string(out, "100%", "a %% at the end, too");
    format = "%999999999999d";
    ok(format_text(NULL, 0, format, 1) > 0, "an absurd width comes back");
}

static void test_errors(void)
{
    is_string(err_text(ERR_BUSY), "ERR_BUSY: busy", "an error of the kernel's own");
    is_string(err_text(ERR_EFAULT), "EFAULT", "a system call's error");
    is_string(err_text(0), "no error", "0");
    is_string(err_text(-999), "error -999", "an unknown error");
    ok(err_text(-5555) != err_text(-6666), "two unknown errors have two texts");
    is_string(err_text(INT64_MIN), "error -9223372036854775808", "the longest one");
}

int main(void)
{
    test_random();
    test_mixed();
    test_unterminated();
    test_own_rules();
    test_errors();
    return done();
}
