/* SPDX-License-Identifier: MIT */
/* write, time, and the three calls of the recorder. Errors as Linux'. */
#include "arch/x86/layout.h"
#include "arch/x86/timer.h"
#include "kernel/console.h"
#include "kernel/err.h"
#include "kernel/process.h"
#include "kernel/recorder.h"
#include "kernel/syscall.h"
#include "mm/heap.h"
#include "mm/user_memory.h"

#define WRITE_MAX 65536 /* bytes a call takes at most; more is a short write */
#define NS_PER_S 1000000000ull

syscall_function sys_write, sys_nanosleep, sys_clock_gettime;
syscall_function sys_start_rec, sys_stop_rec, sys_rec_owner;

static void emit(struct process *process, const void *bytes, size_t length)
{
    if (object_enter(&process->output)) {
        hash_update(&process->output_hash, bytes, length);
        process->output_bytes += length;
        if (!process->quiet)
            console_write(bytes, length);
    }
    object_leave(&process->output);
}

int64_t sys_write(const struct syscall_arguments *arguments)
{
    struct process *process = current_thread()->process;
    uint64_t address = arguments->a[1], length = arguments->a[2];
    if (arguments->a[0] != 1 && arguments->a[0] != 2)
        return ERR_EBADF;
    if (address + length < address || address + length > USER_END)
        return ERR_EFAULT;
    if (length == 0)
        return 0;
    if (length > WRITE_MAX)
        length = WRITE_MAX;
    uint8_t *bytes = kmalloc(length);
    if (!bytes)
        return ERR_ENOMEM;
    size_t readable = user_read_partial(address, bytes, length);
    if (readable)
        emit(process, bytes, readable);
    kfree(bytes);
    return readable ? (int64_t)readable : ERR_EFAULT;
}

static bool never(void *argument)
{
    (void)argument;
    return false;
}

/* A call that was wound back because its process stopped keeps its first deadline. */
static int64_t sleep_for(uint64_t nanoseconds)
{
    struct thread *self = current_thread();
    if (!self->restart_deadline)
        self->restart_deadline = timer_now_ns() + nanoseconds;
    struct wait_queue nobody = WAIT_QUEUE_INIT(nobody, "nanosleep");
    int status =
        wait_queue_sleep_until_deadline(&nobody, never, NULL, "a time", self->restart_deadline);
    return status == ERR_ETIMEDOUT ? 0 : status;
}

int64_t sys_nanosleep(const struct syscall_arguments *arguments)
{
    struct thread *self = current_thread();
    struct abi_timespec time;
    int error = user_read(arguments->a[0], &time, sizeof(time));
    if (error)
        return error;
    if (time.seconds < 0 || time.nanoseconds < 0 || time.nanoseconds >= (int64_t)NS_PER_S)
        return ERR_EINVAL;
    uint64_t seconds = (uint64_t)time.seconds < NS_PER_S ? (uint64_t)time.seconds : NS_PER_S;
    int64_t status = 0;
    if (!self->rec || !recorder_current()->is_replay(self))
        status = sleep_for(seconds * NS_PER_S + (uint64_t)time.nanoseconds);
    if (self->rec)
        status = (int64_t)recorder_current()->value(self, VALUE_SLEEP_STATUS, (uint64_t)status);
    return status;
}

int64_t sys_clock_gettime(const struct syscall_arguments *arguments)
{
    struct thread *self = current_thread();
    if (arguments->a[0] != ABI_CLOCK_REALTIME && arguments->a[0] != ABI_CLOCK_MONOTONIC)
        return ERR_EINVAL;
    uint64_t now = timer_now_ns();
    if (self->rec)
        now = recorder_current()->value(self, VALUE_CLOCK, now);
    struct abi_timespec time = {.seconds = (int64_t)(now / NS_PER_S),
                                .nanoseconds = (int64_t)(now % NS_PER_S)};
    return user_write(arguments->a[1], &time, sizeof(time));
}

int64_t sys_start_rec(const struct syscall_arguments *arguments)
{
    const struct recorder *recorder = recorder_current();
    return recorder ? recorder->start_rec(arguments->frame) : ERR_ENOSYS;
}

int64_t sys_stop_rec(const struct syscall_arguments *arguments)
{
    const struct recorder *recorder = recorder_current();
    return recorder ? recorder->stop_rec(arguments->frame) : ERR_ENOSYS;
}

int64_t sys_rec_owner(const struct syscall_arguments *arguments)
{
    const struct recorder *recorder = recorder_current();
    return recorder ? recorder->rec_owner(arguments->frame) : ERR_ENOSYS;
}
