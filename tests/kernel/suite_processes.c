/* SPDX-License-Identifier: MIT */
/* Programs leave nothing behind, however they end; and what cannot be loaded is refused.
 */
#include "arch/x86/cpu.h"
#include "kernel/err.h"
#include "kernel/printf.h"
#include "kernel/process.h"
#include "kernel/programs.h"
#include "kernel/string.h"
#include "mm/frames.h"
#include "mm/heap.h"
#include "tests/kernel/suite.h"

#define RUNS 10
#define BATCHES 3

static char *counter[] = {"counter", "4", "50", NULL};
static char *mapper[] = {"mapper", "3", "2", NULL};
static char *wild[] = {"faults", "pf_write", "thread", NULL};
static char *futexes[] = {"mutex", "4", "20", NULL};

static int count_words(char **words)
{
    int count = 0;

    while (words[count])
        count++;
    return count;
}

/* Returns whether the process ended as expected. */
static bool run_once(char **words, bool killed)
{
    int error;
    struct process *process = process_create(count_words(words), words, &error);

    if (!process)
        return false;
    process->quiet = true;
    process_start(process);
    process_wait(process);
    bool expected = process->end.noted && process->end.killed == killed &&
                    (killed || process->end.exit_status == 0);
    process_destroy(process);
    return expected;
}

struct usage {
    uint64_t frames, bytes;
};

static struct usage usage_now(void)
{
    struct frames_stats stats;

    frames_get_stats(&stats);
    return (struct usage){stats.total - stats.free, heap_bytes_in_use()};
}

/* A heap slab more or less can be in use by chance, and so can a stack; a leak shows in every
 * batch. */
static void test_leaks(char **words, bool killed)
{
    unsigned wrong = 0, leaking = 0, growing = 0;

    for (unsigned batch = 0; batch <= BATCHES; batch++) {
        struct usage before = usage_now();
        for (unsigned i = 0; i < RUNS; i++)
            wrong += !run_once(words, killed);
        struct usage after = usage_now();
        leaking += batch > 0 && after.bytes > before.bytes;
        growing += batch > 0 && after.frames > before.frames;
    }
    is_equal(wrong, 0, "%s ends as it must, %u times", words[0], RUNS * (BATCHES + 1));
    is_equal(leaking, 0, "%s: nothing is left in the heap", words[0]);
    ok(growing < BATCHES, "%s: no frames are left (growth in %u of %u batches)", words[0], growing,
       BATCHES);
}

static void refuse(int expected, int count, char **words, const char *what)
{
    struct usage before = usage_now();
    int error = 0;
    struct process *process = process_create(count, words, &error);

    ok(!process && error == expected, "%s: refused (%s)", what, err_text(error));
    is_equal(usage_now().bytes, before.bytes, "%s: nothing is left in the heap", what);
}

static void test_refusals(void)
{
    char *nobody[] = {"no-such-program"}, *many[PROCESS_MAX_ARGS + 1];
    static char longest[400];
    char *too_long[] = {"counter", longest};

    for (unsigned i = 0; i <= PROCESS_MAX_ARGS; i++)
        many[i] = "counter";
    memset(longest, 'x', sizeof longest - 1);
    refuse(ERR_NOT_FOUND, 1, nobody, "a program that there is not");
    refuse(ERR_USAGE, PROCESS_MAX_ARGS + 1, many, "too many arguments");
    refuse(ERR_USAGE, 2, too_long, "arguments that are too long");
}

/* Several programs at the same time, each with its own memory. */
static void run_beside_others(unsigned index, void *argument)
{
    static char **const programs[] = {counter, mapper, wild, futexes};
    uint32_t *wrong = argument;

    for (unsigned i = 0; i < 3; i++)
        if (!run_once(programs[(index + i) % 4], (index + i) % 4 == 2))
            __atomic_add_fetch(wrong, 1, __ATOMIC_RELAXED);
}

static void test_side_by_side(void)
{
    uint32_t wrong = 0;

    crowd_run(4, run_beside_others, &wrong);
    is_equal(wrong, 0, "four programs at a time do not disturb each other");
}

static void run(void)
{
    test_refusals();
    test_leaks(counter, false);
    test_leaks(mapper, false);
    test_leaks(futexes, false);
    test_leaks(wild, true);
    test_side_by_side();
}

const struct suite suite_processes = {"processes", run};
