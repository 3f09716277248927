/* SPDX-License-Identifier: MIT */
/* Threads that sleep until a time: one sorted list for all CPUs.
 *
 * Locks: timer lock (LOCK_TIMER), interrupts off.
 */
#ifndef KERNEL_SLEEP_H
#define KERNEL_SLEEP_H

#include <stdint.h>

struct thread;

void sleep_enqueue(struct thread *thread, uint64_t deadline);
void sleep_dequeue(struct thread *thread); /* harmless when it is not in the list */
void sleep_wake_due(void);
uint64_t sleep_next_deadline(void); /* UINT64_MAX: none */

#endif
