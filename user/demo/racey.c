/* SPDX-License-Identifier: MIT */
/* racey [threads=4] [rounds=5000] [aligned|unaligned]: the stress test of determinism.
 *
 * Each thread has a running hash. A round picks two elements of a shared array and another thread's
 * signature by that hash, mixes them in, and writes the result back, all without locks. One access
 * in another order changes everything that follows, so two runs agree only if all their conflicting
 * accesses had one order. The signature covers the whole array and every thread's hash.
 *
 * Elements stand 512 bytes apart over eight pages. aligned: at natural alignment. unaligned: each
 * crosses a cache line and every eighth crosses a page, so one access needs two pages at once.
 */
#include <stdbool.h>

#include "user/lib/argument.h"
#include "user/lib/hash.h"
#include "user/lib/print.h"
#include "user/lib/string.h"
#include "user/lib/team.h"

#define ELEMENTS 64
#define STRIDE 512
#define UNALIGNED_SHIFT (STRIDE - 4)

typedef uint64_t __attribute__((may_alias, aligned(1))) racey_element;

__attribute__((aligned(4096))) unsigned char racey_array[ELEMENTS * STRIDE + STRIDE];
volatile uint64_t racey_signatures[TEAM_MAX];

static unsigned long rounds;
static unsigned long shift;

static volatile racey_element *element_at(uint64_t number)
{
    return (volatile racey_element *)(racey_array + number % ELEMENTS * STRIDE + shift);
}

static uint64_t racey_work(const struct team_member *member)
{
    uint64_t hash = racey_signatures[member->index];

    for (unsigned long i = 0; i < rounds; i++) {
        volatile racey_element *first = element_at(hash);
        volatile racey_element *second = element_at(hash >> 20);
        uint64_t other = racey_signatures[(hash >> 40) % member->count];

        hash = hash_mix(hash + other, *first);
        *second = hash_mix(hash, *second);
        *first = hash;
        racey_signatures[member->index] = hash;
    }
    return hash;
}

static bool parse_variant(int argc, char **argv)
{
    const char *variant = argc > 3 ? argv[3] : "aligned";

    shift = strcmp(variant, "unaligned") == 0 ? UNALIGNED_SHIFT : 0;
    if (shift == 0 && strcmp(variant, "aligned") != 0) {
        printf("racey: the third argument must be aligned or unaligned, not \"%s\"\n", variant);
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    unsigned threads =
        (unsigned)argument_number(argc, argv, &(struct argument){1, "threads", 4, 1, TEAM_MAX});
    rounds = argument_number(argc, argv, &(struct argument){2, "rounds", 5000, 1, 1000000000});
    if (!parse_variant(argc, argv))
        return 2;

    for (unsigned i = 0; i < ELEMENTS; i++)
        *element_at(i) = i;
    for (unsigned i = 0; i < threads; i++)
        racey_signatures[i] = hash_mix(i, threads);
    uint64_t signature = team_run(threads, racey_work);
    for (unsigned i = 0; i < ELEMENTS; i++)
        signature = hash_mix(signature, *element_at(i));
    printf("racey: %u threads x %lu rounds, %s elements\n", threads, rounds,
           shift != 0 ? "unaligned" : "aligned");
    return print_signature("racey", signature);
}
