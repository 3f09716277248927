/* SPDX-License-Identifier: MIT */
/* straddle [threads=2] [rounds=300]: instructions that need two or three pages at once.
 *
 * Four adjacent pages A B C D. Locked adds stand across A|B and C|D; movs copies between a word of
 * A or D and one across B|C. Even threads go upwards (A|B, A to B|C, B|C to D, C|D), odd ones
 * downwards (C|D, D to B|C, B|C to A, A|B), and movs from A to B meets movs from B to A. Threads
 * that each hold one page and want the other's would starve where pages are simply passed on.
 *
 * The sums of the locked adds never differ; the old values they return, and what the copies leave
 * behind, do. (A Linux that punishes split locks runs this slowly.)
 */
#include "user/lib/argument.h"
#include "user/lib/hash.h"
#include "user/lib/print.h"
#include "user/lib/team.h"

#define PAGE 4096

__attribute__((aligned(4096))) unsigned char straddle_pages[4 * PAGE];

#define PAGE_A (straddle_pages + 64)
#define PAGE_B (straddle_pages + PAGE + 64)
#define PAGE_D (straddle_pages + 3 * PAGE + 64)
#define ACROSS_AB (straddle_pages + PAGE - 3)
#define ACROSS_BC (straddle_pages + 2 * PAGE - 5)
#define ACROSS_CD (straddle_pages + 3 * PAGE - 1)

static unsigned long rounds;

static void locked_add(unsigned char *word, uint64_t value)
{
    __asm__ volatile("lock addq %1, (%0)" : : "r"(word), "r"(value) : "memory", "cc");
}

static uint64_t locked_xadd(unsigned char *word, uint64_t value)
{
    __asm__ volatile("lock xaddq %0, (%1)" : "+r"(value) : "r"(word) : "memory", "cc");
    return value;
}

static void copy_word(unsigned char *to, const unsigned char *from)
{
    __asm__ volatile("movsq" : "+D"(to), "+S"(from) : : "memory");
}

static uint64_t read_word(const unsigned char *word)
{
    uint64_t value;

    __asm__ volatile("movq (%1), %0" : "=r"(value) : "r"(word) : "memory");
    return value;
}

static void write_word(unsigned char *word, uint64_t value)
{
    __asm__ volatile("movq %1, (%0)" : : "r"(word), "r"(value) : "memory");
}

static uint64_t go_up(uint64_t hash)
{
    locked_add(ACROSS_AB, 1);
    write_word(PAGE_A, hash);
    copy_word(ACROSS_BC, PAGE_A);
    copy_word(PAGE_D, ACROSS_BC);
    copy_word(PAGE_B, PAGE_A);
    return hash_mix(hash, locked_xadd(ACROSS_CD, 1));
}

static uint64_t go_down(uint64_t hash)
{
    locked_add(ACROSS_CD, 1);
    write_word(PAGE_D, hash);
    copy_word(ACROSS_BC, PAGE_D);
    copy_word(PAGE_A, ACROSS_BC);
    copy_word(PAGE_A, PAGE_B);
    return hash_mix(hash, locked_xadd(ACROSS_AB, 1));
}

static uint64_t straddle_work(const struct team_member *member)
{
    uint64_t hash = hash_mix(0, member->index);

    for (unsigned long i = 0; i < rounds; i++) {
        hash = member->index % 2 == 0 ? go_up(hash) : go_down(hash);
        hash = hash_mix(hash, read_word(ACROSS_BC));
    }
    return hash;
}

int main(int argc, char **argv)
{
    unsigned threads =
        (unsigned)argument_number(argc, argv, &(struct argument){1, "threads", 2, 1, TEAM_MAX});
    rounds = argument_number(argc, argv, &(struct argument){2, "rounds", 300, 1, 100000000});

    uint64_t signature = team_run(threads, straddle_work);
    uint64_t low = read_word(ACROSS_AB);
    uint64_t high = read_word(ACROSS_CD);
    printf("straddle: %u threads x %lu rounds, across A|B %lu, across C|D %lu\n", threads, rounds,
           low, high);
    if (low != threads * rounds || high != threads * rounds) {
        printf("straddle: a locked add was not atomic: both should be %lu\n", threads * rounds);
        return 1;
    }
    return print_signature("straddle", hash_bytes(signature, straddle_pages, 4 * PAGE));
}
