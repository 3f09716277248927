/* SPDX-License-Identifier: MIT */
/* Sleeping until something is true, and mutexes made of that.
 *
 * The condition is evaluated under the queue's lock (LOCK_MUTEX, interrupts off). Whoever makes it
 * true does so before wait_queue_wake_all(), which takes the same lock: no wake-up is lost.
 * Sleepers must hold no spinlock.
 */
#ifndef KERNEL_WAITQUEUE_H
#define KERNEL_WAITQUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/list.h"
#include "kernel/spinlock.h"

struct thread;

struct wait_queue {
    struct spinlock lock;
    struct list sleepers; /* lock */
};

#define WAIT_QUEUE_INIT(queue, name)                                                               \
    {                                                                                              \
        .lock = SPINLOCK_INIT(LOCK_MUTEX, name), .sleepers = LIST_INIT((queue).sleepers)           \
    }

void wait_queue_init(struct wait_queue *queue, const char *name);

typedef bool wait_condition(void *argument);

/* Blocks the current thread until condition(argument). `what` shows in `threads` and in reports. */
void wait_queue_sleep_until(struct wait_queue *queue, wait_condition *condition, void *argument,
                            const char *what);

/* The same, but gives up at the deadline (timer_now_ns; UINT64_MAX: never) with -ETIMEDOUT, or
 * when the thread is interrupted (thread_interrupt) with -EINTR. 0 when the condition holds. */
int wait_queue_sleep_until_deadline(struct wait_queue *queue, wait_condition *condition,
                                    void *argument, const char *what, uint64_t deadline);

void wait_queue_wake_all(struct wait_queue *queue); /* any context but NMI */

/* May be held while sleeping; not by interrupt handlers. */
struct mutex {
    struct wait_queue queue;
    struct thread *owner; /* queue.lock */
};

void mutex_init(struct mutex *mutex, const char *name);
void mutex_lock(struct mutex *mutex);
bool mutex_trylock(struct mutex *mutex);
void mutex_unlock(struct mutex *mutex); /* panics when the current thread is not the owner */
bool mutex_held(const struct mutex *mutex);

#endif
