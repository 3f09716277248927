/* SPDX-License-Identifier: MIT */
/* rep [threads=4] [rounds=3]: string instructions that run for a long time over shared pages.
 *
 * A `rep` can lose its pages, or be interrupted, between any two of its iterations: RIP and the
 * count of branches stay the same, only RCX tells them apart. Each round fills, compares and copies
 * several thousand bytes that other threads write too, forwards and backwards.
 */
#include "user/lib/argument.h"
#include "user/lib/hash.h"
#include "user/lib/print.h"
#include "user/lib/team.h"

#define AREA_SIZE 16384u
#define PIECE 3000u /* bytes of one string instruction */

__attribute__((aligned(4096))) unsigned char rep_area[AREA_SIZE];
static unsigned long rounds;

static void fill_bytes(unsigned char *to, unsigned char value, unsigned long count)
{
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(value) : "memory");
}

static void copy_bytes(unsigned char *to, const unsigned char *from, unsigned long count)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
}

/* to and from are the last bytes. */
static void copy_bytes_down(unsigned char *to, const unsigned char *from, unsigned long count)
{
    __asm__ volatile("std\n\trep movsb\n\tcld"
                     : "+D"(to), "+S"(from), "+c"(count)
                     :
                     : "memory", "cc");
}

static void copy_words(unsigned char *to, const unsigned char *from, unsigned long count)
{
    __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
}

/* Returns how many bytes were left when it met a difference. */
static unsigned long compare_bytes(const unsigned char *one, const unsigned char *other,
                                   unsigned long count)
{
    __asm__ volatile("repe cmpsb" : "+D"(one), "+S"(other), "+c"(count) : : "memory", "cc");
    return count;
}

/* A place where a piece fits; at any alignment. */
static unsigned char *place(uint64_t *random)
{
    return rep_area + random_next(random) % (AREA_SIZE - PIECE);
}

static uint64_t rep_work(const struct team_member *member)
{
    uint64_t random = member->index;
    uint64_t hash = 0;

    for (unsigned long i = 0; i < rounds; i++) {
        unsigned char *to = place(&random);
        const unsigned char *from = place(&random);

        fill_bytes(place(&random), (unsigned char)random, PIECE);
        hash = hash_mix(hash, compare_bytes(to, from, PIECE / 2));
        copy_bytes(to, from, PIECE);
        copy_bytes_down(place(&random) + PIECE - 1, place(&random) + PIECE - 1, PIECE);
        copy_words(place(&random), place(&random), PIECE / 8);
        hash = hash_mix(hash, to[PIECE / 2]);
    }
    return hash;
}

int main(int argc, char **argv)
{
    unsigned threads =
        (unsigned)argument_number(argc, argv, &(struct argument){1, "threads", 4, 1, TEAM_MAX});
    rounds = argument_number(argc, argv, &(struct argument){2, "rounds", 3, 1, 1000000});

    uint64_t signature = team_run(threads, rep_work);
    uint64_t area = hash_bytes(0, rep_area, AREA_SIZE);
    printf("rep: %u threads x %lu rounds, area 0x%016lx\n", threads, rounds, area);
    return print_signature("rep", hash_mix(signature, area));
}
