/* SPDX-License-Identifier: MIT */
/* Barrier on a futex word.
 *
 * The last to arrive resets the count before it opens the next generation, so no thread can
 * arrive for the next round while the count is still the old one.
 */
#include "user/lib/barrier.h"

#include <limits.h>
#include <stddef.h>

#include "user/lib/atomic.h"
#include "user/lib/syscall.h"

void barrier_wait(struct barrier *barrier)
{
    uint32_t generation = atomic_load(&barrier->generation);

    if (atomic_add(&barrier->arrived, 1) + 1 == barrier->total) {
        atomic_store(&barrier->arrived, 0);
        atomic_add(&barrier->generation, 1);
        sys_futex(&barrier->generation, ABI_FUTEX_WAKE | ABI_FUTEX_PRIVATE_FLAG, INT_MAX, NULL);
        return;
    }
    while (atomic_load(&barrier->generation) == generation)
        sys_futex(&barrier->generation, ABI_FUTEX_WAIT | ABI_FUTEX_PRIVATE_FLAG, generation, NULL);
}
