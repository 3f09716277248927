/* SPDX-License-Identifier: MIT */
/* spin [threads=3] [rounds=5]: threads that wait for a flag in memory and never enter the kernel.
 *
 * Thread 0 sets the flag after a sleep. On one CPU only preemption lets it come back; on many, and
 * while pages have owners, only an interrupt takes the page from the spinning threads.
 */
#include <stdint.h>

#include "user/lib/argument.h"
#include "user/lib/atomic.h"
#include "user/lib/barrier.h"
#include "user/lib/check.h"
#include "user/lib/syscall.h"
#include "user/lib/team.h"

static unsigned long rounds;
static volatile uint32_t flag;
static volatile uint64_t payload;
static struct barrier round_done;

static void set_flag(uint32_t round)
{
    struct abi_timespec delay = {0, 1000000};

    sys_nanosleep(&delay, NULL);
    payload = round * 1000ul;
    flag = round;
}

/* x86 keeps the order of stores and of loads: whoever sees the flag sees the payload. */
static void await_flag(uint32_t round)
{
    while (flag != round)
        ;
    check_equal("payload behind the flag", (long)payload, round * 1000l);
}

static uint64_t spin_work(const struct team_member *member)
{
    for (uint32_t round = 1; round <= rounds; round++) {
        if (member->index == 0)
            set_flag(round);
        else
            await_flag(round);
        barrier_wait(&round_done);
    }
    return 0;
}

int main(int argc, char **argv)
{
    unsigned threads =
        (unsigned)argument_number(argc, argv, &(struct argument){1, "threads", 3, 2, TEAM_MAX});
    rounds = argument_number(argc, argv, &(struct argument){2, "rounds", 5, 1, 100000});

    check_begin("spin");
    round_done = (struct barrier)BARRIER_INIT(threads);
    team_run(threads, spin_work);
    check_equal("last flag", flag, (long)rounds);
    return check_end();
}
