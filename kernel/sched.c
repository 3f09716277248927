/* SPDX-License-Identifier: MIT */
/* The scheduler: a run queue per CPU, first come first served, with a time slice.
 *
 * A woken thread goes to an idle CPU when there is one, else to the CPU where it ran last; a CPU
 * that runs dry steals from the others. Idle CPUs halt without a tick.
 *
 * Locks: one run queue lock at a time, interrupts off. schedule() keeps it across the switch and
 * the thread that continues releases it.
 */
#include "arch/x86/apic.h"
#include "arch/x86/paging.h"
#include "kernel/marker.h"
#include "kernel/panic.h"
#include "kernel/process.h"
#include "kernel/sleep.h"
#include "kernel/thread_life.h"

#define TICK_NS 1000000ull

struct run_queue {
    struct spinlock lock;
    struct list threads;     /* lock */
    uint32_t length;         /* lock to write, read by all as a hint */
    struct thread *idle;     /* fixed */
    bool is_idle;            /* written by its CPU, read by all as a hint */
    bool must_yield;         /* any CPU sets, its own clears */
    struct thread *previous; /* owner CPU: whom the last switch left behind */
    bool evict;              /* owner CPU: who wants another CPU, this one being out of use */
};

static struct run_queue queues[MAX_CPUS];
static uint32_t usable_cpus = MAX_CPUS; /* atomic; threads run on CPUs below this index only */

static bool cpu_usable(uint32_t cpu)
{
    return cpu < __atomic_load_n(&usable_cpus, __ATOMIC_RELAXED);
}

static struct run_queue *own_queue(void)
{
    return &queues[this_cpu()->index];
}

/* Locks the queue of the CPU that the thread belongs to. */
static struct run_queue *lock_queue_of(struct thread *thread)
{
    for (;;) {
        uint32_t cpu = __atomic_load_n(&thread->cpu, __ATOMIC_ACQUIRE);
        spin_lock(&queues[cpu].lock);
        if (thread->cpu == cpu)
            return &queues[cpu];
        spin_unlock(&queues[cpu].lock);
    }
}

static void enqueue(struct run_queue *queue, struct thread *thread)
{
    list_insert_before(&queue->threads, &thread->run_link);
    queue->length++;
}

static struct thread *dequeue(struct run_queue *queue)
{
    if (list_empty(&queue->threads))
        return NULL;
    struct thread *thread = list_entry(queue->threads.next, struct thread, run_link);
    list_remove(&thread->run_link);
    queue->length--;
    return thread;
}

static struct thread *dequeue_movable(struct run_queue *queue)
{
    list_for_each(link, &queue->threads)
    {
        struct thread *thread = list_entry(link, struct thread, run_link);
        if (thread->pinned)
            continue;
        list_remove(&thread->run_link);
        queue->length--;
        return thread;
    }
    return NULL;
}

/* Takes one thread from the longest queue of another CPU. No lock held. */
static struct thread *steal(void)
{
    if (!cpu_usable(this_cpu()->index))
        return NULL;
    uint32_t best = this_cpu()->index, longest = 0;
    for (uint32_t i = 0; i < cpu_count; i++)
        if (i != this_cpu()->index && queues[i].length > longest) {
            longest = queues[i].length;
            best = i;
        }
    if (!longest)
        return NULL;
    spin_lock(&queues[best].lock);
    struct thread *thread = dequeue_movable(&queues[best]);
    if (thread)
        __atomic_store_n(&thread->cpu, this_cpu()->index, __ATOMIC_RELEASE);
    if (thread)
        MARKER(sched_steal, MARKER_ARG(thread, thread->id), MARKER_ARG(from, best));
    spin_unlock(&queues[best].lock);
    return thread;
}

static void arm_timer(bool idle)
{
    uint64_t next = sleep_next_deadline();
    uint64_t tick = timer_now_ns() + TICK_NS;
    timer_arm_at_ns(idle || next < tick ? next : tick);
}

static void queue_on(uint32_t cpu, struct thread *thread);

/* After a switch, on the stack of the thread that goes on. */
static void finish_switch(void)
{
    struct run_queue *queue = own_queue();
    struct thread *previous = queue->previous;
    bool evict = queue->evict;
    queue->previous = NULL;
    queue->evict = false;
    bool dead = previous && previous->state == THREAD_DEAD;
    spin_unlock(&queue->lock);
    if (evict)
        queue_on(0, previous);
    if (dead)
        thread_destroy(previous);
}

