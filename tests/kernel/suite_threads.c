/* SPDX-License-Identifier: MIT */
/* Threads: many of them, on all CPUs, moving between them, and on the CPUs in use only.
 */
#include "arch/x86/cpu.h"
#include "kernel/thread.h"
#include "mm/frames.h"
#include "mm/heap.h"
#include "tests/kernel/suite.h"

#define BATCHES 4
#define MILLISECOND 1000000ull
#define LIMIT (20000 * MILLISECOND)

/* Frames and heap bytes in use once the dead threads of a crowd are gone. */
static void settle(uint64_t *frames, uint64_t *bytes)
{
    struct frames_stats stats;

    suite_sleep_until(timer_now_ns() + 20 * MILLISECOND);
    frames_get_stats(&stats);
    *frames = stats.total - stats.free;
    *bytes = heap_bytes_in_use();
}

static void count_up(unsigned index, void *argument)
{
    (void)index;
    __atomic_add_fetch((uint32_t *)argument, 1, __ATOMIC_RELAXED);
}

/* A dead thread can keep its stack a little longer, so that one more is made; a leak shows in every
 * batch. */
static void test_many(void)
{
    uint32_t count = 0;
    uint64_t frames[2], bytes[2];
    unsigned leaking = 0, growing = 0;

    crowd_run(CROWD_MAX, count_up, &count);
    for (unsigned batch = 0; batch < BATCHES; batch++) {
        settle(&frames[0], &bytes[0]);
        for (unsigned i = 0; i < 3; i++)
            crowd_run(CROWD_MAX, count_up, &count);
        settle(&frames[1], &bytes[1]);
        leaking += bytes[1] != bytes[0];
        growing += frames[1] > frames[0];
    }
    is_equal(count, (1 + 3 * BATCHES) * CROWD_MAX, "%u threads run", count);
    is_equal(leaking, 0, "and leave nothing in the heap");
    ok(growing < BATCHES, "nor frames: their stacks are used again (growth in %u of %u batches)",
       growing, BATCHES);
}

/* --- where they run --- */

struct places {
    uint64_t deadline;
    uint32_t on_cpu[MAX_CPUS]; /* atomic: visits */
    uint32_t moved;            /* atomic: times that a thread found itself on another */
    uint32_t outside;          /* atomic: visits of CPUs out of use */
};

static bool all_visited(const struct places *places)
{
    for (uint32_t i = 0; i < cpu_count; i++)
        if (!__atomic_load_n(&places->on_cpu[i], __ATOMIC_RELAXED))
            return false;
    return __atomic_load_n(&places->moved, __ATOMIC_RELAXED) > 0;
}

static void visit(struct places *places)
{
    __atomic_add_fetch(&places->on_cpu[this_cpu()->index], 1, __ATOMIC_RELAXED);
}

/* Works and sleeps for random times, so now and then a CPU runs dry and takes from another. */
static void wander(unsigned index, void *argument)
{
    struct places *places = argument;
    uint64_t seed = index + 1;
    uint32_t first = this_cpu()->index;

    while (!all_visited(places) && timer_now_ns() < places->deadline) {
        uint64_t until = timer_now_ns() + suite_random(&seed) % (2 * MILLISECOND);
        while (timer_now_ns() < until) {
            visit(places);
            thread_yield();
        }
        if (this_cpu()->index != first)
            __atomic_add_fetch(&places->moved, 1, __ATOMIC_RELAXED);
        suite_sleep_until(timer_now_ns() + suite_random(&seed) % (2 * MILLISECOND));
    }
}

static void test_migration(void)
{
    struct places places = {.deadline = timer_now_ns() + LIMIT};
    unsigned idle = 0;

    if (cpu_count == 1) {
        suite_skip("threads move between CPUs", "there is one CPU");
        return;
    }
    crowd_run(4 * cpu_count, wander, &places);
    for (uint32_t i = 0; i < cpu_count; i++)
        idle += places.on_cpu[i] == 0;
    is_equal(idle, 0, "threads run on all %u CPUs", cpu_count);
    ok(places.moved > 0, "and move between them");
}

static void stay_inside(unsigned index, void *argument)
{
    struct places *places = argument;

    for (unsigned i = 0; i < 60; i++) {
        if (index % 2)
            suite_sleep_until(timer_now_ns() + 100000);
        else
            thread_yield();
        /* The first steps may still be on a CPU that has just been taken out of use. */
        if (i >= 4 && this_cpu()->index >= sched_usable_cpus())
            __atomic_add_fetch(&places->outside, 1, __ATOMIC_RELAXED);
        visit(places);
    }
}

static void test_usable_cpus(void)
{
    for (uint32_t usable = 1; usable <= cpu_count; usable++) {
        struct places places = {.outside = 0};
        sched_use_cpus(usable);
        suite_sleep_until(timer_now_ns() + 5 * MILLISECOND);
        crowd_run(3 * cpu_count, stay_inside, &places);
        is_equal(sched_usable_cpus(), usable, "%u of %u CPUs are in use", usable, cpu_count);
        is_equal(places.outside, 0, "threads stay on %u of %u CPUs", usable, cpu_count);
    }
    sched_use_cpus(cpu_count);
}

/* --- a thread that never started --- */

static void nothing(void *argument)
{
    (void)argument;
}

static void test_discard(void)
{
    uint64_t frames[2], bytes[2];

    thread_discard(thread_create_kernel("first", nothing, NULL));
    settle(&frames[0], &bytes[0]);
    for (unsigned i = 0; i < 200; i++)
        thread_discard(thread_create_kernel("discarded", nothing, NULL));
    settle(&frames[1], &bytes[1]);
    ok(frames[0] == frames[1] && bytes[0] == bytes[1], "threads that never started leave nothing");
}

static void run(void)
{
    test_many();
    test_discard();
    test_migration();
    test_usable_cpus();
}

const struct suite suite_threads = {"threads", run};
