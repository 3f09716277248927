/* SPDX-License-Identifier: MIT */
/* Condition variable on a futex word that counts signals.
 *
 * The count is read before the mutex is released, so a signal given after that changes the word
 * and the wait returns at once: no signal is lost.
 */
#include "user/lib/condition.h"

#include <limits.h>
#include <stddef.h>

#include "user/lib/atomic.h"
#include "user/lib/syscall.h"

void condition_wait(struct condition *condition, struct mutex *mutex)
{
    uint32_t sequence = atomic_load(&condition->sequence);

    mutex_unlock(mutex);
    sys_futex(&condition->sequence, ABI_FUTEX_WAIT | ABI_FUTEX_PRIVATE_FLAG, sequence, NULL);
    mutex_lock(mutex);
}

static void condition_wake(struct condition *condition, uint32_t count)
{
    atomic_add(&condition->sequence, 1);
    sys_futex(&condition->sequence, ABI_FUTEX_WAKE | ABI_FUTEX_PRIVATE_FLAG, count, NULL);
}

void condition_signal(struct condition *condition)
{
    condition_wake(condition, 1);
}

void condition_broadcast(struct condition *condition)
{
    condition_wake(condition, INT_MAX);
}
