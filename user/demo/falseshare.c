/* SPDX-License-Identifier: MIT */
/* falseshare [threads=4] [rounds=1500]: two variables that nobody meant to share.
 *
 * Even threads add to falseshare_left, odd ones to falseshare_right. Both stand in one cache line,
 * so in one page: a report of contended pages must name this page and these two symbols. The sums
 * never differ; the order of the adds within a side does.
 */
#include "user/lib/argument.h"
#include "user/lib/atomic.h"
#include "user/lib/hash.h"
#include "user/lib/print.h"
#include "user/lib/team.h"

/* The linker script puts this section at the start of a page, alone with its kind. */
#define ONE_LINE __attribute__((section(".data.one_line")))

ONE_LINE uint64_t falseshare_left = 0;
ONE_LINE uint64_t falseshare_right = 0;

static unsigned long rounds;

static uint64_t falseshare_work(const struct team_member *member)
{
    uint64_t *mine = member->index % 2 == 0 ? &falseshare_left : &falseshare_right;
    uint64_t hash = 0;

    for (unsigned long i = 0; i < rounds; i++)
        hash = hash_mix(hash, atomic_add(mine, 1));
    return hash;
}

int main(int argc, char **argv)
{
    unsigned threads =
        (unsigned)argument_number(argc, argv, &(struct argument){1, "threads", 4, 1, TEAM_MAX});
    rounds = argument_number(argc, argv, &(struct argument){2, "rounds", 1500, 1, 1000000000});
    if ((uintptr_t)&falseshare_left / 64 != (uintptr_t)&falseshare_right / 64) {
        printf("falseshare: built wrongly: the two variables are not in one cache line\n");
        return 1;
    }

    uint64_t signature = team_run(threads, falseshare_work);
    printf("falseshare: %u threads x %lu rounds, left %lu at %p, right %lu at %p\n", threads,
           rounds, falseshare_left, (void *)&falseshare_left, falseshare_right,
           (void *)&falseshare_right);
    return print_signature("falseshare", signature);
}
