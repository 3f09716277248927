/* SPDX-License-Identifier: MIT */
/* Start line: a barrier, then a short spin until all sleepers of the barrier are really running.
 *
 * Without the spin the last to arrive would be done with a short demo before the first sleeper
 * runs. The spin is bounded: with more threads than CPUs not all can be running, and a recorder
 * that single-steps pays for each round.
 */
#include "user/lib/rendezvous.h"

#include "user/lib/atomic.h"

#define RENDEZVOUS_SPINS 1500

/* Much time for few instructions. */
static void relax_long(void)
{
    __asm__ volatile(".rept 8\n\tpause\n\t.endr");
}

void rendezvous_meet(struct rendezvous *rendezvous)
{
    barrier_wait(&rendezvous->barrier);
    atomic_add(&rendezvous->awake, 1);
    for (int i = 0; i < RENDEZVOUS_SPINS; i++) {
        if (atomic_load(&rendezvous->awake) == rendezvous->barrier.total)
            return;
        relax_long();
    }
}
