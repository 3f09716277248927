/* SPDX-License-Identifier: MIT */
/* Futex queues: FUTEX_BUCKETS ordered objects a process, each with its list of waiters.
 *
 * A waiter's outcome (woken, too late, interrupted) is decided and logged while it holds the bucket
 * again, so a replay takes it from the log and need not sleep: entering the bucket the second time
 * already waits for the waker's event.
 */
#include "kernel/futex.h"

#include "kernel/err.h"
#include "kernel/list.h"
#include "kernel/process.h"
#include "kernel/recorder.h"
#include "mm/user_memory.h"

struct futex_waiter {
    struct list link; /* bucket */
    uint64_t address;
    bool woken; /* bucket to write; atomic */
};

void futex_init(struct process *process)
{
    for (unsigned i = 0; i < FUTEX_BUCKETS; i++) {
        struct futex_bucket *bucket = &process->futexes[i];
        object_init(&bucket->object, OBJECT_FUTEX + i);
        list_init(&bucket->waiters);
        wait_queue_init(&bucket->wakeup, "futex");
    }
}

static struct futex_bucket *bucket_of(uint64_t address)
{
    uint64_t mixed = (address >> 2) * 0x9e3779b97f4a7c15ull;
    return &current_thread()->process->futexes[(mixed >> 32) % FUTEX_BUCKETS];
}

static bool waiter_woken(void *argument)
{
    const struct futex_waiter *waiter = argument;
    return __atomic_load_n(&waiter->woken, __ATOMIC_ACQUIRE);
}

static bool woken_or_ending(void *argument)
{
    return waiter_woken(argument) || process_exiting(current_thread()->process);
}

/* A recording that was cut does not say how the wait ended. Others, whose parts reach further, may
 * wake this waiter yet, and must find it. */
static void stay_cut_off(struct futex_bucket *bucket, struct futex_waiter *waiter)
{
    object_leave(&bucket->object);
    wait_queue_sleep_until(&bucket->wakeup, woken_or_ending, waiter, "a futex, cut off");
    mutex_lock(&bucket->object.mutex);
}

static int64_t sleep_as_waiter(struct futex_bucket *bucket, struct futex_waiter *waiter,
                               uint64_t deadline)
{
    struct thread *self = current_thread();
    int64_t status = 0;
    if (!self->rec || !recorder_current()->is_replay(self))
        status = wait_queue_sleep_until_deadline(&bucket->wakeup, waiter_woken, waiter, "a futex",
                                                 deadline);
    if (!object_enter(&bucket->object))
        stay_cut_off(bucket, waiter);
    if (waiter->woken)
        status = 0;
    if (self->rec)
        status = (int64_t)recorder_current()->value(self, VALUE_FUTEX_STATUS, (uint64_t)status);
    list_remove(&waiter->link);
    object_leave(&bucket->object);
    return status;
}

int64_t futex_wait(uint64_t address, uint32_t expected, uint64_t deadline)
{
    struct futex_bucket *bucket = bucket_of(address);
    uint32_t value;
    int error = object_enter(&bucket->object) ? 0 : ERR_EINTR;
    if (!error)
        error = user_read(address, &value, sizeof(value));
    if (error || value != expected) {
        object_leave(&bucket->object);
        return error ? error : ERR_EAGAIN;
    }
    struct futex_waiter waiter = {.address = address};
    list_insert_before(&bucket->waiters, &waiter.link);
    object_leave(&bucket->object);
    return sleep_as_waiter(bucket, &waiter, deadline);
}

int64_t futex_wake(uint64_t address, uint32_t count)
{
    struct futex_bucket *bucket = bucket_of(address);
    uint32_t woken = 0;
    if (!object_enter(&bucket->object))
        count = 0;
    for (struct list *link = bucket->waiters.next; link != &bucket->waiters && woken < count;) {
        struct futex_waiter *waiter = list_entry(link, struct futex_waiter, link);
        link = link->next;
        if (waiter->address != address)
            continue;
        list_remove(&waiter->link);
        __atomic_store_n(&waiter->woken, true, __ATOMIC_RELEASE);
        woken++;
    }
    object_leave(&bucket->object);
    wait_queue_wake_all(&bucket->wakeup);
    return woken;
}
