/* SPDX-License-Identifier: MIT */
/* A process: one program, its address space, its threads.
 *
 * Locks: process lock (LOCK_PROCESS) for the thread list and counts; the objects' mutexes for what
 * they order. A process is freed by whoever created it, after process_wait().
 */
#ifndef KERNEL_PROCESS_H
#define KERNEL_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/hash.h"
#include "kernel/object.h"
#include "kernel/thread.h"
#include "mm/space.h"

#define PROCESS_MAX_THREADS 256 /* alive at once */
#define PROCESS_MAX_ARGS 16
#define PROCESS_RANDOM_BYTES 16
#define PROCESS_REASON_MAX 192

struct session;

struct futex_bucket {
    struct object object;
    struct list waiters;      /* object's mutex */
    struct wait_queue wakeup; /* waiters sleep here */
};

/* How a process ended. */
struct process_end {
    bool noted;                      /* the rest is set */
    bool killed;                     /* by an exception; else by exit */
    uint32_t exit_status;            /* of exit_group, or of the last exit */
    char reason[PROCESS_REASON_MAX]; /* "" or what killed it */
};

struct process {
    uint32_t pid; /* fixed; what getpid gives (a replay has the pid of its recording) */
    char name[32];
    int argc;
    char *argv[PROCESS_MAX_ARGS];
    char arguments[256]; /* what argv points into */
    uint8_t random[PROCESS_RANDOM_BYTES];
    struct space *space; /* fixed */

    struct object map, thread_table, output;
    struct futex_bucket futexes[FUTEX_BUCKETS];

    struct spinlock lock;
    struct list threads;       /* lock; those that have not ended */
    uint32_t active_threads;   /* lock; length of that list */
    uint32_t live_threads;     /* lock; those whose stack is still there */
    uint32_t next_index;       /* thread_table */
    struct wait_queue changed; /* a thread parked, resumed or went */
    bool exiting;              /* atomic; set once: every thread ends at its way to ring 3 */
    struct process_end end;    /* lock; the first reason stays */

    struct thread *stopper; /* lock; who has stopped the others, or NULL */
    uint32_t parked;        /* lock */

    char warnings[160];      /* fixed; "" or what the loader found that no recorder can trap */
    bool quiet;              /* fixed; output is hashed but not shown */
    struct hash output_hash; /* output */
    uint64_t output_bytes;   /* output */

    struct session *session;    /* replay/'s: set while it is recorded or replayed */
    const char *recording_lost; /* why its recording was given up, or NULL */
};

/* Loads a program from the archive. words[0] is its name. NULL with *error: ERR_NOT_FOUND,
 * ERR_BAD_ELF, ERR_NO_MEMORY, ERR_USAGE (too many arguments). No thread runs yet. */
struct process *process_create(int count, char **words, int *error);

/* An empty process for a replay: no mappings, no threads. */
struct process *process_create_empty(const char *name, uint32_t pid, int *error);

/* The first or a further thread, not yet started; its user frame is all zero but for CS, SS and
 * RFLAGS. NULL: memory or PROCESS_MAX_THREADS. */
struct thread *process_add_thread(struct process *process);
void process_drop_thread(struct process *process, struct thread *thread); /* never started */

struct thread *process_main_thread(struct process *process); /* before it has started */
void process_start(struct process *process);                 /* starts every thread of it */
void process_wait(struct process *process);                  /* until all threads are gone */
bool process_wait_until(struct process *process, uint64_t deadline); /* false: there still are */
void process_destroy(struct process *process);

/* How the process ended, for reports; the first note stays. */
void process_note_exit(struct process *process, uint32_t status);
void process_note_killed(struct process *process, const char *reason);

/* All other threads end on their way to ring 3, and the caller, if it is one of them, too. */
void process_end_all(struct process *process);
static inline bool process_exiting(const struct process *process)
{
    return __atomic_load_n(&process->exiting, __ATOMIC_ACQUIRE);
}

/* Ends the current thread, which holds no lock and nothing else. */
_Noreturn void process_end_thread(void);

/* Stops all other threads of the current thread's process in the kernel, with their user frames
 * complete: a system call that blocks is wound back, to start again afterwards. ERR_BUSY: somebody
 * else is stopping them. */
int process_stop_others(void);
void process_resume_others(void);

/* Calls function with the process lock held. */
void process_for_each_thread(struct process *process, void (*function)(struct thread *, void *),
                             void *argument);

/* On the way to ring 3: whether this thread must end, park or give way; and doing so. */
bool process_must_stop(const struct process *process, const struct thread *thread);
void process_stop_here(void);

/* Called by the scheduler when a dead thread's stack is free. */
void process_thread_gone(struct process *process);

#endif
