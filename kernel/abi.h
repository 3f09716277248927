/* SPDX-License-Identifier: MIT */
/* What a user program and the kernel share: system call numbers, error values, flags.
 *
 * Numbers, structures and error values are Linux' x86-64 ones (arch/x86/entry/syscalls in its
 * documentation, syscall(2)), but for the three calls of the recorder. The only header of the
 * kernel that user/ and tools/ may include; it holds no code and needs <stdint.h> only.
 */
#ifndef KERNEL_ABI_H
#define KERNEL_ABI_H

#include <stdint.h>

/* System calls: number in RAX, arguments in RDI RSI RDX R10 R8 R9, result in RAX
 * (-4095..-1 is a negated error value); RCX and R11 are lost. */
#define SYSCALL_TABLE(X)                                                                           \
    X(1, write)                                                                                    \
    X(9, mmap)                                                                                     \
    X(10, mprotect)                                                                                \
    X(11, munmap)                                                                                  \
    X(24, sched_yield)                                                                             \
    X(35, nanosleep)                                                                               \
    X(39, getpid)                                                                                  \
    X(56, clone)                                                                                   \
    X(60, exit)                                                                                    \
    X(158, arch_prctl)                                                                             \
    X(186, gettid)                                                                                 \
    X(202, futex)                                                                                  \
    X(218, set_tid_address)                                                                        \
    X(228, clock_gettime)                                                                          \
    X(231, exit_group)                                                                             \
    X(286, start_rec)                                                                              \
    X(287, stop_rec)                                                                               \
    X(288, rec_owner)

enum syscall_number {
#define X(number, name) SYS_##name = number,
    SYSCALL_TABLE(X)
#undef X
};

/* Error values, as errno(3); a system call returns them negated. */
#define ABI_ERROR_TABLE(X)                                                                         \
    X(1, EPERM)                                                                                    \
    X(3, ESRCH)                                                                                    \
    X(4, EINTR)                                                                                    \
    X(7, E2BIG)                                                                                    \
    X(8, ENOEXEC)                                                                                  \
    X(9, EBADF)                                                                                    \
    X(11, EAGAIN)                                                                                  \
    X(12, ENOMEM)                                                                                  \
    X(13, EACCES)                                                                                  \
    X(14, EFAULT)                                                                                  \
    X(16, EBUSY)                                                                                   \
    X(22, EINVAL)                                                                                  \
    X(28, ENOSPC)                                                                                  \
    X(38, ENOSYS)                                                                                  \
    X(110, ETIMEDOUT)

enum abi_error {
#define X(value, name) ABI_##name = value,
    ABI_ERROR_TABLE(X)
#undef X
};

/* mmap, mprotect */
#define ABI_PROT_READ 1
#define ABI_PROT_WRITE 2
#define ABI_PROT_EXEC 4
#define ABI_MAP_SHARED 0x01
#define ABI_MAP_PRIVATE 0x02
#define ABI_MAP_FIXED 0x10
#define ABI_MAP_ANONYMOUS 0x20

/* clone: only threads, so VM, FS, FILES, SIGHAND, THREAD and SYSVSEM are required together. */
#define ABI_CLONE_VM 0x00000100
#define ABI_CLONE_FS 0x00000200
#define ABI_CLONE_FILES 0x00000400
#define ABI_CLONE_SIGHAND 0x00000800
#define ABI_CLONE_THREAD 0x00010000
#define ABI_CLONE_SYSVSEM 0x00040000
#define ABI_CLONE_SETTLS 0x00080000
#define ABI_CLONE_PARENT_SETTID 0x00100000
#define ABI_CLONE_CHILD_CLEARTID 0x00200000
#define ABI_CLONE_CHILD_SETTID 0x01000000
#define ABI_CLONE_THREAD_FLAGS                                                                     \
    (ABI_CLONE_VM | ABI_CLONE_FS | ABI_CLONE_FILES | ABI_CLONE_SIGHAND | ABI_CLONE_THREAD |        \
     ABI_CLONE_SYSVSEM)

/* futex */
#define ABI_FUTEX_WAIT 0
#define ABI_FUTEX_WAKE 1
#define ABI_FUTEX_PRIVATE_FLAG 128

/* arch_prctl */
#define ABI_ARCH_SET_FS 0x1002
#define ABI_ARCH_GET_FS 0x1003

/* clock_gettime */
#define ABI_CLOCK_REALTIME 0
#define ABI_CLOCK_MONOTONIC 1

struct abi_timespec {
    int64_t seconds;
    int64_t nanoseconds;
};

/* rec_owner(address, length, access): access is REC_OWNER_READ or REC_OWNER_WRITE; with length 0
 * the call only records the caller's point and what it holds. Returns how many pages the caller
 * holds, or a negated error. */
#define REC_OWNER_READ 0
#define REC_OWNER_WRITE 1

/* Auxiliary vector on the initial stack: argc, argv…, 0, envp… (none), 0, then pairs up to
 * AT_NULL. */
#define ABI_AT_NULL 0
#define ABI_AT_PHDR 3
#define ABI_AT_PHENT 4
#define ABI_AT_PHNUM 5
#define ABI_AT_PAGESZ 6
#define ABI_AT_ENTRY 9
#define ABI_AT_RANDOM 25

#endif
