/* SPDX-License-Identifier: MIT */
/* futex(2): wait and wake, within a process. Errors as Linux'. Current thread; may block. */
#ifndef KERNEL_FUTEX_H
#define KERNEL_FUTEX_H

#include <stdint.h>

struct process;

void futex_init(struct process *process);

/* deadline: timer_now_ns, or WAIT_FOREVER. 0, ERR_EAGAIN, ERR_ETIMEDOUT, ERR_EINTR, ERR_EFAULT. */
int64_t futex_wait(uint64_t address, uint32_t expected, uint64_t deadline);
int64_t futex_wake(uint64_t address, uint32_t count); /* how many were woken */

#endif
