/* SPDX-License-Identifier: MIT */
/* crash [threads=4] [delay=1500]: a wild pointer, written by one thread and followed by another.
 *
 * All threads walk a ring of nodes. After `delay` steps the thread with index 1 overwrites the next
 * pointer of the node it is at; whoever comes there next dies of a page fault at
 * crash_wild_pointer. Which thread, and when, differs from run to run; where the pointer came from
 * is what a replay can show. It never prints a signature. (On Linux: SIGSEGV.)
 */
#include <stdbool.h>
#include <stdint.h>

#include "user/lib/argument.h"
#include "user/lib/hash.h"
#include "user/lib/print.h"
#include "user/lib/team.h"

#define NODES 32
#define STEPS_MAX 100000000ul /* nobody survives for so long */

struct crash_node {
    struct crash_node *volatile next;
    volatile uint64_t visits;
};

struct crash_node crash_ring[NODES];
const uintptr_t crash_wild_pointer = 0x5eadbeef0000;

static unsigned long delay;

static void build_ring(void)
{
    for (unsigned i = 0; i < NODES; i++)
        crash_ring[i].next = &crash_ring[(i * 7 + 7) % NODES];
}

static uint64_t crash_work(const struct team_member *member)
{
    struct crash_node *node = &crash_ring[member->index % NODES];
    bool vandal = member->index == 1;
    uint64_t hash = 0;

    for (unsigned long step = 0; step < STEPS_MAX; step++) {
        struct crash_node *next = node->next;
        if (vandal && step == delay)
            node->next = (struct crash_node *)crash_wild_pointer;
        hash = hash_mix(hash, node->visits++);
        node = next;
    }
    return hash;
}

int main(int argc, char **argv)
{
    unsigned threads =
        (unsigned)argument_number(argc, argv, &(struct argument){1, "threads", 4, 2, TEAM_MAX});
    delay = argument_number(argc, argv, &(struct argument){2, "delay", 1500, 1, 100000000});

    build_ring();
    printf("crash: %u threads, a wild pointer after %lu steps\n", threads, delay);
    team_run(threads, crash_work);
    printf("crash: survived, which it should not\n");
    return 1;
}
