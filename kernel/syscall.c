/* SPDX-License-Identifier: MIT */
/* Dispatch of system calls. */
#include "kernel/syscall.h"

#include "kernel/err.h"
#include "kernel/marker.h"
#include "kernel/process.h"
#include "kernel/recorder.h"
#include "kernel/upcalls.h"

#define SYSCALL_INSTRUCTION_LENGTH 2

#define X SYSCALL_DECLARE
SYSCALL_TABLE(X)
#undef X

static syscall_function *const table_x86_64[] = {
#define X(number, name) [number] = sys_##name,
    SYSCALL_TABLE(X)
#undef X
};

#define TABLE_LENGTH (sizeof(table_x86_64) / sizeof(table_x86_64[0]))

/* NULL when there is no such call. */
static syscall_function *find_call(uint64_t number)
{
    return number < TABLE_LENGTH ? table_x86_64[number] : NULL;
}

static int64_t call(struct trap_frame *frame)
{
    syscall_function *function = find_call(frame->rax);
    if (!function)
        return ERR_ENOSYS;
    struct syscall_arguments arguments = {
        .a = {frame->rdi, frame->rsi, frame->rdx, frame->r10, frame->r8, frame->r9},
        .frame = frame,
    };
    return function(&arguments);
}

/* A call that was interrupted (its process stops or ends; there are no signals) is wound back to
 * before the SYSCALL instruction. RCX and R11 are lost as after any other call. */
static void finish(struct trap_frame *frame, uint64_t number, int64_t result)
{
    if (result == ERR_EINTR) {
        frame->rip -= SYSCALL_INSTRUCTION_LENGTH;
        frame->rax = number;
    } else {
        frame->rax = (uint64_t)result;
    }
}

void upcall_syscall(struct trap_frame *frame)
{
    struct thread *self = current_thread();
    uint64_t number = frame->rax;
    MARKER(syscall_enter, MARKER_ARG(number, number), MARKER_ARG(a0, frame->rdi),
           MARKER_ARG(a1, frame->rsi), MARKER_ARG(a2, frame->rdx), MARKER_ARG(a3, frame->r10),
           MARKER_ARG(rip, (void *)frame->rip));
    irq_enable();
    if (self->rec)
        recorder_current()->syscall_begin(self, frame);
    int64_t result = call(frame);
    finish(frame, number, result);
    if (result != ERR_EINTR)
        self->restart_deadline = 0;
    if (self->rec)
        recorder_current()->syscall_end(self, frame);
    irq_disable();
    MARKER(syscall_exit, MARKER_ARG(number, number), MARKER_ARG(result, result));
}
