/* SPDX-License-Identifier: MIT */
/* Threads and the scheduler.
 *
 * A thread has a kernel stack; a user thread also has a process, and its user registers lie at the
 * top of that stack whenever it is in the kernel. The kernel is not preempted: a thread gives the
 * CPU up by blocking, by thread_yield(), or on its way back to ring 3.
 *
 * Each CPU has a run queue (LOCK_RUNQUEUE). Whoever changes a thread's `state` holds the lock of
 * the run queue of thread->cpu; that lock is held across context_switch(), so a thread that another
 * CPU sees as not running is wholly saved.
 */
#ifndef KERNEL_THREAD_H
#define KERNEL_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/x86/arch.h"
#include "arch/x86/context.h"
#include "arch/x86/cpu.h"
#include "arch/x86/layout.h"
#include "arch/x86/timer.h"
#include "kernel/list.h"

struct process;
struct rec_thread;

enum thread_state {
    THREAD_RUNNABLE, /* running, or in a run queue */
    THREAD_BLOCKED,
    THREAD_DEAD,
};

/* Entries from ring 3 by kind; for the PMU's self-test. */
struct entry_counts {
    uint64_t system_calls, page_faults, interrupts, others;
    void (*on_page_fault)(void); /* called at each, interrupts off; or NULL */
};

#define WAIT_FOREVER (UINT64_MAX - 1)     /* no deadline, but can be interrupted */
#define WAIT_UNINTERRUPTIBLE (UINT64_MAX) /* no deadline, thread_interrupt() is ignored */

struct thread {
    struct context context;        /* while not running */
    uint8_t *stack;                /* fixed; KERNEL_STACK_SIZE bytes */
    void *fpu;                     /* fixed; user threads: saved while not running */
    struct user_segments segments; /* owner; current while it does not run */
    uint64_t root;                 /* page tables; changed by the owner, or while it does not run */
    uint32_t id;                   /* fixed; unique for this boot */
    char name[32];                 /* fixed */

    enum thread_state state; /* run queue lock */
    uint32_t cpu;            /* run queue lock: where it runs, ran last or is queued */
    bool idle;               /* fixed: the idle thread of its CPU */
    bool pinned;             /* fixed before it starts: runs on `cpu` only */
    bool running;            /* run queue lock: is the current thread of `cpu` */
    bool was_interrupted;    /* atomic */
    struct list run_link;    /* run queue lock */
    struct list wait_link;   /* lock of the wait queue */
    struct list sleep_link;  /* timer lock */
    uint64_t sleep_until;    /* timer lock; WAIT_FOREVER and above: not in the list */
    const char *waits_for;   /* owner writes, anyone reads: for `threads` and reports */

    struct process *process;      /* fixed; NULL for kernel threads */
    uint32_t index;               /* fixed; in the process, from 0; never used again in it */
    struct list process_link;     /* process lock */
    uint64_t clear_child_tid;     /* owner; user address or 0 */
    uint32_t exit_status;         /* owner; of exit(2) */
    uint64_t restart_deadline;    /* owner; of a nanosleep that is started again, else 0 */
    struct entry_counts *entries; /* fixed; where entries from ring 3 are counted, or NULL */
    struct rec_thread *rec;       /* replay/: NULL when neither recorded nor replayed */
    bool no_yield;                /* owner; keeps its CPU on the way to ring 3 (progress token) */
    void (*entry)(void *);        /* kernel threads */
    void *argument;
};

void sched_init(void);                /* boot CPU: its idle thread is the running code */
_Noreturn void sched_cpu_main(void);  /* further CPUs: become the idle thread */
_Noreturn void sched_idle_loop(void); /* boot CPU, when boot is done */

/* NULL when memory has run out. The thread starts when thread_start() queues it. */
struct thread *thread_create_kernel(const char *name, void (*entry)(void *), void *argument);
struct thread *thread_create_user(struct process *process, const char *name);
void thread_discard(struct thread *thread); /* one that was never started */
void thread_start(struct thread *thread);

/* The registers with which a user thread left ring 3. */
static inline struct trap_frame *thread_user_frame(const struct thread *thread)
{
    return (struct trap_frame *)(thread->stack + KERNEL_STACK_SIZE) - 1;
}

/* Blocking, in two steps: between them the thread checks once more what it waits for, under a lock
 * that the waker takes, too. Interrupts off from before the first step to after the second. */
void thread_prepare_block(const char *what, uint64_t deadline);
void thread_block(void);
bool thread_wake(struct thread *thread); /* false: it was not blocked. Any context but NMI. */

void thread_interrupt(struct thread *thread); /* ends its present or next interruptible wait */
bool thread_interrupted(const struct thread *thread);
void thread_clear_interrupt(void);

void thread_yield(void); /* lets others on this CPU run first; interrupts stay as they are */
_Noreturn void thread_exit(void);

/* Something of higher importance waits for this CPU (checked on the way to ring 3). */
bool sched_must_yield(void);
void sched_timer_tick(void); /* upcall_timer */
void sched_look_again(void); /* upcall_ipi_reschedule */
bool sched_cpu_idle(uint32_t cpu);
bool sched_others_runnable(void); /* on this CPU's queue */

/* Threads run on the first `count` CPUs only, from their next time slice on. */
void sched_use_cpus(uint32_t count);
uint32_t sched_usable_cpus(void);

/* Calls function for every thread there is; the list's lock is held (LOCK_THREADS). */
void thread_for_each(void (*function)(struct thread *, void *), void *argument);

#endif
