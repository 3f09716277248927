/* SPDX-License-Identifier: MIT */
/* System calls: one dispatch table per ABI, handlers that know nothing of registers. */
#ifndef KERNEL_SYSCALL_H
#define KERNEL_SYSCALL_H

#include <stdint.h>

#include "arch/x86/frame.h"

struct syscall_arguments {
    uint64_t a[6];
    struct trap_frame *frame;
};

/* Returns the value for RAX: a result or a negated error. ERR_EINTR starts the call again. */
typedef int64_t syscall_function(const struct syscall_arguments *arguments);

/* Handlers, one file a subject: syscall_memory.c, syscall_thread.c, syscall_misc.c. */
#define SYSCALL_DECLARE(number, name) syscall_function sys_##name;

#endif
