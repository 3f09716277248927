/* SPDX-License-Identifier: MIT */
/* Between kernel/sched.c and kernel/thread.c only: birth and death of threads. */
#ifndef KERNEL_THREAD_LIFE_H
#define KERNEL_THREAD_LIFE_H

#include <stdint.h>

#include "kernel/thread.h"

struct thread *thread_create_idle(uint32_t cpu); /* has no stack of its own: it is what runs */
void thread_destroy(struct thread *thread);      /* dead, and no CPU is on its stack */
void sched_enter_thread(void);                   /* first thing that a new thread does */

#endif
