/* SPDX-License-Identifier: MIT */
/* counter [threads=4] [increments=8000]: the lost update.
 *
 * All threads add one to a counter without a lock. Between load and store stands a little work, so
 * on two CPUs or more updates are lost and the total differs from run to run. The signature covers
 * every value that every thread saw: a replay that has it has the same interleaving.
 */
#include "user/lib/argument.h"
#include "user/lib/hash.h"
#include "user/lib/print.h"
#include "user/lib/team.h"

volatile uint64_t counter_value;
static unsigned long increments;

static uint64_t counter_work(const struct team_member *member)
{
    uint64_t seen = member->index;

    for (unsigned long i = 0; i < increments; i++) {
        uint64_t value = counter_value;
        seen = hash_mix(seen, value);
        __asm__ volatile("" : "+r"(seen)); /* done between the load and the store */
        counter_value = value + 1;
    }
    return seen;
}

int main(int argc, char **argv)
{
    unsigned threads =
        (unsigned)argument_number(argc, argv, &(struct argument){1, "threads", 4, 1, TEAM_MAX});
    increments =
        argument_number(argc, argv, &(struct argument){2, "increments", 8000, 1, 1000000000});

    uint64_t signature = team_run(threads, counter_work);
    printf("counter: %u threads x %lu increments = %lu, lost %lu\n", threads, increments,
           counter_value, threads * increments - counter_value);
    return print_signature("counter", hash_mix(signature, counter_value));
}
