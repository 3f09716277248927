/* SPDX-License-Identifier: MIT */
/* Checks of the test programs: a line for each failure, one line at the end. */
#include "user/lib/check.h"

#include <stdint.h>

#include "user/lib/atomic.h"
#include "user/lib/print.h"

static const char *check_program;
static uint32_t check_count;
static uint32_t check_failures;

void check_begin(const char *program)
{
    check_program = program;
}

static bool check_passed(bool passed)
{
    atomic_add(&check_count, 1);
    if (!passed)
        atomic_add(&check_failures, 1);
    return passed;
}

void check_equal(const char *what, long got, long expected)
{
    if (!check_passed(got == expected))
        printf("%s: %s: got %ld (0x%lx), expected %ld (0x%lx)\n", check_program, what, got,
               (unsigned long)got, expected, (unsigned long)expected);
}

void check_either(const char *what, long got, long first, long second)
{
    if (!check_passed(got == first || got == second))
        printf("%s: %s: got %ld (0x%lx), expected %ld or %ld\n", check_program, what, got,
               (unsigned long)got, first, second);
}

void check_true(const char *what, bool holds)
{
    if (!check_passed(holds))
        printf("%s: %s: not so\n", check_program, what);
}

int check_end(void)
{
    uint32_t count = atomic_load(&check_count);
    uint32_t failures = atomic_load(&check_failures);

    if (failures > 0 || count == 0) {
        printf("%s: %u of %u checks failed\n", check_program, failures, count);
        return 1;
    }
    printf("%s: ok\n", check_program);
    return 0;
}