static void load_thread(struct thread *thread)
{
    struct cpu *cpu = this_cpu();
    cpu->current = thread;
    context_set_kernel_stack(thread->stack + KERNEL_STACK_SIZE);
    uint64_t root = thread->process ? thread->root : paging_kernel_root();
    if (cpu_read_cr3() != root)
        cpu_write_cr3(root);
    if (thread->process) {
        fpu_restore(thread->fpu);
        context_load_segments(&thread->segments);
    }
}

static void switch_to(struct run_queue *queue, struct thread *next)
{
    struct thread *previous = current_thread();
    if (previous->process) {
        fpu_save(previous->fpu);
        context_save_segments(&previous->segments);
    }
    MARKER(sched_switch, MARKER_ARG(from, previous->id), MARKER_ARG(to, next->id),
           MARKER_ARG(name, (const char *)next->name));
    previous->running = false;
    next->running = true;
    queue->previous = previous;
    queue->is_idle = next->idle;
    load_thread(next);
    context_switch(&previous->context, &next->context);
    finish_switch();
}

static bool wants_cpu(const struct thread *thread)
{
    return thread->state == THREAD_RUNNABLE && !thread->idle;
}

/* A CPU out of use still runs what is in its queue, once: each of them then leaves it. */
static struct thread *dequeue_or_idle(struct run_queue *queue)
{
    struct thread *next = dequeue(queue);
    return next ? next : queue->idle;
}

/* Queue locked, before and after; stealing unlocks it in between, and there a thread that was about
 * to block can have been woken. */
static struct thread *choose_next(struct run_queue *queue, struct thread *self)
{
    if (!cpu_usable(this_cpu()->index)) {
        queue->evict = wants_cpu(self) && !self->pinned;
        if (wants_cpu(self) && self->pinned)
            enqueue(queue, self);
        return queue->evict ? queue->idle : dequeue_or_idle(queue);
    }
    struct thread *next = dequeue(queue);
    if (!next && !wants_cpu(self)) {
        spin_unlock(&queue->lock);
        next = steal();
        spin_lock(&queue->lock);
        if (!next)
            next = dequeue(queue);
    }
    if (!next)
        return wants_cpu(self) ? self : queue->idle;
    if (wants_cpu(self))
        enqueue(queue, self);
    return next;
}

/* Gives the CPU to the next thread; returns when the caller's turn comes again. Interrupts off. */
static void schedule(void)
{
    struct run_queue *queue = own_queue();
    struct thread *self = current_thread();
    kassert(!irq_enabled() && spin_locks_held() == 0);
    spin_lock(&queue->lock);
    __atomic_store_n(&queue->must_yield, false, __ATOMIC_RELAXED);
    struct thread *next = choose_next(queue, self);
    arm_timer(next->idle);
    if (next == self)
        spin_unlock(&queue->lock);
    else
        switch_to(queue, next);
}

void sched_enter_thread(void)
{
    finish_switch();
}

static void queue_on(uint32_t cpu, struct thread *thread)
{
    struct run_queue *queue = &queues[cpu];
    spin_lock(&queue->lock);
    __atomic_store_n(&thread->cpu, cpu, __ATOMIC_RELEASE);
    enqueue(queue, thread);
    __atomic_store_n(&queue->must_yield, true, __ATOMIC_RELAXED);
    spin_unlock(&queue->lock);
    if (cpu != this_cpu()->index)
        apic_send_ipi(cpu, VECTOR_IPI_RESCHEDULE);
}

/* An idle CPU, the thread's own before others, else the thread's own. */
static uint32_t choose_cpu(const struct thread *thread)
{
    if (thread->pinned)
        return thread->cpu;
    if (cpu_usable(thread->cpu) && queues[thread->cpu].is_idle && queues[thread->cpu].length == 0)
        return thread->cpu;
    for (uint32_t i = 0; i < cpu_count && cpu_usable(i); i++)
        if (queues[i].is_idle && queues[i].length == 0)
            return i;
    return cpu_usable(thread->cpu) ? thread->cpu : 0;
}

