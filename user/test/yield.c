/* SPDX-License-Identifier: MIT */
/* yield [threads=8] [rounds=200]: threads that give their CPU away or sleep.
 *
 * Even threads call sched_yield, odd ones sleep now and then. All must finish their rounds, and no
 * sleep may be too short.
 */
#include <stdint.h>

#include "user/lib/argument.h"
#include "user/lib/atomic.h"
#include "user/lib/check.h"
#include "user/lib/syscall.h"
#include "user/lib/team.h"

#define SLEEP_NANOSECONDS 1000000
#define ROUNDS_A_SLEEP 50

static unsigned long rounds;
static uint64_t rounds_done;

static int64_t now(void)
{
    struct abi_timespec time = {0};

    check_equal("clock", sys_clock_gettime(ABI_CLOCK_MONOTONIC, &time), 0);
    return time.seconds * 1000000000 + time.nanoseconds;
}

static void sleep_checked(void)
{
    struct abi_timespec request = {0, SLEEP_NANOSECONDS};
    int64_t before = now();

    check_equal("nanosleep", sys_nanosleep(&request, NULL), 0);
    check_true("a sleep of its full length", now() - before >= SLEEP_NANOSECONDS);
}

static uint64_t yield_work(const struct team_member *member)
{
    for (unsigned long i = 0; i < rounds; i++) {
        if (member->index % 2 == 0)
            check_equal("sched_yield", sys_sched_yield(), 0);
        else if (i % ROUNDS_A_SLEEP == 0)
            sleep_checked();
        atomic_add(&rounds_done, 1);
    }
    return 0;
}

int main(int argc, char **argv)
{
    unsigned threads =
        (unsigned)argument_number(argc, argv, &(struct argument){1, "threads", 8, 1, TEAM_MAX});
    rounds = argument_number(argc, argv, &(struct argument){2, "rounds", 200, 1, 1000000});

    check_begin("yield");
    team_run(threads, yield_work);
    check_equal("rounds of all threads", (long)rounds_done, (long)(threads * rounds));
    return check_end();
}
