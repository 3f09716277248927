/* SPDX-License-Identifier: MIT */
/* What the parts of the test program `syscalls` share. */
#ifndef USER_TEST_SYSCALLS_H
#define USER_TEST_SYSCALLS_H

#include "user/lib/syscall.h"
#include "user/lib/thread.h"

/* Addresses that no program can use. */
#define KERNEL_ADDRESS ((void *)0xffffffff80000000ul)
#define NONCANONICAL ((void *)0x8000000000000000ul)
#define UNMAPPED ((void *)0x5ead00000000ul)

#define READ_WRITE (ABI_PROT_READ | ABI_PROT_WRITE)
#define ANONYMOUS (ABI_MAP_PRIVATE | ABI_MAP_ANONYMOUS)

/* Whether the kernel can read or write there on the program's behalf: 0 or -EFAULT. */
static inline long probe_read(void *word)
{
    long result = sys_futex(word, ABI_FUTEX_WAIT | ABI_FUTEX_PRIVATE_FLAG, 0x5eadbeef, NULL);

    return result == -ABI_EAGAIN ? 0 : result; /* EAGAIN: read, and found another value */
}

static inline long probe_write(void *timespec)
{
    return sys_clock_gettime(ABI_CLOCK_MONOTONIC, timespec);
}

void syscalls_check_memory(void);

#endif
