/* SPDX-License-Identifier: MIT */
/* pingpong [rounds=400]: two threads that write one page in turns.
 *
 * The worst case for a scheme in which pages have one owner: every turn moves the page. The message
 * they pass never differs; how long each waited for its turn does, and the signature covers it.
 * Who waits long gives the CPU away, so one CPU is enough.
 */
#include "user/lib/argument.h"
#include "user/lib/atomic.h"
#include "user/lib/hash.h"
#include "user/lib/print.h"
#include "user/lib/syscall.h"
#include "user/lib/team.h"

#define SPINS_BEFORE_YIELD 64

struct pingpong_page {
    uint32_t turn; /* of the thread turn % 2 */
    uint64_t message;
} __attribute__((aligned(4096)));

struct pingpong_page pingpong_page;
static uint32_t rounds;

/* Returns how often it looked in vain. */
static unsigned wait_for_turn(uint32_t turn)
{
    unsigned spins = 0;

    while (atomic_load(&pingpong_page.turn) != turn) {
        if (++spins % SPINS_BEFORE_YIELD == 0)
            sys_sched_yield();
        cpu_relax();
    }
    return spins;
}

static uint64_t pingpong_work(const struct team_member *member)
{
    uint64_t waits = 0;

    for (uint32_t turn = member->index; turn < 2 * rounds; turn += 2) {
        waits = hash_mix(waits, wait_for_turn(turn));
        pingpong_page.message = hash_mix(pingpong_page.message, turn);
        atomic_store(&pingpong_page.turn, turn + 1);
    }
    return waits;
}

int main(int argc, char **argv)
{
    rounds =
        (uint32_t)argument_number(argc, argv, &(struct argument){1, "rounds", 400, 1, 100000000});
    uint64_t waits = team_run(2, pingpong_work);
    printf("pingpong: %u rounds, message 0x%016lx, waits 0x%016lx\n", rounds, pingpong_page.message,
           waits);
    return print_signature("pingpong", hash_mix(waits, pingpong_page.message));
}
