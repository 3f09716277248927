/* SPDX-License-Identifier: MIT */
/* clone, exit, exit_group, futex and what identifies a thread. Errors as Linux'. */
#include "arch/x86/layout.h"
#include "arch/x86/timer.h"
#include "kernel/err.h"
#include "kernel/futex.h"
#include "kernel/process.h"
#include "kernel/recorder.h"
#include "kernel/syscall.h"
#include "mm/user_memory.h"

#define KNOWN_CLONE_FLAGS                                                                          \
    (ABI_CLONE_THREAD_FLAGS | ABI_CLONE_SETTLS | ABI_CLONE_PARENT_SETTID |                         \
     ABI_CLONE_CHILD_CLEARTID | ABI_CLONE_CHILD_SETTID)
#define STATUS_MASK 0xff

syscall_function sys_clone, sys_exit, sys_exit_group, sys_futex, sys_getpid, sys_gettid;
syscall_function sys_set_tid_address, sys_arch_prctl, sys_sched_yield;

static uint32_t tid_of(const struct thread *thread)
{
    return thread->process->pid + thread->index;
}

static struct thread *make_child(const struct syscall_arguments *arguments)
{
    struct thread *self = current_thread();
    struct thread *child = process_add_thread(self->process);
    if (!child)
        return NULL;
    struct trap_frame *frame = thread_user_frame(child);
    *frame = *arguments->frame;
    frame->rax = 0;
    if (arguments->a[1])
        frame->rsp = arguments->a[1];
    fpu_save(child->fpu);
    uint64_t flags = arguments->a[0];
    context_save_segments(&child->segments);
    if (flags & ABI_CLONE_SETTLS)
        child->segments.fs_base = arguments->a[4];
    child->clear_child_tid = flags & ABI_CLONE_CHILD_CLEARTID ? arguments->a[3] : 0;
    if (self->rec && recorder_current()->thread_created(self, child) != 0) {
        process_drop_thread(self->process, child);
        return NULL;
    }
    return child;
}

int64_t sys_clone(const struct syscall_arguments *arguments)
{
    struct process *process = current_thread()->process;
    uint64_t flags = arguments->a[0];
    if ((flags & ~(uint64_t)KNOWN_CLONE_FLAGS) ||
        (flags & ABI_CLONE_THREAD_FLAGS) != ABI_CLONE_THREAD_FLAGS)
        return ERR_EINVAL;
    if ((flags & ABI_CLONE_SETTLS) && arguments->a[4] >= USER_END)
        return ERR_EPERM;
    bool in_turn = object_enter(&process->thread_table);
    struct thread *child = in_turn ? make_child(arguments) : NULL;
    object_leave(&process->thread_table);
    if (!child)
        return ERR_EAGAIN;
    uint32_t tid = tid_of(child);
    /* As on Linux, a bad pointer here is not an error of the call. */
    if (flags & ABI_CLONE_PARENT_SETTID)
        user_write(arguments->a[2], &tid, sizeof(tid));
    if (flags & ABI_CLONE_CHILD_SETTID)
        user_write(arguments->a[3], &tid, sizeof(tid));
    thread_start(child);
    return tid;
}

static void release_joiners(struct thread *self)
{
    if (!self->clear_child_tid)
        return;
    uint32_t zero = 0;
    if (user_write(self->clear_child_tid, &zero, sizeof(zero)) == 0)
        futex_wake(self->clear_child_tid, 1);
    self->clear_child_tid = 0;
}

int64_t sys_exit(const struct syscall_arguments *arguments)
{
    struct thread *self = current_thread();
    release_joiners(self);
    if (self->rec)
        recorder_current()->thread_exit(self, arguments->a[0] & STATUS_MASK);
    self->exit_status = arguments->a[0] & STATUS_MASK; /* the last one's is the process's */
    process_end_thread();
}

int64_t sys_exit_group(const struct syscall_arguments *arguments)
{
    struct thread *self = current_thread();
    bool replay = self->rec && recorder_current()->is_replay(self);
    process_note_exit(self->process, arguments->a[0] & STATUS_MASK);
    if (self->rec)
        recorder_current()->thread_exit(self, arguments->a[0] & STATUS_MASK);
    if (!replay) /* there each thread ends where its own stream does */
        process_end_all(self->process);
    process_end_thread();
}

static int read_timeout(uint64_t address, uint64_t *deadline)
{
    struct abi_timespec time;
    *deadline = WAIT_FOREVER;
    if (!address)
        return 0;
    int error = user_read(address, &time, sizeof(time));
    if (error)
        return error;
    if (time.seconds < 0 || time.nanoseconds < 0 || time.nanoseconds >= 1000000000)
        return ERR_EINVAL;
    if (time.seconds >= 1000000000)
        return 0;
    /* A call that was wound back because its process stopped keeps its first deadline. */
    struct thread *self = current_thread();
    if (!self->restart_deadline)
        self->restart_deadline =
            timer_now_ns() + (uint64_t)time.seconds * 1000000000 + (uint64_t)time.nanoseconds;
    *deadline = self->restart_deadline;
    return 0;
}

int64_t sys_futex(const struct syscall_arguments *arguments)
{
    uint64_t address = arguments->a[0], deadline;
    int error;
    if (address & 3)
        return ERR_EINVAL;
    switch (arguments->a[1] & ~(uint64_t)ABI_FUTEX_PRIVATE_FLAG) {
    case ABI_FUTEX_WAIT:
        error = read_timeout(arguments->a[3], &deadline);
        return error ? error : futex_wait(address, (uint32_t)arguments->a[2], deadline);
    case ABI_FUTEX_WAKE:
        if (address >= USER_END)
            return ERR_EFAULT;
        return futex_wake(address, (uint32_t)arguments->a[2]);
    default:
        return ERR_ENOSYS;
    }
}

int64_t sys_getpid(const struct syscall_arguments *arguments)
{
    (void)arguments;
    return current_thread()->process->pid;
}

int64_t sys_gettid(const struct syscall_arguments *arguments)
{
    (void)arguments;
    return tid_of(current_thread());
}

int64_t sys_set_tid_address(const struct syscall_arguments *arguments)
{
    current_thread()->clear_child_tid = arguments->a[0];
    return tid_of(current_thread());
}

int64_t sys_arch_prctl(const struct syscall_arguments *arguments)
{
    struct thread *self = current_thread();
    switch (arguments->a[0]) {
    case ABI_ARCH_SET_FS:
        if (arguments->a[1] >= USER_END)
            return ERR_EPERM;
        cpu_set_fs_base(arguments->a[1]);
        return 0;
    case ABI_ARCH_GET_FS:
        context_save_segments(&self->segments);
        return user_write(arguments->a[1], &self->segments.fs_base, sizeof(self->segments.fs_base));
    default:
        return ERR_EINVAL;
    }
}

int64_t sys_sched_yield(const struct syscall_arguments *arguments)
{
    (void)arguments;
    thread_yield();
    return 0;
}
