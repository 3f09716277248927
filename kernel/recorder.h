/* SPDX-License-Identifier: MIT */
/* Where a recorder plugs into the kernel: the three system calls, and what happens to a thread that
 * is recorded or replayed (thread->rec is not NULL).
 *
 * While no recorder is registered the three calls give -ENOSYS and no thread has a `rec`; nothing
 * below is called then, and the kernel does without the replay/ layer.
 */
#ifndef KERNEL_RECORDER_H
#define KERNEL_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/x86/frame.h"
#include "kernel/object.h"
#include "kernel/thread.h"
#include "mm/space.h"

/* What is logged because it cannot be computed again. */
#define VALUE_TABLE(X)                                                                             \
    X(1, TSC, "tsc")                                                                               \
    X(2, CLOCK, "clock")                                                                           \
    X(3, FUTEX_STATUS, "futex-status")                                                             \
    X(4, SLEEP_STATUS, "sleep-status")

enum value_kind {
#define X(number, name, text) VALUE_##name = number,
    VALUE_TABLE(X)
#undef X
};

struct recorder {
    /* System calls; the caller's thread is the current one. */
    int64_t (*start_rec)(struct trap_frame *frame);
    int64_t (*stop_rec)(struct trap_frame *frame);
    int64_t (*rec_owner)(struct trap_frame *frame);

    /* Entry from ring 3 (interrupts off), and the last step back. `leave` returns true when the
     * thread may go to ring 3 now, with interrupts off; false: look at everything again. */
    void (*enter)(struct thread *thread, struct trap_frame *frame);
    bool (*leave)(struct thread *thread, struct trap_frame *frame);

    /* True: handled, go back to ring 3 (or to the divergence that was noted). False: it is the
     * program's own fault, and the process is to be killed. */
    bool (*page_fault)(struct thread *thread, struct trap_frame *frame, uint64_t address);
    bool (*debug)(struct thread *thread, struct trap_frame *frame, uint64_t dr6);

    /* Around every system call of a recorded thread. */
    void (*syscall_begin)(struct thread *thread, struct trap_frame *frame);
    void (*syscall_end)(struct thread *thread, struct trap_frame *frame);

    /* mm/user_memory.h: gets the page for the thread like a fault and returns it locked, with a
     * frame. 0, ERR_EFAULT or ERR_ENOMEM. */
    int (*page_acquire)(struct thread *thread, uint64_t address, bool write,
                        struct user_page **page);

    /* Before its mutex is taken. False: object_enter(). */
    bool (*order_wait)(struct thread *thread, struct object *object);
    void (*order_done)(struct thread *thread, struct object *object);

    /* Takes the range away from all views, before its frames are freed or its rights
     * changed. Between object_commit() of the change and object_leave(). */
    bool (*revoke)(struct thread *thread, uint64_t start, uint64_t length);

    /* Whether a thread that may still use it has the locked page in its view. After revoke() none
     * has, unless a replayed log says so wrongly. */
    bool (*page_is_held)(struct thread *thread, const struct user_page *page);

    /* Recording: logs value and returns it. Replay: returns what was logged. */
    uint64_t (*value)(struct thread *thread, enum value_kind kind, uint64_t value);
    /* The frame was changed by the kernel (an emulated instruction): the point moves with it. */
    void (*moved)(struct thread *thread, struct trap_frame *frame);
    bool (*is_replay)(const struct thread *thread); /* waits for time or others are skipped */

    int (*thread_created)(struct thread *parent, struct thread *child);
    void (*thread_exit)(struct thread *thread, uint64_t status); /* by itself, last event */
    void (*fatal)(struct thread *thread, const struct trap_frame *frame, uint64_t address);
    void (*stopped)(
        struct thread *thread); /* ends because its process does, on its way to ring 3 */
    void (*parking)(struct thread *thread);  /* is about to be stopped for a while */
    void (*finish)(struct process *process); /* all its threads are gone */
};

/* ERR_BUSY: another one is registered, or (unregister) a process is being recorded. */
int recorder_register(const struct recorder *recorder);
int recorder_unregister(void);
const struct recorder *recorder_current(void); /* NULL: none */

/* A process begins or ends to be recorded or replayed: keeps the recorder from going away. */
int recorder_hold(void); /* ERR_NO_RECORDER */
void recorder_release(void);

#endif
