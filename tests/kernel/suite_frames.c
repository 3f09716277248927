/* SPDX-License-Identifier: MIT */
/* The frame allocator: every order, exhaustion and recovery, no two blocks in one place.
 */
#include "arch/x86/cpu.h"
#include "arch/x86/layout.h"
#include "kernel/err.h"
#include "kernel/printf.h"
#include "kernel/process.h"
#include "kernel/thread.h"
#include "mm/frames.h"
#include "mm/heap.h"
#include "tests/kernel/suite.h"

/* At both ends of an allocated block: what links it, and what tells it apart. */
struct block {
    struct block *next;
    uint64_t self;
    unsigned order;
};

static uint64_t *last_word(struct block *block)
{
    return (uint64_t *)((char *)block + (PAGE_SIZE << block->order)) - 1;
}

static struct block *take_block(unsigned order)
{
    uint64_t frame = frames_alloc(order);

    if (!frame)
        return NULL;
    struct block *block = PHYS_TO_VIRT(frame);
    *block = (struct block){NULL, frame, order};
    *last_word(block) = ~frame;
    return block;
}

static bool block_is_whole(struct block *block)
{
    return VIRT_TO_PHYS(block) == block->self && *last_word(block) == ~block->self;
}

static uint64_t free_now(void)
{
    struct frames_stats stats;

    frames_get_stats(&stats);
    return stats.free;
}

static void test_orders(void)
{
    for (unsigned order = 0; order <= FRAME_MAX_ORDER; order++) {
        uint64_t before = free_now();
        uint64_t frame = frames_alloc(order);
        ok(frame && frame % (PAGE_SIZE << order) == 0, "a block of order %u is aligned", order);
        is_equal(before - free_now(), 1u << order, "order %u: frames in use", order);
        frames_free(frame, order);
        is_equal(free_now(), before, "order %u: given back", order);
    }
}

static void test_zeroed(void)
{
    unsigned dirty = 0;

    for (unsigned i = 0; i < 64; i++) {
        uint64_t frame = frame_alloc();
        uint64_t *words = PHYS_TO_VIRT(frame);
        for (unsigned word = 0; word < PAGE_SIZE / 8; word++)
            words[word] = ~0ull;
        frame_free(frame);
        frame = frame_alloc_zero();
        words = PHYS_TO_VIRT(frame);
        for (unsigned word = 0; word < PAGE_SIZE / 8; word++)
            dirty += words[word] != 0;
        frame_free(frame);
    }
    is_equal(dirty, 0, "frame_alloc_zero gives zeroes where others have written");
}

/* --- exhaustion --- */

/* Everything there is, in blocks of that order. */
static struct block *take_all(unsigned order, uint64_t *count)
{
    struct block *all = NULL, *block;

    for (*count = 0; (block = take_block(order)) != NULL; ++*count) {
        block->next = all;
        all = block;
    }
    return all;
}

static unsigned free_all(struct block *all)
{
    unsigned broken = 0;

    for (struct block *block = all; block; block = block->next)
        broken += !block_is_whole(block);
    while (all) {
        struct block *next = all->next;
        frames_free(all->self, all->order);
        all = next;
    }
    return broken;
}

static void nothing(void *argument)
{
    (void)argument;
}

static bool all_refuse(void)
{
    char name[] = "counter", *words[] = {name};
    int error = 0;

    for (unsigned order = 0; order <= FRAME_MAX_ORDER; order++)
        if (frames_alloc(order))
            return false;
    bool refused = !frame_alloc() && !frame_alloc_zero() && !kmalloc(1 << 20);
    bool no_process = !process_create(1, words, &error) && error == ERR_NO_MEMORY;
    return refused && no_process;
}

/* Memory for the thread itself may be there; for its stack it is not, unless one is kept. */
static void test_thread_without_memory(void)
{
    struct thread *thread = thread_create_kernel("no memory", nothing, NULL);

    if (thread)
        thread_discard(thread);
}

static void test_exhaustion(unsigned order)
{
    struct frames_stats before, during, after;
    uint64_t count;
    bool refused = true;

    frames_get_stats(&before);
    struct block *all = take_all(order, &count);
    frames_get_stats(&during);
    if (order == 0) {
        refused = all_refuse();
        test_thread_without_memory();
    }
    unsigned broken = free_all(all);
    frames_get_stats(&after);
    ok(count > 0 && during.largest_free < 1u << order, "order %u: %llu blocks, then none", order,
       (unsigned long long)count);
    is_equal(during.free, before.free - (count << order), "order %u: what is left", order);
    ok(order != 0 || during.free == 0, "order %u: single frames are used up wholly", order);
    ok(refused, "order %u: whoever asks is refused", order);
    is_equal(broken, 0, "order %u: no two blocks overlap", order);
    is_equal(after.free, before.free, "order %u: all comes back", order);
    is_equal(after.largest_free, before.largest_free, "order %u: and grows together again", order);
}

/* --- all CPUs at once --- */

#define HELD 24
#define ROUNDS 800
#define BATCHES 4

static void use_frames(unsigned index, void *argument)
{
    uint64_t seed = index + 1;
    struct block *held[HELD] = {NULL};
    uint32_t *broken = argument;

    for (unsigned round = 0; round < ROUNDS; round++) {
        struct block **place = &held[suite_random(&seed) % HELD];
        if (*place) {
            if (!block_is_whole(*place))
                __atomic_add_fetch(broken, 1, __ATOMIC_RELAXED);
            frames_free((*place)->self, (*place)->order);
            *place = NULL;
        } else {
            *place = take_block((unsigned)(suite_random(&seed) % 5));
        }
        if (round % 64 == 0)
            thread_yield();
    }
    for (unsigned i = 0; i < HELD; i++)
        if (held[i])
            frames_free(held[i]->self, held[i]->order);
}

/* The crowds' stacks are kept, and there can be one more each time; a leak shows every time. */
static void test_concurrent(void)
{
    uint32_t broken = 0;
    unsigned growing = 0;

    for (unsigned batch = 0; batch < BATCHES; batch++) {
        uint64_t before = free_now();
        crowd_run(2 * cpu_count, use_frames, &broken);
        growing += free_now() < before;
    }
    is_equal(broken, 0, "%u threads at once never get the same frame", 2 * cpu_count);
    ok(growing < BATCHES, "and give all of them back (fewer in %u of %u batches)", growing,
       BATCHES);
}

static void run(void)
{
    test_orders();
    test_zeroed();
    test_exhaustion(0);
    test_exhaustion(3);
    test_exhaustion(FRAME_MAX_ORDER);
    test_concurrent();
}

const struct suite suite_frames = {"frames", run};
