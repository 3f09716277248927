/* SPDX-License-Identifier: MIT */
/* tsc [threads=4] [reads=150]: time, read in every way a program has.
 *
 * RDTSC, RDTSCP (where the CPU has it) and clock_gettime, in all threads, every value mixed into
 * the signature: it can only come again if each value was recorded. Says whether time ran backwards
 * within a thread.
 */
#include "user/lib/tsc.h"

#include "user/lib/argument.h"
#include "user/lib/atomic.h"
#include "user/lib/hash.h"
#include "user/lib/print.h"
#include "user/lib/syscall.h"
#include "user/lib/team.h"

static unsigned long reads;
static bool has_rdtscp;
static uint32_t backwards;

static void expect_later(uint64_t earlier, uint64_t later)
{
    if (later < earlier)
        atomic_add(&backwards, 1);
}

static uint64_t read_clock(void)
{
    struct abi_timespec now = {0};

    sys_clock_gettime(ABI_CLOCK_MONOTONIC, &now);
    return (uint64_t)now.seconds * 1000000000u + (uint64_t)now.nanoseconds;
}

static uint64_t tsc_work(const struct team_member *member)
{
    uint64_t hash = member->index;
    uint64_t last_tsc = 0;
    uint64_t last_clock = 0;

    for (unsigned long i = 0; i < reads; i++) {
        uint32_t aux = 0;
        uint64_t first = tsc_read();
        uint64_t second = has_rdtscp ? tsc_read_ordered(&aux) : tsc_read();
        uint64_t clock = read_clock();

        expect_later(last_tsc, first);
        expect_later(first, second);
        expect_later(last_clock, clock);
        last_tsc = second;
        last_clock = clock;
        hash = hash_mix(hash_mix(hash_mix(hash_mix(hash, first), second), aux), clock);
    }
    return hash;
}

int main(int argc, char **argv)
{
    unsigned threads =
        (unsigned)argument_number(argc, argv, &(struct argument){1, "threads", 4, 1, TEAM_MAX});
    reads = argument_number(argc, argv, &(struct argument){2, "reads", 150, 1, 100000000});
    has_rdtscp = tsc_has_rdtscp();

    uint64_t signature = team_run(threads, tsc_work);
    printf("tsc: %u threads x %lu reads, rdtscp %s, backwards %u\n", threads, reads,
           has_rdtscp ? "yes" : "no", backwards);
    return print_signature("tsc", signature);
}
