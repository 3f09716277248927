/* SPDX-License-Identifier: MIT */
/* mutex [threads=4] [rounds=400]: a counter behind a lock.
 *
 * The count never differs; the order in which the threads got the lock does. Both are printed, and
 * the signature covers both. Shows system calls (futex) ordered together with memory.
 */
#include "user/lib/mutex.h"

#include "user/lib/argument.h"
#include "user/lib/hash.h"
#include "user/lib/print.h"
#include "user/lib/team.h"

static struct mutex lock;
uint64_t mutex_count; /* under lock, like mutex_order */
uint64_t mutex_order;
static unsigned long rounds;

static uint64_t mutex_work(const struct team_member *member)
{
    for (unsigned long i = 0; i < rounds; i++) {
        mutex_lock(&lock);
        mutex_count++;
        mutex_order = hash_mix(mutex_order, member->index);
        mutex_unlock(&lock);
    }
    return 0;
}

int main(int argc, char **argv)
{
    unsigned threads =
        (unsigned)argument_number(argc, argv, &(struct argument){1, "threads", 4, 1, TEAM_MAX});
    rounds = argument_number(argc, argv, &(struct argument){2, "rounds", 400, 1, 1000000000});

    team_run(threads, mutex_work);
    printf("mutex: %u threads, count %lu, order 0x%016lx\n", threads, mutex_count, mutex_order);
    if (mutex_count != threads * rounds) {
        printf("mutex: the lock failed: count should be %lu\n", threads * rounds);
        return 1;
    }
    return print_signature("mutex", hash_mix(mutex_order, mutex_count));
}
