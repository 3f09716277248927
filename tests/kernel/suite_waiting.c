/* SPDX-License-Identifier: MIT */
/* Wait queues and sleep: no wake-up is lost, none comes too early, deadlines and interruptions.
 */
#include "arch/x86/cpu.h"
#include "kernel/err.h"
#include "kernel/thread.h"
#include "kernel/waitqueue.h"
#include "tests/kernel/suite.h"

#define MILLISECOND 1000000ull

/* --- a token that goes round: a lost wake-up would stop it for ever --- */

#define RING_ROUNDS 300

struct ring {
    struct wait_queue queue;
    uint32_t turn; /* atomic */
    uint32_t size;
};

struct ring_wait {
    const struct ring *ring;
    uint32_t turn;
};

static bool is_turn(void *argument)
{
    const struct ring_wait *wait = argument;

    return __atomic_load_n(&wait->ring->turn, __ATOMIC_ACQUIRE) == wait->turn;
}

static void pass_token(unsigned index, void *argument)
{
    struct ring *ring = argument;

    for (uint32_t turn = index; turn < RING_ROUNDS * ring->size; turn += ring->size) {
        wait_queue_sleep_until(&ring->queue, is_turn, &(struct ring_wait){ring, turn}, "its turn");
        __atomic_store_n(&ring->turn, turn + 1, __ATOMIC_RELEASE);
        wait_queue_wake_all(&ring->queue);
    }
}

static void test_ring(unsigned size)
{
    struct ring ring = {.size = size};

    wait_queue_init(&ring.queue, "ring");
    crowd_run(size, pass_token, &ring);
    is_equal(ring.turn, size * RING_ROUNDS, "a token goes %u times round %u threads", RING_ROUNDS,
             size);
    ok(list_empty(&ring.queue.sleepers), "nobody is left in the queue");
}

/* --- a bounded buffer with two queues --- */

#define ITEMS 400
#define ROOM 4

struct buffer {
    struct wait_queue not_full, not_empty;
    struct mutex mutex;
    uint64_t items[ROOM];
    uint32_t put, taken; /* mutex to write, atomic */
    uint64_t sum;        /* mutex */
};

static bool has_room(void *argument)
{
    const struct buffer *buffer = argument;

    return __atomic_load_n(&buffer->put, __ATOMIC_ACQUIRE) -
               __atomic_load_n(&buffer->taken, __ATOMIC_ACQUIRE) <
           ROOM;
}

static bool has_items(void *argument)
{
    const struct buffer *buffer = argument;

    return __atomic_load_n(&buffer->put, __ATOMIC_ACQUIRE) !=
           __atomic_load_n(&buffer->taken, __ATOMIC_ACQUIRE);
}

/* Returns with the mutex held and the condition true. */
static void lock_when(struct buffer *buffer, struct wait_queue *queue, wait_condition *condition)
{
    for (;;) {
        wait_queue_sleep_until(queue, condition, buffer, "the buffer");
        mutex_lock(&buffer->mutex);
        if (condition(buffer))
            return;
        mutex_unlock(&buffer->mutex);
    }
}

static void produce(struct buffer *buffer, uint64_t item)
{
    lock_when(buffer, &buffer->not_full, has_room);
    buffer->items[buffer->put % ROOM] = item;
    __atomic_store_n(&buffer->put, buffer->put + 1, __ATOMIC_RELEASE);
    mutex_unlock(&buffer->mutex);
    wait_queue_wake_all(&buffer->not_empty);
}

static void consume(struct buffer *buffer)
{
    lock_when(buffer, &buffer->not_empty, has_items);
    buffer->sum += buffer->items[buffer->taken % ROOM];
    __atomic_store_n(&buffer->taken, buffer->taken + 1, __ATOMIC_RELEASE);
    mutex_unlock(&buffer->mutex);
    wait_queue_wake_all(&buffer->not_full);
}

static void use_buffer(unsigned index, void *argument)
{
    for (unsigned i = 1; i <= ITEMS; i++) {
        if (index % 2 == 0)
            produce(argument, i);
        else
            consume(argument);
    }
}

