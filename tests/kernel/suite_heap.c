/* SPDX-License-Identifier: MIT */
/* The kernel heap: random patterns with checked contents, all sizes, all CPUs, exhaustion.
 */
#include "arch/x86/cpu.h"
#include "arch/x86/layout.h"
#include "kernel/string.h"
#include "kernel/thread.h"
#include "mm/frames.h"
#include "mm/heap.h"
#include "tests/kernel/suite.h"

#define LARGEST ((4u << 20) - 64) /* a large block has a header */
#define SLOTS 256
#define ROUNDS 6000

struct object {
    uint8_t *bytes;
    size_t size;
    uint8_t seed;
};

/* Small ones are most frequent, as in life. */
static size_t random_size(uint64_t *seed)
{
    uint64_t limit = suite_random(seed) % 100;

    limit = limit < 70 ? 256 : limit < 95 ? 4096 : 65536;
    return 1 + suite_random(seed) % limit;
}

static void fill(struct object *object)
{
    for (size_t i = 0; i < object->size; i++)
        object->bytes[i] = (uint8_t)(object->seed + i * 7);
}

static bool is_filled(const struct object *object)
{
    for (size_t i = 0; i < object->size; i++)
        if (object->bytes[i] != (uint8_t)(object->seed + i * 7))
            return false;
    return true;
}

static bool allocate(struct object *object, size_t size, uint8_t seed)
{
    *object = (struct object){kmalloc(size), size, seed};
    if (!object->bytes)
        return false;
    fill(object);
    return (uint64_t)object->bytes % 16 == 0;
}

static bool release(struct object *object)
{
    bool whole = is_filled(object);

    kfree(object->bytes);
    object->bytes = NULL;
    return whole;
}

/* --- one thread --- */

static void test_pattern(void)
{
    static struct object objects[SLOTS];
    uint64_t seed = 77, before = heap_bytes_in_use();
    unsigned refused = 0, broken = 0;

    for (unsigned round = 0; round < ROUNDS; round++) {
        struct object *object = &objects[suite_random(&seed) % SLOTS];
        if (object->bytes)
            broken += !release(object);
        else
            refused += !allocate(object, random_size(&seed), (uint8_t)suite_random(&seed));
    }
    for (unsigned i = 0; i < SLOTS; i++)
        if (objects[i].bytes)
            broken += !release(&objects[i]);
    is_equal(refused, 0, "%u random steps: all objects are given, and aligned to 16", ROUNDS);
    is_equal(broken, 0, "each still holds what was written to it");
    is_equal(heap_bytes_in_use(), before, "and nothing is in use in the end");
}

static void test_sizes(void)
{
    uint64_t before = heap_bytes_in_use();
    unsigned wrong = 0;

    for (size_t size = 1; size <= LARGEST; size = size < 4200 ? size + 1 : size * 3 / 2) {
        struct object object;
        wrong += !allocate(&object, size, (uint8_t)size);
        wrong += heap_bytes_in_use() < before + size;
        wrong += object.bytes && !release(&object);
    }
    struct object largest;
    wrong += !allocate(&largest, LARGEST, 3) || !release(&largest);
    is_equal(wrong, 0, "every size up to 4200 bytes, and ever larger ones to 4 MiB");
    ok(!kmalloc(0) && !kmalloc((4u << 20) + 1) && !kmalloc(SIZE_MAX) && !kzalloc(0),
       "no object of no bytes, nor of more than 4 MiB");
    kfree(NULL);
    is_equal(heap_bytes_in_use(), before, "nothing is in use in the end");
}

static void test_zeroed(void)
{
    unsigned dirty = 0;

    for (size_t size = 8; size < 100000; size *= 3) {
        uint8_t *bytes = kmalloc(size);
        memset(bytes, 0xff, size);
        kfree(bytes);
        bytes = kzalloc(size);
        for (size_t i = 0; i < size; i++)
            dirty += bytes[i] != 0;
        kfree(bytes);
    }
    is_equal(dirty, 0, "kzalloc gives zeroes where others have written");
}

static void test_exhaustion(void)
{
    struct frames_stats before, after;
    void **chain = NULL;
    unsigned count = 0;

    frames_get_stats(&before);
    for (size_t size = 2 << 20; size >= 16; size /= 4)
        for (void **object; (object = kmalloc(size)) != NULL; count++) {
            *object = chain;
            chain = object;
        }
    bool refused = !kmalloc(32) && !kmalloc(2048) && !kmalloc(100000);
    while (chain) {
        void **next = *chain;
        kfree(chain);
        chain = next;
    }
    frames_get_stats(&after);
    ok(count > 0 && refused, "after %u objects there are no more", count);
    ok(after.free + 8 * 4 >= before.free,
       "but for a spare slab of each class all memory comes back (%llu frames of %llu)",
       (unsigned long long)after.free, (unsigned long long)before.free);
    struct object object;
    ok(allocate(&object, 1 << 20, 1) && release(&object), "and can be had again");
}

/* --- many threads: each frees what another has allocated --- */

struct exchange {
    struct object *shelf[64]; /* atomic */
    uint32_t broken;          /* atomic */
};

static void exchange_objects(unsigned index, void *argument)
{
    struct exchange *exchange = argument;
    uint64_t seed = index * 7919 + 1;

    for (unsigned round = 0; round < 1000; round++) {
        struct object *object = kmalloc(sizeof *object);
        bool good = object && allocate(object, random_size(&seed), (uint8_t)round);
        object = __atomic_exchange_n(&exchange->shelf[suite_random(&seed) % 64], object,
                                     __ATOMIC_ACQ_REL);
        if (object)
            good = release(object) && good;
        kfree(object);
        if (!good)
            __atomic_add_fetch(&exchange->broken, 1, __ATOMIC_RELAXED);
        if (round % 32 == 0)
            thread_yield();
    }
}

static void test_exchange(void)
{
    static struct exchange exchange;
    uint64_t before = heap_bytes_in_use();

    crowd_run(2 * cpu_count, exchange_objects, &exchange);
    for (unsigned i = 0; i < 64; i++) {
        struct object *object = exchange.shelf[i];
        exchange.shelf[i] = NULL;
        if (object)
            exchange.broken += !release(object);
        kfree(object);
    }
    is_equal(exchange.broken, 0, "%u threads free each other's objects", 2 * cpu_count);
    suite_sleep_until(timer_now_ns() + 20000000);
    is_equal(heap_bytes_in_use(), before, "nothing is in use in the end");
}

static void run(void)
{
    test_pattern();
    test_sizes();
    test_zeroed();
    test_exhaustion();
    test_exchange();
}

const struct suite suite_heap = {"heap", run};
