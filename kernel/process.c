/* SPDX-License-Identifier: MIT */
/* The life of processes and of the threads in them; stopping all of a process's threads. */
#include "kernel/process.h"

#include "arch/x86/apic.h"
#include "arch/x86/paging.h"
#include "kernel/err.h"
#include "kernel/futex.h"
#include "kernel/marker.h"
#include "kernel/panic.h"
#include "kernel/printf.h"
#include "kernel/recorder.h"
#include "kernel/string.h"
#include "mm/heap.h"

#define OUTPUT_DIGEST_BYTES 16

struct process *process_create_empty(const char *name, uint32_t pid, int *error)
{
    struct process *process = kzalloc(sizeof(*process));
    *error = ERR_NO_MEMORY;
    if (!process)
        return NULL;
    process->space = space_create();
    if (!process->space) {
        kfree(process);
        return NULL;
    }
    process->pid = pid;
    string_copy(process->name, name, sizeof(process->name));
    object_init(&process->map, OBJECT_MAP);
    object_init(&process->thread_table, OBJECT_THREADS);
    object_init(&process->output, OBJECT_OUTPUT);
    futex_init(process);
    spin_init(&process->lock, LOCK_PROCESS, "process");
    list_init(&process->threads);
    wait_queue_init(&process->changed, "process change");
    hash_init(&process->output_hash, OUTPUT_DIGEST_BYTES);
    *error = 0;
    return process;
}

struct thread *process_add_thread(struct process *process)
{
    char name[40];
    format_text(name, sizeof(name), "%s/%u", process->name, process->next_index);
    struct thread *thread = thread_create_user(process, name);
    if (!thread)
        return NULL;
    thread->index = process->next_index;
    thread->root = process->space->root;
    struct trap_frame *frame = thread_user_frame(thread);
    frame->cs = SELECTOR_USER_CODE;
    frame->ss = SELECTOR_USER_DATA;
    frame->rflags = RFLAGS_FIXED | RFLAGS_IF;
    bool enabled = spin_lock_irq(&process->lock);
    bool room = process->active_threads < PROCESS_MAX_THREADS;
    if (room) {
        list_insert_before(&process->threads, &thread->process_link);
        process->active_threads++;
        process->live_threads++;
        process->next_index++;
    }
    spin_unlock_irq(&process->lock, enabled);
    if (room)
        return thread;
    thread_discard(thread);
    return NULL;
}

void process_drop_thread(struct process *process, struct thread *thread)
{
    bool enabled = spin_lock_irq(&process->lock);
    list_remove(&thread->process_link);
    process->active_threads--;
    process->live_threads--;
    process->next_index--;
    spin_unlock_irq(&process->lock, enabled);
    thread_discard(thread);
}

struct thread *process_main_thread(struct process *process)
{
    return list_entry(process->threads.next, struct thread, process_link);
}

/* Threads may end, and new ones come, as soon as the first runs: hence the copy of the list. */
void process_start(struct process *process)
{
    struct thread *threads[PROCESS_MAX_THREADS];
    uint32_t count = 0;
    bool enabled = spin_lock_irq(&process->lock);
    list_for_each(link, &process->threads) threads[count++] =
        list_entry(link, struct thread, process_link);
    spin_unlock_irq(&process->lock, enabled);
    MARKER(process_start, MARKER_ARG(pid, process->pid),
           MARKER_ARG(name, (const char *)process->name), MARKER_ARG(threads, count));
    for (uint32_t i = 0; i < count; i++)
        thread_start(threads[i]);
}

static bool all_gone(void *argument)
{
    const struct process *process = argument;
    return __atomic_load_n(&process->live_threads, __ATOMIC_ACQUIRE) == 0;
}

bool process_wait_until(struct process *process, uint64_t deadline)
{
    if (wait_queue_sleep_until_deadline(&process->changed, all_gone, process,
                                        "the end of a process", deadline) != 0)
        return false;
    /* process_thread_gone() may still be inside of the lock that it woke us with. */
    spin_unlock_irq(&process->lock, spin_lock_irq(&process->lock));
    return true;
}

void process_wait(struct process *process)
{
    process_wait_until(process, WAIT_UNINTERRUPTIBLE);
}

void process_destroy(struct process *process)
{
    kassert(process->live_threads == 0);
    if (process->session)
        recorder_current()->finish(process);
    space_destroy(process->space);
    kfree(process);
}

void process_note_exit(struct process *process, uint32_t status)
{
    bool enabled = spin_lock_irq(&process->lock);
    if (!process->end.noted) {
        process->end.noted = true;
        process->end.exit_status = status;
    }
    spin_unlock_irq(&process->lock, enabled);
}

void process_note_killed(struct process *process, const char *reason)
{
    bool enabled = spin_lock_irq(&process->lock);
    if (!process->end.noted) {
        process->end.noted = process->end.killed = true;
        string_copy(process->end.reason, reason, sizeof(process->end.reason));
    }
    spin_unlock_irq(&process->lock, enabled);
}

