/* SPDX-License-Identifier: MIT */
/* Wait queues and mutexes. */
#include "kernel/waitqueue.h"

#include "kernel/err.h"
#include "kernel/panic.h"
#include "kernel/thread.h"

void wait_queue_init(struct wait_queue *queue, const char *name)
{
    spin_init(&queue->lock, LOCK_MUTEX, name);
    list_init(&queue->sleepers);
}

int wait_queue_sleep_until_deadline(struct wait_queue *queue, wait_condition *condition,
                                    void *argument, const char *what, uint64_t deadline)
{
    struct thread *self = current_thread();
    for (;;) {
        bool enabled = spin_lock_irq(&queue->lock);
        list_remove(&self->wait_link);
        bool holds = condition(argument);
        bool interrupted = deadline != WAIT_UNINTERRUPTIBLE && thread_interrupted(self);
        bool late = deadline < WAIT_FOREVER && timer_now_ns() >= deadline;
        if (holds || interrupted || late) {
            spin_unlock_irq(&queue->lock, enabled);
            return holds ? 0 : interrupted ? ERR_EINTR : ERR_ETIMEDOUT;
        }
        list_insert_before(&queue->sleepers, &self->wait_link);
        thread_prepare_block(what, deadline);
        /* thread_interrupt() does not take our lock: it may have found us not blocked yet. */
        if (deadline != WAIT_UNINTERRUPTIBLE && thread_interrupted(self))
            thread_wake(self);
        spin_unlock(&queue->lock);
        thread_block();
        irq_restore(enabled);
    }
}

void wait_queue_sleep_until(struct wait_queue *queue, wait_condition *condition, void *argument,
                            const char *what)
{
    wait_queue_sleep_until_deadline(queue, condition, argument, what, WAIT_UNINTERRUPTIBLE);
}

void wait_queue_wake_all(struct wait_queue *queue)
{
    bool enabled = spin_lock_irq(&queue->lock);
    list_for_each(link, &queue->sleepers) thread_wake(list_entry(link, struct thread, wait_link));
    spin_unlock_irq(&queue->lock, enabled);
}

void mutex_init(struct mutex *mutex, const char *name)
{
    wait_queue_init(&mutex->queue, name);
    mutex->owner = NULL;
}

static bool mutex_take(void *argument)
{
    struct mutex *mutex = argument;
    if (mutex->owner)
        return false;
    mutex->owner = current_thread();
    return true;
}

void mutex_lock(struct mutex *mutex)
{
    kassert(!mutex_held(mutex));
    wait_queue_sleep_until(&mutex->queue, mutex_take, mutex, mutex->queue.lock.name);
}

bool mutex_trylock(struct mutex *mutex)
{
    bool enabled = spin_lock_irq(&mutex->queue.lock);
    bool taken = mutex_take(mutex);
    spin_unlock_irq(&mutex->queue.lock, enabled);
    return taken;
}

void mutex_unlock(struct mutex *mutex)
{
    if (!mutex_held(mutex))
        panic("mutex %s is unlocked by a thread that does not hold it", mutex->queue.lock.name);
    bool enabled = spin_lock_irq(&mutex->queue.lock);
    mutex->owner = NULL;
    spin_unlock_irq(&mutex->queue.lock, enabled);
    wait_queue_wake_all(&mutex->queue);
}

bool mutex_held(const struct mutex *mutex)
{
    return mutex->owner && mutex->owner == current_thread();
}
