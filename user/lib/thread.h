/* SPDX-License-Identifier: MIT */
/* Threads: each has its own mapping that holds a guard page, its stack and its control block. */
#ifndef USER_LIB_THREAD_H
#define USER_LIB_THREAD_H

#include <stddef.h>
#include <stdint.h>

#define PAGE_SIZE 4096ul
#define THREAD_STACK_SIZE (8 * PAGE_SIZE)

typedef uint64_t thread_entry(void *argument);

/* FS points to it. tid is cleared, and its futex woken, by the kernel when the thread is gone. */
struct thread {
    struct thread *self;
    uint32_t tid;
    thread_entry *entry;
    void *argument;
    uint64_t result;
    void *mapping; /* NULL for the main thread */
};

/* Starts entry(argument) in a new thread; 0 and *created, or a negated error. */
long thread_create(struct thread **created, thread_entry *entry, void *argument);

/* Waits for the end of a thread and frees it; returns what its entry returned. */
uint64_t thread_join(struct thread *thread);

struct thread *thread_self(void);

#endif
