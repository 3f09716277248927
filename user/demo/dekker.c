/* SPDX-License-Identifier: MIT */
/* dekker [rounds=800]: the store buffer litmus test. Two threads.
 *
 * In each round one thread stores to x and loads y, the other stores to y and loads x, with no
 * fence in between. On x86 both may miss the other's store (outcome 00), which no interleaving of
 * the four accesses explains. While pages have one writer at a time that outcome cannot occur, so
 * it may be seen plain and never in a recording. Which of the four outcomes came in which round is
 * the result; x and y stand in pages of their own.
 *
 * The stores store the number of the round: nothing needs to be reset. Before a round the threads
 * wait for each other, though not for ever, so they stay close without depending on two CPUs.
 */
#include "user/lib/argument.h"
#include "user/lib/atomic.h"
#include "user/lib/hash.h"
#include "user/lib/print.h"
#include "user/lib/team.h"

#define ROUNDS_MAX 100000
#define WAIT_SPINS 40

struct dekker_page {
    volatile uint32_t word;
    uint32_t round; /* that its thread is at */
} __attribute__((aligned(4096)));

struct dekker_page dekker_x;
struct dekker_page dekker_y;

/* Whether thread 0 and 1 saw the other's store in a round; each writes its own. */
__attribute__((aligned(4096))) static unsigned char seen_by[2][ROUNDS_MAX + 1];
static uint32_t rounds;

static void dekker_rounds(struct dekker_page *mine, struct dekker_page *other, unsigned char *seen)
{
    for (uint32_t round = 1; round <= rounds; round++) {
        atomic_store(&mine->round, round);
        for (int i = 0; i < WAIT_SPINS && atomic_load(&other->round) < round; i++)
            cpu_relax();
        mine->word = round;
        seen[round] = other->word >= round;
    }
}

static uint64_t dekker_work(const struct team_member *member)
{
    if (member->index == 0)
        dekker_rounds(&dekker_x, &dekker_y, seen_by[0]);
    else
        dekker_rounds(&dekker_y, &dekker_x, seen_by[1]);
    return 0;
}

int main(int argc, char **argv)
{
    unsigned outcomes[4] = {0};
    uint64_t signature = 0;

    rounds =
        (uint32_t)argument_number(argc, argv, &(struct argument){1, "rounds", 800, 1, ROUNDS_MAX});
    team_run(2, dekker_work);
    for (uint32_t round = 1; round <= rounds; round++) {
        unsigned outcome = seen_by[0][round] * 2u + seen_by[1][round];
        outcomes[outcome]++;
        signature = hash_mix(signature, outcome);
    }
    printf("dekker: %u rounds, seen by both %u, by one %u + %u, by none %u\n", rounds, outcomes[3],
           outcomes[1], outcomes[2], outcomes[0]);
    return print_signature("dekker", signature);
}
