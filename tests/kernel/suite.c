/* SPDX-License-Identifier: MIT */
/* The list of suites, their commands, TAP, and crowds of threads.
 *
 * Locks: the crowd's wait queue; the counters are atomic.
 */
#include "tests/kernel/marker_storm.h"
#include "tests/kernel/suite.h"

#include <stdarg.h>

#include "kernel/command.h"
#include "kernel/err.h"
#include "kernel/panic.h"
#include "kernel/printf.h"
#include "kernel/string.h"
#include "kernel/thread.h"
#include "kernel/waitqueue.h"

#define CROWD_LIMIT_NS 200000000000ull

void tests_register(void);

static const struct suite *const suites[] = {
#define S(name) &suite_##name,
    SUITE_TABLE(S)
#undef S
};
#define SUITES (sizeof suites / sizeof suites[0])

static const char *current_suite;
static uint32_t points, failed; /* atomic */

/* --- test points --- */

static void print_point(bool passed, const char *format, va_list arguments)
{
    char what[192];
    uint32_t number = __atomic_add_fetch(&points, 1, __ATOMIC_RELAXED);

    format_text_va(what, sizeof what, format, arguments);
    if (!passed)
        __atomic_add_fetch(&failed, 1, __ATOMIC_RELAXED);
    printk("%s %u - %s: %s\n", passed ? "ok" : "not ok", number, current_suite, what);
}

bool suite_ok(bool passed, const char *file, int line, const char *condition, const char *format,
              ...)
{
    va_list arguments;

    va_start(arguments, format);
    print_point(passed, format, arguments);
    va_end(arguments);
    if (!passed)
        printk("#   %s:%d: false: %s\n", file, line, condition);
    return passed;
}

bool suite_equal(uint64_t actual, uint64_t expected, const char *file, int line, const char *format,
                 ...)
{
    va_list arguments;

    va_start(arguments, format);
    print_point(actual == expected, format, arguments);
    va_end(arguments);
    if (actual != expected)
        printk("#   %s:%d: got %lu (0x%lx), expected %lu (0x%lx)\n", file, line, actual, actual,
               expected, expected);
    return actual == expected;
}

void suite_skip(const char *what, const char *reason)
{
    uint32_t number = __atomic_add_fetch(&points, 1, __ATOMIC_RELAXED);

    printk("ok %u - %s: %s # SKIP %s\n", number, current_suite, what, reason);
}

uint64_t suite_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1dull;
}

static bool never(void *argument)
{
    (void)argument;
    return false;
}

void suite_sleep_until(uint64_t deadline)
{
    struct wait_queue nobody;

    wait_queue_init(&nobody, "suite sleep");
    wait_queue_sleep_until_deadline(&nobody, never, NULL, "a time", deadline);
}

/* --- crowds --- */

struct crowd {
    struct wait_queue changed;
    crowd_function *function;
    void *argument;
    uint32_t next_index; /* atomic */
    uint32_t active;     /* changed.lock */
};

static void crowd_member(void *argument)
{
    struct crowd *crowd = argument;

    crowd->function(__atomic_fetch_add(&crowd->next_index, 1, __ATOMIC_RELAXED), crowd->argument);
    bool enabled = spin_lock_irq(&crowd->changed.lock);
    crowd->active--;
    list_for_each(link, &crowd->changed.sleepers)
        thread_wake(list_entry(link, struct thread, wait_link));
    spin_unlock_irq(&crowd->changed.lock, enabled);
}

static bool crowd_gone(void *argument)
{
    return ((const struct crowd *)argument)->active == 0;
}

void crowd_run(unsigned count, crowd_function *function, void *argument)
{
    struct crowd crowd = {.function = function, .argument = argument, .active = count};
    struct thread *threads[CROWD_MAX];

    kassert(count <= CROWD_MAX);
    wait_queue_init(&crowd.changed, "crowd");
    for (unsigned i = 0; i < count; i++) {
        threads[i] = thread_create_kernel("crowd", crowd_member, &crowd);
        if (!threads[i])
            panic("out of memory for thread %u of a crowd", i);
    }
    for (unsigned i = 0; i < count; i++)
        thread_start(threads[i]);
    int error = wait_queue_sleep_until_deadline(&crowd.changed, crowd_gone, &crowd, "a crowd",
                                                timer_now_ns() + CROWD_LIMIT_NS);
    if (error)
        command_run_line("threads");
    if (error)
        panic("%s: %u of %u threads have not ended after %llu s", current_suite, crowd.active,
              count, CROWD_LIMIT_NS / 1000000000);
}

/* --- commands --- */

static void run_suite(const struct suite *suite)
{
    uint64_t started = timer_now_ns();

    current_suite = suite->name;
    printk("# suite %s\n", suite->name);
    suite->run();
    printk("# suite %s: %llu ms\n", suite->name,
           (unsigned long long)(timer_now_ns() - started) / 1000000);
}

static int command_selftest(int count, char **words)
{
    unsigned run = 0;

    points = failed = 0;
    for (unsigned i = 0; i < SUITES; i++)
        if (count == 1 || (count == 2 && strcmp(words[1], suites[i]->name) == 0)) {
            run_suite(suites[i]);
            run++;
        }
    if (run == 0) {
        for (unsigned i = 0; i < SUITES; i++)
            printk("  %s\n", suites[i]->name);
        return ERR_USAGE;
    }
    printk("1..%u\n@selftest suites=%u points=%u failed=%u\n", points, run, points, failed);
    return failed ? ERR_FAILED : 0;
}

static struct command table[] = {
    {.name = "selftest",
     .arguments = "[SUITE]",
     .help = "run the suites inside the kernel",
     .function = command_selftest},
    {.name = "storm",
     .arguments = "N [busy]",
     .help = "switch markers N times while all CPUs run through them",
     .function = storm_command},
    {.name = "die", .arguments = "KIND", .help = die_kinds, .function = die_command},
};

void tests_register(void)
{
    for (unsigned i = 0; i < sizeof table / sizeof table[0]; i++)
        command_register(&table[i]);
}
