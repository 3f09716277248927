/* SPDX-License-Identifier: MIT */
/* The list of sleepers. Any CPU's timer wakes whoever is due; every CPU arms its timer for the
 * first of the list, so a sleeper is never late because its CPU is busy.
 */
#include "kernel/sleep.h"

#include "kernel/spinlock.h"
#include "kernel/thread.h"

static struct spinlock timer_lock = SPINLOCK_INIT(LOCK_TIMER, "sleepers");
static struct list sleepers = LIST_INIT(sleepers); /* timer_lock; by deadline */
static uint64_t next_deadline = UINT64_MAX;        /* timer_lock to write; atomic */

/* The scheduler asks under a run queue lock, which comes after the timer lock: hence the copy. */
static void update_next_deadline(void)
{
    uint64_t next = UINT64_MAX;
    if (!list_empty(&sleepers))
        next = list_entry(sleepers.next, struct thread, sleep_link)->sleep_until;
    __atomic_store_n(&next_deadline, next, __ATOMIC_RELEASE);
}

void sleep_enqueue(struct thread *thread, uint64_t deadline)
{
    bool enabled = spin_lock_irq(&timer_lock);
    struct list *position = sleepers.next;
    while (position != &sleepers &&
           list_entry(position, struct thread, sleep_link)->sleep_until <= deadline)
        position = position->next;
    thread->sleep_until = deadline;
    list_insert_before(position, &thread->sleep_link);
    update_next_deadline();
    spin_unlock_irq(&timer_lock, enabled);
}

void sleep_dequeue(struct thread *thread)
{
    bool enabled = spin_lock_irq(&timer_lock);
    list_remove(&thread->sleep_link);
    thread->sleep_until = WAIT_FOREVER;
    update_next_deadline();
    spin_unlock_irq(&timer_lock, enabled);
}

void sleep_wake_due(void)
{
    uint64_t now = timer_now_ns();
    bool enabled = spin_lock_irq(&timer_lock);
    while (!list_empty(&sleepers)) {
        struct thread *first = list_entry(sleepers.next, struct thread, sleep_link);
        if (first->sleep_until > now)
            break;
        list_remove(&first->sleep_link);
        first->sleep_until = WAIT_FOREVER;
        thread_wake(first);
    }
    update_next_deadline();
    spin_unlock_irq(&timer_lock, enabled);
}

uint64_t sleep_next_deadline(void)
{
    return __atomic_load_n(&next_deadline, __ATOMIC_ACQUIRE);
}
