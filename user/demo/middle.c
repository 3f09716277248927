/* SPDX-License-Identifier: MIT */
/* middle [threads=4] [rounds=300]: a program that records a part of itself.
 *
 * All threads race on a shared array from the beginning to the end. Thread 0 starts a recording
 * when they are well under way, acquires the array's pages in one call, works for `rounds`, prints
 * what it has seen ("inside", the line to compare between recording and replay) and stops the
 * recording while the others still run. The signature covers the unrecorded parts too, so a replay
 * does not repeat it. Without a recorder it says so and runs all the same.
 */
#include "user/lib/recorder.h"

#include "user/lib/argument.h"
#include "user/lib/atomic.h"
#include "user/lib/hash.h"
#include "user/lib/print.h"
#include "user/lib/team.h"

#define ELEMENTS 512 /* one page */
#define WARM_UP_ROUNDS 200

__attribute__((aligned(4096))) volatile uint64_t middle_array[ELEMENTS];

static unsigned long rounds;
static uint32_t finished;

static uint64_t race(uint64_t hash, unsigned long count)
{
    for (unsigned long i = 0; i < count; i++) {
        volatile uint64_t *element = &middle_array[hash % ELEMENTS];
        hash = hash_mix(hash, *element);
        *element = hash;
    }
    return hash;
}

static void report(const char *call, long result)
{
    if (result < 0)
        printf("middle: %s not accepted, error %ld\n", call, result);
    else
        printf("middle: %s accepted, returned %ld\n", call, result);
}

static uint64_t lead(void)
{
    uint64_t hash = race(0, WARM_UP_ROUNDS);

    report("start_rec", recorder_start());
    hash = race(hash, rounds / 2);
    long held = recorder_own((const void *)middle_array, sizeof(middle_array), REC_OWNER_WRITE);
    hash = race(hash, rounds - rounds / 2);
    report("rec_owner", held);
    printf("middle: inside 0x%016lx\n", hash_mix(hash, (uint64_t)held));
    report("stop_rec", recorder_stop());
    hash = race(hash, WARM_UP_ROUNDS);
    atomic_store(&finished, 1);
    return hash;
}

static uint64_t middle_work(const struct team_member *member)
{
    if (member->index == 0)
        return lead();
    uint64_t hash = member->index;
    while (atomic_load(&finished) == 0)
        hash = race(hash, 16);
    return hash;
}

int main(int argc, char **argv)
{
    unsigned threads =
        (unsigned)argument_number(argc, argv, &(struct argument){1, "threads", 4, 1, TEAM_MAX});
    rounds = argument_number(argc, argv, &(struct argument){2, "rounds", 300, 1, 100000000});

    uint64_t signature = team_run(threads, middle_work);
    printf("middle: %u threads, %lu rounds inside\n", threads, rounds);
    return print_signature("middle", hash_bytes(signature, middle_array, sizeof(middle_array)));
}
