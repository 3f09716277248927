/* SPDX-License-Identifier: MIT */
/* Threads on clone(): life from mapping to join. */
#include "user/lib/thread.h"

#include "user/lib/atomic.h"
#include "user/lib/print.h"
#include "user/lib/syscall.h"

#define THREAD_MAPPING_SIZE (PAGE_SIZE + THREAD_STACK_SIZE)
#define THREAD_CLONE_FLAGS                                                                         \
    (ABI_CLONE_THREAD_FLAGS | ABI_CLONE_SETTLS | ABI_CLONE_PARENT_SETTID | ABI_CLONE_CHILD_CLEARTID)

long thread_clone(unsigned long flags, void *stack, uint32_t *parent_tid, uint32_t *child_tid,
                  void *tls);
void thread_start_main(void);
_Noreturn void thread_start_child(void);

static struct thread thread_main = {.self = &thread_main};

/* Called by crt0 before main(). */
void thread_start_main(void)
{
    long error = sys_arch_prctl(ABI_ARCH_SET_FS, (unsigned long)&thread_main);

    if (error < 0) {
        printf("start: setting FS failed, error %ld\n", error);
        sys_exit_group(127);
    }
    thread_main.tid = (uint32_t)sys_gettid();
}

/* Called by thread_clone on the new thread's empty stack. */
_Noreturn void thread_start_child(void)
{
    struct thread *self = thread_self();

    self->result = self->entry(self->argument);
    sys_exit(0);
}

struct thread *thread_self(void)
{
    struct thread *self;

    __asm__("mov %%fs:0, %0" : "=r"(self));
    return self;
}

/* The control block stands at the top of the mapping, the guard page at its bottom. */
static struct thread *thread_allocate(long *error)
{
    long mapping = sys_mmap(NULL, THREAD_MAPPING_SIZE, ABI_PROT_READ | ABI_PROT_WRITE,
                            ABI_MAP_PRIVATE | ABI_MAP_ANONYMOUS);
    if (mapping < 0) {
        *error = mapping;
        return NULL;
    }
    *error = sys_mprotect((void *)mapping, PAGE_SIZE, 0);
    if (*error < 0) {
        sys_munmap((void *)mapping, THREAD_MAPPING_SIZE);
        return NULL;
    }
    uintptr_t top = (uintptr_t)mapping + THREAD_MAPPING_SIZE;
    struct thread *thread = (struct thread *)((top - sizeof(struct thread)) & ~63ul);
    thread->self = thread;
    thread->mapping = (void *)mapping;
    return thread;
}

long thread_create(struct thread **created, thread_entry *entry, void *argument)
{
    long error;
    struct thread *thread = thread_allocate(&error);

    if (thread == NULL)
        return error;
    thread->entry = entry;
    thread->argument = argument;
    error = thread_clone(THREAD_CLONE_FLAGS, thread, &thread->tid, &thread->tid, thread);
    if (error < 0) {
        sys_munmap(thread->mapping, THREAD_MAPPING_SIZE);
        return error;
    }
    *created = thread;
    return 0;
}

/* Not FUTEX_PRIVATE: the kernel's wake-up at the thread's end is a shared one. */
uint64_t thread_join(struct thread *thread)
{
    uint32_t tid;

    while ((tid = atomic_load(&thread->tid)) != 0)
        sys_futex(&thread->tid, ABI_FUTEX_WAIT, tid, NULL);
    uint64_t result = thread->result;
    sys_munmap(thread->mapping, THREAD_MAPPING_SIZE);
    return result;
}
