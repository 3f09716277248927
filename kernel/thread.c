/* SPDX-License-Identifier: MIT */
/* Creating and ending threads; the list of all of them.
 *
 * Locks: threads lock (LOCK_THREADS) for the list.
 */
#include "kernel/thread.h"

#include "arch/x86/paging.h"
#include "kernel/panic.h"
#include "kernel/printf.h"
#include "kernel/process.h"
#include "kernel/spinlock.h"
#include "kernel/string.h"
#include "kernel/thread_life.h"
#include "kernel/upcalls.h"
#include "mm/frames.h"
#include "mm/heap.h"

struct listed_thread {
    struct thread thread;
    struct list link;
};

static struct spinlock threads_lock = SPINLOCK_INIT(LOCK_THREADS, "thread list");
static struct list all_threads = LIST_INIT(all_threads); /* threads_lock */
static uint32_t next_id = 1;                             /* atomic */

static struct thread *thread_allocate(const char *name)
{
    struct listed_thread *listed = kzalloc(sizeof(*listed));
    if (!listed)
        return NULL;
    struct thread *thread = &listed->thread;
    string_copy(thread->name, name, sizeof(thread->name));
    thread->id = __atomic_fetch_add(&next_id, 1, __ATOMIC_RELAXED);
    thread->cpu = this_cpu()->index;
    thread->sleep_until = WAIT_FOREVER;
    list_init(&thread->run_link);
    list_init(&thread->wait_link);
    list_init(&thread->sleep_link);
    list_init(&thread->process_link);
    bool enabled = spin_lock_irq(&threads_lock);
    list_insert_before(&all_threads, &listed->link);
    spin_unlock_irq(&threads_lock, enabled);
    return thread;
}

static void thread_release(struct thread *thread)
{
    struct listed_thread *listed = list_entry(thread, struct listed_thread, thread);
    bool enabled = spin_lock_irq(&threads_lock);
    list_remove(&listed->link);
    spin_unlock_irq(&threads_lock, enabled);
    if (thread->stack)
        paging_free_stack(thread->stack, KERNEL_STACK_SIZE);
    if (thread->fpu)
        frame_free(VIRT_TO_PHYS(thread->fpu));
    kfree(listed);
}

static void start_kernel_thread(void *argument)
{
    struct thread *self = argument;
    sched_enter_thread();
    irq_enable();
    self->entry(self->argument);
    thread_exit();
}

static void start_user_thread(void *argument)
{
    struct thread *self = argument;
    sched_enter_thread();
    upcall_user_leave(thread_user_frame(self));
    context_enter_user(thread_user_frame(self));
}

static bool thread_allocate_stack(struct thread *thread, void (*start)(void *))
{
    thread->stack = paging_alloc_stack(KERNEL_STACK_SIZE);
    if (!thread->stack)
        return false;
    uint8_t *top = thread->stack + KERNEL_STACK_SIZE;
    if (thread->process)
        top -= sizeof(struct trap_frame);
    context_init(&thread->context, top, start, thread);
    return true;
}

struct thread *thread_create_kernel(const char *name, void (*entry)(void *), void *argument)
{
    struct thread *thread = thread_allocate(name);
    if (!thread)
        return NULL;
    thread->entry = entry;
    thread->argument = argument;
    if (thread_allocate_stack(thread, start_kernel_thread))
        return thread;
    thread_release(thread);
    return NULL;
}

struct thread *thread_create_user(struct process *process, const char *name)
{
    struct thread *thread = thread_allocate(name);
    if (!thread)
        return NULL;
    thread->process = process;
    uint64_t fpu = frame_alloc_zero();
    if (fpu) {
        thread->fpu = PHYS_TO_VIRT(fpu);
        fpu_init_area(thread->fpu);
    }
    if (fpu && thread_allocate_stack(thread, start_user_thread)) {
        memset(thread_user_frame(thread), 0, sizeof(struct trap_frame));
        return thread;
    }
    thread_release(thread);
    return NULL;
}

struct thread *thread_create_idle(uint32_t cpu)
{
    char name[32];
    format_text(name, sizeof(name), "idle %u", cpu);
    struct thread *thread = thread_allocate(name);
    if (!thread)
        return NULL;
    thread->idle = true;
    thread->cpu = cpu;
    return thread;
}

void thread_discard(struct thread *thread)
{
    thread_release(thread);
}

void thread_destroy(struct thread *thread)
{
    struct process *process = thread->process;
    thread_release(thread);
    if (process)
        process_thread_gone(process);
}

void thread_interrupt(struct thread *thread)
{
    __atomic_store_n(&thread->was_interrupted, true, __ATOMIC_SEQ_CST);
    thread_wake(thread);
}

bool thread_interrupted(const struct thread *thread)
{
    return __atomic_load_n(&thread->was_interrupted, __ATOMIC_SEQ_CST);
}

void thread_clear_interrupt(void)
{
    __atomic_store_n(&current_thread()->was_interrupted, false, __ATOMIC_SEQ_CST);
}

void thread_for_each(void (*function)(struct thread *, void *), void *argument)
{
    bool enabled = spin_lock_irq(&threads_lock);
    list_for_each(link, &all_threads)
        function(&list_entry(link, struct listed_thread, link)->thread, argument);
    spin_unlock_irq(&threads_lock, enabled);
}

void panic_describe_thread(char *out, unsigned size)
{
    const struct thread *thread = current_thread();
    if (!thread)
        format_text(out, size, "none (boot)");
    else if (thread->process)
        format_text(out, size, "%u %s (thread %u of its process)", thread->id, thread->name,
                    thread->index);
    else
        format_text(out, size, "%u %s (kernel)", thread->id, thread->name);
}
