/* SPDX-License-Identifier: MIT */
/* TAP (Test Anything Protocol) for host tests: one line a test point on stdout, then the plan.
 *
 * A test's main() calls these in order and ends in `return done();`. Its exit status is 0 only if
 * no point failed; a run without the plan line has crashed. Single-threaded.
 */
#ifndef TESTS_HOST_TAP_H
#define TESTS_HOST_TAP_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static unsigned tap_count, tap_failed;

__attribute__((format(printf, 2, 0))) static inline void tap_point(bool passed, const char *format,
                                                                   va_list arguments)
{
    tap_count++;
    tap_failed += !passed;
    printf("%s %u - ", passed ? "ok" : "not ok", tap_count);
    vprintf(format, arguments);
    putchar('\n');
    fflush(stdout); /* it must be seen even if the next point crashes */
}

__attribute__((format(printf, 5, 6))) static inline bool
tap_ok(bool passed, const char *file, int line, const char *condition, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    tap_point(passed, format, arguments);
    va_end(arguments);
    if (!passed)
        printf("#   %s:%d: false: %s\n", file, line, condition);
    return passed;
}

__attribute__((format(printf, 5, 6))) static inline bool
tap_is_u64(uint64_t actual, uint64_t expected, const char *file, int line, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    tap_point(actual == expected, format, arguments);
    va_end(arguments);
    if (actual != expected)
        printf("#   %s:%d: got %" PRIu64 " (0x%" PRIx64 "), expected %" PRIu64 " (0x%" PRIx64 ")\n",
               file, line, actual, actual, expected, expected);
    return actual == expected;
}

__attribute__((format(printf, 5, 6))) static inline bool tap_is_string(const char *actual,
                                                                       const char *expected,
                                                                       const char *file, int line,
                                                                       const char *format, ...)
{
    bool same = actual && expected ? !strcmp(actual, expected) : actual == expected;
    va_list arguments;

    va_start(arguments, format);
    tap_point(same, format, arguments);
    va_end(arguments);
    if (!same)
        printf("#   %s:%d: got \"%s\", expected \"%s\"\n", file, line, actual ? actual : "(null)",
               expected ? expected : "(null)");
    return same;
}

/* ok(condition, "what is tested", …); all three return whether the point passed. */
#define ok(condition, ...)                                                                         \
    tap_ok((condition) ? true : false, __FILE__, __LINE__, #condition, __VA_ARGS__)
#define is_u64(actual, expected, ...) tap_is_u64(actual, expected, __FILE__, __LINE__, __VA_ARGS__)
#define is_string(actual, expected, ...)                                                           \
    tap_is_string(actual, expected, __FILE__, __LINE__, __VA_ARGS__)

/* Instead of a point that cannot be tested here. */
static inline void skip(const char *what, const char *reason)
{
    printf("ok %u - %s # SKIP %s\n", ++tap_count, what, reason);
}

/* A remark that is no test point. */
__attribute__((format(printf, 1, 2))) static inline void diag(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    printf("# ");
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
}

/* The plan; main's exit status. */
static inline int done(void)
{
    printf("1..%u\n", tap_count);
    if (tap_failed)
        printf("# %u of %u failed\n", tap_failed, tap_count);
    return tap_failed ? 1 : 0;
}

#endif