static void test_buffer(void)
{
    static struct buffer buffer;
    unsigned pairs = cpu_count + 1;

    mutex_init(&buffer.mutex, "suite buffer");
    wait_queue_init(&buffer.not_full, "not full");
    wait_queue_init(&buffer.not_empty, "not empty");
    crowd_run(2 * pairs, use_buffer, &buffer);
    is_equal(buffer.sum, pairs * (ITEMS * (ITEMS + 1ull) / 2),
             "%u producers and consumers pass every item once", pairs);
}

/* --- deadlines and interruptions --- */

static bool never(void *argument)
{
    (void)argument;
    return false;
}

static bool always(void *argument)
{
    (void)argument;
    return true;
}

static void test_deadline(void)
{
    struct wait_queue queue;
    wait_queue_init(&queue, "suite");
    uint64_t deadline = timer_now_ns() + 5 * MILLISECOND;

    is_equal(wait_queue_sleep_until_deadline(&queue, never, NULL, "nothing", deadline),
             ERR_ETIMEDOUT, "a wait for nothing ends at its deadline");
    ok(timer_now_ns() >= deadline, "not before it");
    is_equal(wait_queue_sleep_until_deadline(&queue, never, NULL, "nothing", 1), ERR_ETIMEDOUT,
             "a deadline in the past ends it at once");
    is_equal(wait_queue_sleep_until_deadline(&queue, always, NULL, "nothing", 1), 0,
             "unless the condition holds");
    ok(list_empty(&queue.sleepers), "nobody is left in the queue");
}

struct sleeper {
    struct wait_queue queue;
    struct thread *thread; /* atomic */
    int result;
};

static void sleep_or_interrupt(unsigned index, void *argument)
{
    struct sleeper *sleeper = argument;

    if (index == 0) {
        __atomic_store_n(&sleeper->thread, current_thread(), __ATOMIC_RELEASE);
        sleeper->result = wait_queue_sleep_until_deadline(&sleeper->queue, never, NULL,
                                                          "an interruption", WAIT_FOREVER);
        thread_clear_interrupt();
        return;
    }
    while (!__atomic_load_n(&sleeper->thread, __ATOMIC_ACQUIRE))
        thread_yield();
    if (index == 1)
        thread_interrupt(sleeper->thread);
}

static void test_interruption(void)
{
    unsigned wrong = 0;

    for (unsigned i = 0; i < 100; i++) {
        struct sleeper sleeper = {.result = 0};
        wait_queue_init(&sleeper.queue, "suite");
        crowd_run(2, sleep_or_interrupt, &sleeper);
        wrong += sleeper.result != ERR_EINTR;
    }
    is_equal(wrong, 0, "100 waits without a deadline end by an interruption, whenever it comes");
}

/* --- sleep --- */

struct sleep_check {
    uint32_t early;
    uint64_t latest; /* ns; atomic */
};

static void sleep_often(unsigned index, void *argument)
{
    struct sleep_check *check = argument;
    uint64_t seed = index + 17;

    for (unsigned i = 0; i < 8; i++) {
        uint64_t deadline = timer_now_ns() + suite_random(&seed) % (12 * MILLISECOND);
        suite_sleep_until(deadline);
        uint64_t now = timer_now_ns();
        if (now < deadline)
            __atomic_add_fetch(&check->early, 1, __ATOMIC_RELAXED);
        else if (now - deadline > __atomic_load_n(&check->latest, __ATOMIC_RELAXED))
            __atomic_store_n(&check->latest, now - deadline, __ATOMIC_RELAXED);
    }
}

static void test_sleep(void)
{
    struct sleep_check check = {0};

    crowd_run(24, sleep_often, &check);
    is_equal(check.early, 0, "24 threads sleep: none ever wakes early");
    ok(check.latest < 5000 * MILLISECOND, "the latest comes %llu us too late",
       (unsigned long long)check.latest / 1000);
}

static void run(void)
{
    test_deadline();
    test_interruption();
    test_sleep();
    test_ring(2);
    test_ring(3 * cpu_count);
    test_buffer();
}

const struct suite suite_waiting = {"waiting", run};
