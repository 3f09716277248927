/* SPDX-License-Identifier: MIT */
/* Mutex on a futex word.
 *
 * FREE, HELD (nobody waits) and CONTENDED (somebody may sleep): only the last costs a system call.
 * Who has slept takes the lock as CONTENDED, because others may still sleep behind it.
 */
#include "user/lib/mutex.h"

#include <stddef.h>

#include "user/lib/atomic.h"
#include "user/lib/syscall.h"

enum mutex_state { MUTEX_FREE, MUTEX_HELD, MUTEX_CONTENDED };

void mutex_lock(struct mutex *mutex)
{
    if (atomic_replace(&mutex->state, MUTEX_FREE, MUTEX_HELD) == MUTEX_FREE)
        return;
    while (atomic_exchange(&mutex->state, MUTEX_CONTENDED) != MUTEX_FREE)
        sys_futex(&mutex->state, ABI_FUTEX_WAIT | ABI_FUTEX_PRIVATE_FLAG, MUTEX_CONTENDED, NULL);
}

void mutex_unlock(struct mutex *mutex)
{
    if (atomic_exchange(&mutex->state, MUTEX_FREE) == MUTEX_CONTENDED)
        sys_futex(&mutex->state, ABI_FUTEX_WAKE | ABI_FUTEX_PRIVATE_FLAG, 1, NULL);
}
