/* SPDX-License-Identifier: MIT */
/* The recorder as the kernel sees it: each hook goes to recording or to replay. */
#include "arch/x86/insn.h"
#include "arch/x86/witness.h"
#include "kernel/err.h"
#include "kernel/process.h"
#include "kernel/recorder.h"
#include "mm/user_memory.h"
#include "replay/log_disk.h"
#include "replay/record.h"
#include "replay/replay.h"
#include "replay/replay_commands.h"
#include "replay/replay_session.h"
#include "replay/store_disk.h"

static bool replaying(const struct thread *thread)
{
    return thread->rec->session->replay;
}

static int64_t hook_start_rec(struct trap_frame *frame)
{
    struct thread *self = current_thread();
    struct session *session;
    if (self->rec || self->process->session || process_stop_others() != 0)
        return ERR_EBUSY;
    frame->rax = 0; /* what the call returns, here and in every replay */
    int error = self->process->session ? ERR_BUSY : record_begin(self->process, &session);
    process_resume_others();
    if (error == ERR_NO_MEMORY)
        return ERR_ENOMEM;
    return error == ERR_TOO_MANY_THREADS ? ERR_EAGAIN : error ? ERR_EBUSY : 0;
}

static int64_t hook_stop_rec(struct trap_frame *frame)
{
    struct thread *self = current_thread();
    (void)frame;
    if (!self->rec)
        return ERR_EINVAL;
    if (replaying(self))
        return replay_stop_rec(self->rec);
    if (process_stop_others() != 0)
        return ERR_EINTR; /* somebody stops us: once more afterwards */
    record_stop_session(self->rec->session);
    process_resume_others();
    return self->process->recording_lost ? ERR_ENOSPC : 0;
}

/* With a range: each page of it is acquired first, by the accessor like for any other call. */
static int acquire_range(struct thread *thread, uint64_t address, uint64_t length, bool write)
{
    for (uint64_t at = address & PAGE_MASK; at < address + length; at += PAGE_SIZE) {
        struct user_page *page;
        int error = recorder_current()->page_acquire(thread, at, write, &page);
        if (error)
            return error;
        spin_unlock(&page->lock);
    }
    return 0;
}

static int64_t hook_rec_owner(struct trap_frame *frame)
{
    struct thread *self = current_thread();
    uint64_t address = frame->rdi, length = frame->rsi, access = frame->rdx;
    if (!self->rec || access > REC_OWNER_WRITE)
        return ERR_EINVAL;
    if (address >= USER_END || length > USER_END - address)
        return ERR_EFAULT;
    int error = acquire_range(self, address, length, access == REC_OWNER_WRITE);
    if (error)
        return error;
    return replaying(self) ? replay_owner(self->rec) : record_owner(self->rec, frame);
}

static void hook_enter(struct thread *thread, struct trap_frame *frame)
{
    witness_nobody();
    replaying(thread) ? replay_enter(thread->rec, frame) : record_enter(thread->rec, frame);
}

static bool hook_leave(struct thread *thread, struct trap_frame *frame)
{
    bool go =
        replaying(thread) ? replay_leave(thread->rec, frame) : record_leave(thread->rec, frame);
    if (go)
        witness_running(thread->rec->session->witness, thread->rec->slot);
    return go;
}

/* CPUs find a missing right to write before they read an operand that they will write. Emulators
 * may read first, QEMU depending on the number of CPUs; a log must not. */
static void find_write(struct thread *thread, struct trap_frame *frame, uint64_t address)
{
    uint8_t bytes[INSN_MAX_LENGTH];
    struct insn insn;
    if (frame->error & (PF_WRITE | PF_FETCH) || address - frame->rip < INSN_MAX_LENGTH)
        return;
    unsigned available =
        (unsigned)user_peek_space(thread->process->space, frame->rip, bytes, sizeof(bytes));
    if (insn_decode(bytes, available, INSN_MODE_64, &insn) == 0 && insn_writes_operand(&insn))
        frame->error |= PF_WRITE;
}

static bool hook_page_fault(struct thread *thread, struct trap_frame *frame, uint64_t address)
{
    find_write(thread, frame, address);
    return replaying(thread) ? replay_page_fault(thread->rec, frame, address)
                             : record_page_fault(thread->rec, frame, address);
}

