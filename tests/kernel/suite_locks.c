/* SPDX-License-Identifier: MIT */
/* Spinlocks and mutexes under contention from all CPUs: a counter that only a lock protects.
 */
#include "arch/x86/cpu.h"
#include "kernel/spinlock.h"
#include "kernel/thread.h"
#include "kernel/waitqueue.h"
#include "tests/kernel/suite.h"

#define SPIN_ROUNDS 3000
#define MUTEX_ROUNDS 200

struct counted {
    struct spinlock spinlock;
    struct mutex mutex;
    volatile uint64_t count, copy; /* equal whenever the lock is free */
    uint32_t torn;                 /* atomic: found unequal */
    uint32_t inside;               /* atomic: threads within the lock */
    uint32_t refused;              /* atomic: trylocks in vain */
};

static void enter(struct counted *counted)
{
    if (__atomic_add_fetch(&counted->inside, 1, __ATOMIC_SEQ_CST) != 1 ||
        counted->count != counted->copy)
        __atomic_add_fetch(&counted->torn, 1, __ATOMIC_RELAXED);
    counted->count = counted->count + 1;
}

static void leave(struct counted *counted)
{
    counted->copy = counted->copy + 1;
    __atomic_sub_fetch(&counted->inside, 1, __ATOMIC_SEQ_CST);
}

static void lock_somehow(struct counted *counted, unsigned round)
{
    if (round % 3 == 0) {
        bool enabled = spin_lock_irq(&counted->spinlock);
        enter(counted);
        leave(counted);
        spin_unlock_irq(&counted->spinlock, enabled);
        return;
    }
    if (round % 3 == 1)
        spin_lock(&counted->spinlock);
    else
        while (!spin_trylock(&counted->spinlock))
            __atomic_add_fetch(&counted->refused, 1, __ATOMIC_RELAXED);
    enter(counted);
    leave(counted);
    spin_unlock(&counted->spinlock);
}

static void use_spinlock(unsigned index, void *argument)
{
    for (unsigned round = 0; round < SPIN_ROUNDS; round++) {
        lock_somehow(argument, round + index);
        if (round % 256 == 0)
            thread_yield();
    }
}

static void test_spinlock(void)
{
    static struct counted counted;
    unsigned threads = 3 * cpu_count;

    spin_init(&counted.spinlock, LOCK_SESSION, "suite");
    crowd_run(threads, use_spinlock, &counted);
    is_equal(counted.count, threads * SPIN_ROUNDS, "%u threads count under a spinlock", threads);
    is_equal(counted.torn, 0, "never two at once");
    ok(counted.spinlock.word == 0 && counted.spinlock.owner == 0, "it is free in the end");
}

static void test_spinlock_state(void)
{
    static struct spinlock outer = SPINLOCK_INIT(LOCK_SESSION, "suite, outer");
    static struct spinlock inner = SPINLOCK_INIT(LOCK_VIEW, "suite, inner");

    bool enabled = spin_lock_irq(&outer);
    bool off = !irq_enabled();
    spin_lock(&inner);
    bool both = spin_held(&outer) && spin_held(&inner) && spin_locks_held() == 2;
    spin_unlock(&outer); /* in any order */
    bool one = !spin_held(&outer) && spin_held(&inner) && spin_locks_held() == 1;
    spin_unlock_irq(&inner, enabled);
    ok(enabled && off && irq_enabled(), "interrupts are off while it is held, and on afterwards");
    ok(both && one && spin_locks_held() == 0, "the CPU knows which locks it holds");
}

/* --- mutexes --- */

/* Holds the mutex while it sleeps or gives the CPU away. */
static void use_mutex(unsigned index, void *argument)
{
    struct counted *counted = argument;

    for (unsigned round = 0; round < MUTEX_ROUNDS; round++) {
        if (round % 4 != 3)
            mutex_lock(&counted->mutex);
        else
            while (!mutex_trylock(&counted->mutex))
                thread_yield();
        enter(counted);
        if (!mutex_held(&counted->mutex))
            __atomic_add_fetch(&counted->torn, 1, __ATOMIC_RELAXED);
        if ((round + index) % 16 == 0)
            suite_sleep_until(timer_now_ns() + 100000);
        else
            thread_yield();
        leave(counted);
        mutex_unlock(&counted->mutex);
    }
}

static void test_mutex(void)
{
    static struct counted counted;
    unsigned threads = 3 * cpu_count;

    mutex_init(&counted.mutex, "suite mutex");
    crowd_run(threads, use_mutex, &counted);
    is_equal(counted.count, threads * MUTEX_ROUNDS, "%u threads count under a mutex", threads);
    is_equal(counted.torn, 0, "never two at once");
    ok(mutex_trylock(&counted.mutex) && mutex_held(&counted.mutex) &&
           !mutex_trylock(&counted.mutex),
       "it is free in the end, and can be taken once");
    mutex_unlock(&counted.mutex);
    ok(!mutex_held(&counted.mutex), "and given back");
}

static void run(void)
{
    test_spinlock_state();
    test_spinlock();
    test_mutex();
}

const struct suite suite_locks = {"locks", run};