void sched_use_cpus(uint32_t count)
{
    __atomic_store_n(&usable_cpus, count, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < cpu_count; i++)
        apic_send_ipi(i, VECTOR_IPI_RESCHEDULE);
}

uint32_t sched_usable_cpus(void)
{
    uint32_t usable = __atomic_load_n(&usable_cpus, __ATOMIC_RELAXED);
    return usable < cpu_count ? usable : cpu_count;
}

void thread_start(struct thread *thread)
{
    bool enabled = irq_save();
    MARKER(thread_start, MARKER_ARG(thread, thread->id),
           MARKER_ARG(name, (const char *)thread->name));
    thread->state = THREAD_RUNNABLE;
    queue_on(choose_cpu(thread), thread);
    irq_restore(enabled);
}

bool thread_wake(struct thread *thread)
{
    bool enabled = irq_save();
    struct run_queue *queue = lock_queue_of(thread);
    bool blocked = thread->state == THREAD_BLOCKED;
    bool must_queue = blocked && !thread->running;
    if (blocked) {
        thread->state = THREAD_RUNNABLE;
        MARKER(sched_wake, MARKER_ARG(thread, thread->id), MARKER_ARG(ran_on, thread->cpu));
    }
    spin_unlock(&queue->lock);
    if (must_queue)
        queue_on(choose_cpu(thread), thread);
    irq_restore(enabled);
    return blocked;
}

void thread_prepare_block(const char *what, uint64_t deadline)
{
    struct thread *self = current_thread();
    kassert(!irq_enabled());
    self->waits_for = what;
    MARKER(sched_block, MARKER_ARG(what, what));
    struct run_queue *queue = own_queue();
    spin_lock(&queue->lock);
    self->state = THREAD_BLOCKED;
    spin_unlock(&queue->lock);
    /* Blocked first: another CPU's timer can find the deadline passed as soon as it is listed. */
    if (deadline < WAIT_FOREVER)
        sleep_enqueue(self, deadline);
}

void thread_block(void)
{
    schedule();
    sleep_dequeue(current_thread());
    current_thread()->waits_for = NULL;
}

void thread_yield(void)
{
    bool enabled = irq_save();
    schedule();
    irq_restore(enabled);
}

_Noreturn void thread_exit(void)
{
    irq_disable();
    struct run_queue *queue = own_queue();
    MARKER(thread_end, MARKER_ARG(thread, current_thread()->id));
    spin_lock(&queue->lock);
    current_thread()->state = THREAD_DEAD;
    spin_unlock(&queue->lock);
    schedule();
    panic("a dead thread was run");
}

bool sched_must_yield(void)
{
    return __atomic_load_n(&own_queue()->must_yield, __ATOMIC_RELAXED);
}

bool sched_others_runnable(void)
{
    return own_queue()->length > 0;
}

bool sched_cpu_idle(uint32_t cpu)
{
    return queues[cpu].is_idle;
}

void sched_timer_tick(void)
{
    sleep_wake_due();
    struct run_queue *queue = own_queue();
    if (queue->length > 0)
        __atomic_store_n(&queue->must_yield, true, __ATOMIC_RELAXED);
    arm_timer(queue->is_idle && queue->length == 0);
}

void sched_look_again(void)
{
    __atomic_store_n(&own_queue()->must_yield, true, __ATOMIC_RELAXED);
}

_Noreturn void sched_idle_loop(void)
{
    for (;;) {
        irq_disable();
        schedule();
        if (own_queue()->length == 0)
            cpu_idle_wait();
    }
}

static void queue_setup(uint32_t index)
{
    struct run_queue *queue = &queues[index];
    spin_init(&queue->lock, LOCK_RUNQUEUE, "run queue");
    list_init(&queue->threads);
    queue->idle = thread_create_idle(index);
    if (!queue->idle)
        panic("out of memory for the idle thread of CPU %u", index);
    queue->idle->running = true;
    queue->is_idle = true;
    this_cpu()->current = queue->idle;
}

void sched_init(void)
{
    for (uint32_t i = 1; i < MAX_CPUS; i++) {
        spin_init(&queues[i].lock, LOCK_RUNQUEUE, "run queue");
        list_init(&queues[i].threads);
    }
    queue_setup(0);
}

_Noreturn void sched_cpu_main(void)
{
    queue_setup(this_cpu()->index);
    sched_idle_loop();
}
