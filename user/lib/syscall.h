/* SPDX-License-Identifier: MIT */
/* System calls, thinly wrapped: each returns what the kernel returns, errors negated. */
#ifndef USER_LIB_SYSCALL_H
#define USER_LIB_SYSCALL_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/abi.h"

/* Any number with any arguments; the tests that try bad ones need it raw. */
static inline long syscall_raw(unsigned long number, unsigned long a, unsigned long b,
                               unsigned long c, unsigned long d, unsigned long e, unsigned long f)
{
    register unsigned long r10 __asm__("r10") = d;
    register unsigned long r8 __asm__("r8") = e;
    register unsigned long r9 __asm__("r9") = f;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static inline long sys_write(int fd, const void *buffer, size_t length)
{
    return syscall_raw(SYS_write, (unsigned long)fd, (unsigned long)buffer, length, 0, 0, 0);
}

static inline long sys_mmap(void *address, size_t length, int protection, int flags)
{
    return syscall_raw(SYS_mmap, (unsigned long)address, length, (unsigned long)protection,
                       (unsigned long)flags, -1ul, 0);
}

static inline long sys_munmap(void *address, size_t length)
{
    return syscall_raw(SYS_munmap, (unsigned long)address, length, 0, 0, 0, 0);
}

static inline long sys_mprotect(void *address, size_t length, int protection)
{
    return syscall_raw(SYS_mprotect, (unsigned long)address, length, (unsigned long)protection, 0,
                       0, 0);
}

static inline long sys_sched_yield(void)
{
    return syscall_raw(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
}

static inline long sys_nanosleep(const struct abi_timespec *request, struct abi_timespec *left)
{
    return syscall_raw(SYS_nanosleep, (unsigned long)request, (unsigned long)left, 0, 0, 0, 0);
}

static inline long sys_getpid(void)
{
    return syscall_raw(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

static inline long sys_gettid(void)
{
    return syscall_raw(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

static inline long sys_arch_prctl(int code, unsigned long address)
{
    return syscall_raw(SYS_arch_prctl, (unsigned long)code, address, 0, 0, 0, 0);
}

static inline long sys_set_tid_address(uint32_t *word)
{
    return syscall_raw(SYS_set_tid_address, (unsigned long)word, 0, 0, 0, 0, 0);
}

static inline long sys_clock_gettime(int clock, struct abi_timespec *now)
{
    return syscall_raw(SYS_clock_gettime, (unsigned long)clock, (unsigned long)now, 0, 0, 0, 0);
}

static inline long sys_futex(uint32_t *word, int operation, uint32_t value,
                             const struct abi_timespec *timeout)
{
    return syscall_raw(SYS_futex, (unsigned long)word, (unsigned long)operation, value,
                       (unsigned long)timeout, 0, 0);
}

/* Ends the calling thread only. */
_Noreturn static inline void sys_exit(int status)
{
    for (;;)
        syscall_raw(SYS_exit, (unsigned long)status, 0, 0, 0, 0, 0);
}

/* Ends the process. */
_Noreturn static inline void sys_exit_group(int status)
{
    for (;;)
        syscall_raw(SYS_exit_group, (unsigned long)status, 0, 0, 0, 0, 0);
}

#endif
