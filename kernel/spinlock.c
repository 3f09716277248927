/* SPDX-License-Identifier: MIT */
/* Spinlocks: an exchange to take, a store to release, and the checks around both.
 *
 * held[cpu] is the stack of the locks that a CPU holds. Ranks on it ascend strictly, because
 * nothing lower or equal is ever pushed and removing an element keeps the order; so the top is
 * the highest. Owner CPU only; each change of it is made with interrupts off, so that a handler
 * finds it whole and leaves it as found. Code that holds a spinlock must not be moved to another
 * CPU: the scheduler asserts spin_locks_held() == 0.
 *
 * Context: any but NMI; usable from the first line of C (GS is valid, index 0).
 */
#include "kernel/spinlock.h"

#include <stddef.h>

#include "arch/x86/cpu.h"
#include "kernel/panic.h"
#include "kernel/wait.h"

static struct held_locks {
    uint32_t count;
    struct spinlock *locks[LOCK_RANKS];
} held[MAX_CPUS];

void spin_init(struct spinlock *lock, enum lock_rank rank, const char *name)
{
    *lock = (struct spinlock)SPINLOCK_INIT(rank, name);
}

/* Interrupts off. */
static void check_rank(const struct spinlock *lock)
{
    const struct held_locks *mine = &held[this_cpu()->index];

    if (lock->rank >= LOCK_RANKS || !lock->name)
        panic("lock at %p: rank %u, never initialised", (const void *)lock, lock->rank);
    if (mine->count == 0)
        return;

    const struct spinlock *top = mine->locks[mine->count - 1];
    if (spin_held(lock))
        panic("lock \"%s\": taken twice by CPU %u", lock->name, this_cpu()->index);
    if (lock->rank <= top->rank)
        panic("lock order: expected a rank above %u (\"%s\" is held), actual %u (\"%s\")",
              top->rank, top->name, lock->rank, lock->name);
}

/* Takes the lock when it is free. Interrupts off: the lock and its place on the stack are one. */
static bool take_if_free(struct spinlock *lock)
{
    struct held_locks *mine = &held[this_cpu()->index];

    if (__atomic_load_n(&lock->word, __ATOMIC_RELAXED) ||
        __atomic_exchange_n(&lock->word, 1, __ATOMIC_ACQUIRE))
        return false;
    __atomic_store_n(&lock->owner, this_cpu()->index + 1, __ATOMIC_RELAXED);
    mine->locks[mine->count++] = lock;
    return true;
}

bool spin_trylock(struct spinlock *lock)
{
    bool enabled = irq_save();
    check_rank(lock);
    bool taken = take_if_free(lock);
    irq_restore(enabled);
    return taken;
}

static void wait_for_owner(const struct spinlock *lock, struct wait_state *wait)
{
    if (!wait_turn_expired(wait))
        return;
    uint32_t owner = __atomic_load_n(&lock->owner, __ATOMIC_RELAXED);
    panic("lock \"%s\": not free after %llu s; held by CPU %d", lock->name,
          WAIT_LIMIT_NS / 1000000000, (int)owner - 1);
}

/* Interrupts, where they were on, stay on while it waits: a CPU must be able to serve kicks and
 * calls that the owner may be waiting for. */
void spin_lock(struct spinlock *lock)
{
    struct wait_state wait = {0};

    while (!spin_trylock(lock))
        wait_for_owner(lock, &wait);
}

bool spin_lock_irq(struct spinlock *lock)
{
    struct wait_state wait = {0};
    bool enabled = irq_save();

    check_rank(lock);
    while (!take_if_free(lock)) {
        irq_restore(enabled);
        wait_for_owner(lock, &wait);
        irq_disable();
    }
    return enabled;
}

/* Interrupts off. */
static void remove_held(const struct spinlock *lock)
{
    struct held_locks *mine = &held[this_cpu()->index];
    uint32_t i = mine->count;

    while (i > 0 && mine->locks[i - 1] != lock)
        i--;
    if (i == 0)
        panic("lock \"%s\": owned by CPU %u but not on its stack", lock->name, this_cpu()->index);
    for (; i < mine->count; i++)
        mine->locks[i - 1] = mine->locks[i];
    mine->count--;
}

void spin_unlock(struct spinlock *lock)
{
    bool enabled = irq_save();

    if (lock->owner == 0)
        panic("lock \"%s\": released by CPU %u, but nobody holds it", lock->name,
              this_cpu()->index);
    if (!spin_held(lock))
        panic("lock \"%s\": released by CPU %u, held by CPU %u", lock->name, this_cpu()->index,
              lock->owner - 1);
    remove_held(lock);
    __atomic_store_n(&lock->owner, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&lock->word, 0, __ATOMIC_RELEASE);
    irq_restore(enabled);
}

void spin_unlock_irq(struct spinlock *lock, bool enabled)
{
    spin_unlock(lock);
    irq_restore(enabled);
}

bool spin_held(const struct spinlock *lock)
{
    return __atomic_load_n(&lock->owner, __ATOMIC_RELAXED) == this_cpu()->index + 1;
}

bool spin_can_lock(enum lock_rank rank)
{
    const struct held_locks *mine = &held[this_cpu()->index];
    return mine->count == 0 || mine->locks[mine->count - 1]->rank < rank;
}

unsigned spin_locks_held(void)
{
    return held[this_cpu()->index].count;
}

const char *spin_held_name(unsigned index)
{
    const struct held_locks *mine = &held[this_cpu()->index];
    return index < mine->count ? mine->locks[index]->name : NULL;
}
