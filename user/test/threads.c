/* SPDX-License-Identifier: MIT */
/* threads [N=48] [rounds=3]: creation and end of threads, and the limits.
 *
 * First N threads one after the other; then, `rounds` times, up to N at once, which all wait before
 * any may end. Being refused some is no failure if the error is EAGAIN or ENOMEM, but a later round
 * must get as many as the first: what ended threads held must come back.
 */
#include <stdint.h>

#include "user/lib/argument.h"
#include "user/lib/atomic.h"
#include "user/lib/check.h"
#include "user/lib/print.h"
#include "user/lib/syscall.h"
#include "user/lib/thread.h"

#define THREADS_MAX 4096

static struct thread *threads[THREADS_MAX];
static uint32_t gate_open;

static uint64_t answer(void *number)
{
    return (uint64_t)(uintptr_t)number * 3 + 1;
}

static uint64_t answer_at_gate(void *number)
{
    while (atomic_load(&gate_open) == 0)
        sys_futex(&gate_open, ABI_FUTEX_WAIT | ABI_FUTEX_PRIVATE_FLAG, 0, NULL);
    return answer(number);
}

static void run_one_by_one(unsigned long count)
{
    for (unsigned long i = 0; i < count; i++) {
        struct thread *thread;
        long error = thread_create(&thread, answer, (void *)i);
        check_equal("single thread", error, 0);
        if (error == 0)
            check_equal("its result", (long)thread_join(thread), (long)(i * 3 + 1));
    }
}

/* Returns how many it got. */
static unsigned long run_at_once(unsigned long count)
{
    unsigned long got = 0;

    atomic_store(&gate_open, 0);
    for (; got < count; got++) {
        long error = thread_create(&threads[got], answer_at_gate, (void *)got);
        if (error == 0)
            continue;
        check_either("error at the limit", error, -ABI_EAGAIN, -ABI_ENOMEM);
        break;
    }
    atomic_store(&gate_open, 1);
    sys_futex(&gate_open, ABI_FUTEX_WAKE | ABI_FUTEX_PRIVATE_FLAG, INT32_MAX, NULL);
    for (unsigned long i = 0; i < got; i++)
        check_equal("result of one of many", (long)thread_join(threads[i]), (long)(i * 3 + 1));
    return got;
}

int main(int argc, char **argv)
{
    unsigned long count =
        argument_number(argc, argv, &(struct argument){1, "N", 48, 1, THREADS_MAX});
    unsigned long rounds = argument_number(argc, argv, &(struct argument){2, "rounds", 3, 1, 1000});

    check_begin("threads");
    run_one_by_one(count);
    unsigned long first = run_at_once(count);
    printf("threads: %lu of %lu at once\n", first, count);
    check_true("at least one thread", first > 0);
    for (unsigned long i = 1; i < rounds; i++)
        check_equal("threads in a later round", (long)run_at_once(count), (long)first);
    return check_end();
}