static bool hook_debug(struct thread *thread, struct trap_frame *frame, uint64_t dr6)
{
    return thread->rec->session->source->debug(thread->rec, frame, dr6);
}

static void hook_syscall_begin(struct thread *thread, struct trap_frame *frame)
{
    replaying(thread) ? replay_syscall_begin(thread->rec, frame)
                      : record_syscall_begin(thread->rec, frame);
}

static void hook_syscall_end(struct thread *thread, struct trap_frame *frame)
{
    replaying(thread) ? replay_syscall_end(thread->rec, frame)
                      : record_syscall_end(thread->rec, frame);
}

static int hook_page_acquire(struct thread *thread, uint64_t address, bool write,
                             struct user_page **page)
{
    return replaying(thread) ? replay_page_acquire(thread->rec, address, write, page)
                             : record_page_acquire(thread, address, write, page);
}

static bool hook_order_wait(struct thread *thread, struct object *object)
{
    return !replaying(thread) || replay_order_wait(thread->rec, object);
}

static void hook_order_done(struct thread *thread, struct object *object)
{
    replaying(thread) ? replay_order_done(thread->rec) : record_order_done(thread->rec, object);
}

static bool hook_revoke(struct thread *thread, uint64_t start, uint64_t end)
{
    if (replaying(thread))
        return replay_revoke(thread->rec, start, end);
    record_revoke(thread, start, end);
    return true;
}

static bool hook_page_is_held(struct thread *thread, const struct user_page *page)
{
    return replaying(thread) && replay_page_is_held(thread->rec->session, page);
}

static uint64_t hook_value(struct thread *thread, enum value_kind kind, uint64_t value)
{
    return replaying(thread) ? replay_value(thread->rec, kind, value)
                             : record_value(thread->rec, kind, value);
}

static void hook_moved(struct thread *thread, struct trap_frame *frame)
{
    struct rec_thread *rec = thread->rec;
    spin_lock(&rec->view_lock);
    rec->point = point_make(rec->ticks.ticks, frame);
    spin_unlock(&rec->view_lock);
}

static int hook_thread_created(struct thread *parent, struct thread *child)
{
    if (replaying(parent))
        return replay_thread_created(parent->rec, child);
    return session_add_thread(parent->rec->session, child) ? 0 : ERR_TOO_MANY_THREADS;
}

static void hook_thread_exit(struct thread *thread, uint64_t status)
{
    replaying(thread) ? replay_exit(thread->rec, status) : record_exit(thread->rec, status);
}

static void hook_fatal(struct thread *thread, const struct trap_frame *frame, uint64_t address)
{
    replaying(thread) ? replay_fatal(thread->rec, frame, address)
                      : record_fatal(thread->rec, frame, address);
}

static void hook_stopped(struct thread *thread)
{
    replaying(thread) ? replay_stopped(thread->rec) : record_stopped(thread->rec);
}

static void hook_parking(struct thread *thread)
{
    if (!replaying(thread))
        record_release_token(thread->rec);
}

/* A program that started its recording itself and ended without stop_rec. */
static void hook_finish(struct process *process)
{
    if (process->session->replay)
        return;
    struct recording *recording;
    record_finish(process->session, &recording);
    if (recording)
        record_print_line(recording);
}

const struct recorder replay_recorder = {
    .start_rec = hook_start_rec,
    .stop_rec = hook_stop_rec,
    .rec_owner = hook_rec_owner,
    .enter = hook_enter,
    .leave = hook_leave,
    .page_fault = hook_page_fault,
    .debug = hook_debug,
    .syscall_begin = hook_syscall_begin,
    .syscall_end = hook_syscall_end,
    .page_acquire = hook_page_acquire,
    .order_wait = hook_order_wait,
    .order_done = hook_order_done,
    .revoke = hook_revoke,
    .page_is_held = hook_page_is_held,
    .value = hook_value,
    .moved = hook_moved,
    .is_replay = replaying,
    .thread_created = hook_thread_created,
    .thread_exit = hook_thread_exit,
    .fatal = hook_fatal,
    .stopped = hook_stopped,
    .parking = hook_parking,
    .finish = hook_finish,
};

void replay_mount_disk(void)
{
    log_disk_mount();
}

void replay_init(void)
{
    witness_detect();
    recorder_register(&replay_recorder);
    replay_commands_register();
    store_disk_init();
}
