/* SPDX-License-Identifier: MIT */
/* Spinlocks with owner and rank checks. The lock order is the enum below; docs/locking.md draws it.
 *
 * A CPU takes locks in ascending rank only (equal ranks never), else it panics with both names.
 * Locks that an interrupt handler takes are taken with interrupts off everywhere:
 * spin_lock_irq() / spin_unlock_irq(). Not for NMI.
 */
#ifndef KERNEL_SPINLOCK_H
#define KERNEL_SPINLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum lock_rank {
    LOCK_COMMAND,   /* shell commands; the recorder; owners of counters */
    LOCK_THREADS,   /* list of all threads */
    LOCK_PROCESS,   /* threads and end of a process */
    LOCK_PAGE,      /* CREW: one page of a process */
    LOCK_PAGES,     /* mappings, page index, shared page tables of a space */
    LOCK_SESSION,   /* slots and waits of a recording or replay */
    LOCK_VIEW,      /* CREW: one view, its stream and mode */
    LOCK_MUTEX,     /* inside of a sleeping mutex or wait queue; interrupt handlers wake, too */
    LOCK_TIMER,     /* sleepers */
    LOCK_RUNQUEUE,  /* one CPU's run queue */
    LOCK_HEAP,      /* kernel heap */
    LOCK_STACKS,    /* kernel stacks' page tables */
    LOCK_FRAMES,    /* frame allocator */
    LOCK_LOG_BLOCK, /* the one block of a recording that is being read from the disk */
    LOCK_DISK,      /* the disk's queue */
    LOCK_INPUT,     /* console input ring */
    LOCK_CONSOLE,   /* console output */
    LOCK_RANKS,
};

struct spinlock {
    uint32_t word;       /* 0 free, 1 held */
    uint32_t owner;      /* CPU index + 1 while held */
    enum lock_rank rank; /* fixed */
    const char *name;    /* fixed; for panics */
};

#define SPINLOCK_INIT(rank_, name_)                                                                \
    {                                                                                              \
        .word = 0, .owner = 0, .rank = (rank_), .name = (name_)                                    \
    }

void spin_init(struct spinlock *lock, enum lock_rank rank, const char *name);
void spin_lock(struct spinlock *lock);   /* interrupts stay as they are */
void spin_unlock(struct spinlock *lock); /* panics when this CPU does not hold it */
bool spin_trylock(struct spinlock *lock);

/* With interrupts off while held; the returned value goes to spin_unlock_irq. */
bool spin_lock_irq(struct spinlock *lock);
void spin_unlock_irq(struct spinlock *lock, bool enabled);

/* Whether this CPU holds nothing of that rank or above. */
bool spin_can_lock(enum lock_rank rank);
bool spin_held(const struct spinlock *lock); /* by this CPU */
unsigned spin_locks_held(void); /* by this CPU: 0 whenever it sleeps or leaves to ring 3 */
const char *spin_held_name(unsigned index); /* of those, lowest rank first; NULL past the last */

#endif