void process_for_each_thread(struct process *process, void (*function)(struct thread *, void *),
                             void *argument)
{
    bool enabled = spin_lock_irq(&process->lock);
    list_for_each(link, &process->threads)
        function(list_entry(link, struct thread, process_link), argument);
    spin_unlock_irq(&process->lock, enabled);
}

/* Brings every CPU that runs a thread in ring 3 into the kernel, so that it sees what changed. */
static void kick_all(void)
{
    for (uint32_t i = 0; i < cpu_count; i++)
        if (i != this_cpu()->index)
            apic_send_ipi(i, VECTOR_IPI_KICK);
}

static void interrupt_other(struct thread *thread, void *argument)
{
    if (thread != argument)
        thread_interrupt(thread);
}

void process_end_all(struct process *process)
{
    __atomic_store_n(&process->exiting, true, __ATOMIC_SEQ_CST);
    process_for_each_thread(process, interrupt_other, current_thread());
    wait_queue_wake_all(&process->changed);
    kick_all();
}

_Noreturn void process_end_thread(void)
{
    struct thread *self = current_thread();
    struct process *process = self->process;
    irq_enable();
    bool enabled = spin_lock_irq(&process->lock);
    list_remove(&self->process_link);
    if (--process->active_threads == 0 && !process->end.noted) {
        process->end.noted = true;
        process->end.exit_status = self->exit_status;
    }
    spin_unlock_irq(&process->lock, enabled);
    wait_queue_wake_all(&process->changed);
    thread_exit();
}

void process_thread_gone(struct process *process)
{
    bool enabled = spin_lock_irq(&process->lock);
    bool last = process->live_threads == 1;
    if (!last)
        process->live_threads--;
    spin_unlock_irq(&process->lock, enabled);
    if (!last)
        return;
    MARKER(process_end, MARKER_ARG(pid, process->pid), MARKER_ARG(killed, process->end.killed),
           MARKER_ARG(status, process->end.exit_status));
    /* The waiter frees the process as soon as it sees 0, so the last step is under its lock. */
    enabled = spin_lock_irq(&process->changed.lock);
    list_for_each(link, &process->changed.sleepers)
        thread_wake(list_entry(link, struct thread, wait_link));
    __atomic_store_n(&process->live_threads, 0, __ATOMIC_RELEASE);
    spin_unlock_irq(&process->changed.lock, enabled);
}

/* --- stopping --- */

static bool others_parked(void *argument)
{
    struct process *process = argument;
    return __atomic_load_n(&process->parked, __ATOMIC_ACQUIRE) + 1 >=
           __atomic_load_n(&process->active_threads, __ATOMIC_ACQUIRE);
}

int process_stop_others(void)
{
    struct thread *self = current_thread();
    struct process *process = self->process;
    bool enabled = spin_lock_irq(&process->lock);
    bool free = process->stopper == NULL;
    if (free)
        __atomic_store_n(&process->stopper, self, __ATOMIC_SEQ_CST);
    spin_unlock_irq(&process->lock, enabled);
    if (!free)
        return ERR_BUSY;
    process_for_each_thread(process, interrupt_other, self);
    kick_all();
    wait_queue_sleep_until(&process->changed, others_parked, process, "the other threads to stop");
    return 0;
}

void process_resume_others(void)
{
    struct process *process = current_thread()->process;
    bool enabled = spin_lock_irq(&process->lock);
    __atomic_store_n(&process->stopper, NULL, __ATOMIC_SEQ_CST);
    spin_unlock_irq(&process->lock, enabled);
    wait_queue_wake_all(&process->changed);
}

static struct thread *stopper_of(const struct process *process)
{
    return __atomic_load_n(&process->stopper, __ATOMIC_SEQ_CST);
}

bool process_must_stop(const struct process *process, const struct thread *thread)
{
    struct thread *stopper = stopper_of(process);
    return process_exiting(process) || (stopper && stopper != thread);
}

static bool may_go_on(void *argument)
{
    return stopper_of(argument) == NULL;
}

/* Whoever stopped us looks at them as soon as we count as parked, which is before we left the CPU.
 */
static void save_registers(struct thread *self)
{
    bool enabled = irq_save();
    fpu_save(self->fpu);
    context_save_segments(&self->segments);
    irq_restore(enabled);
}

static void park(struct process *process)
{
    save_registers(current_thread());
    bool enabled = spin_lock_irq(&process->lock);
    process->parked++;
    spin_unlock_irq(&process->lock, enabled);
    wait_queue_wake_all(&process->changed);
    wait_queue_sleep_until(&process->changed, may_go_on, process, "a stopped process to go on");
    enabled = spin_lock_irq(&process->lock);
    process->parked--;
    spin_unlock_irq(&process->lock, enabled);
}

void process_stop_here(void)
{
    struct thread *self = current_thread();
    struct process *process = self->process;
    struct thread *stopper = stopper_of(process);
    if (stopper && stopper != self) {
        if (self->rec)
            recorder_current()->parking(self);
        park(process);
        return;
    }
    if (!process_exiting(process))
        return;
    if (self->rec)
        recorder_current()->stopped(self);
    process_end_thread();
}
