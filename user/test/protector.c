/* SPDX-License-Identifier: MIT */
/* protector [threads=4] [rounds=100]: one thread changes the rights of pages that the others race
 * on.
 *
 * Each mprotect takes the pages away from all threads in the middle of their accesses. The
 * signature covers everything that was read, so a replay that loses the order of one of them shows.
 */
#include "user/lib/argument.h"
#include "user/lib/atomic.h"
#include "user/lib/hash.h"
#include "user/lib/print.h"
#include "user/lib/syscall.h"
#include "user/lib/team.h"

#define PAGE_SIZE 4096
#define PAGES 64
#define WORDS (PAGE_SIZE / sizeof(uint64_t))

static volatile uint64_t shared[PAGES * WORDS] __attribute__((aligned(PAGE_SIZE)));
static unsigned long rounds;
static uint32_t finished;

static uint64_t protect_repeatedly(void)
{
    for (unsigned long i = 0; i < rounds; i++)
        sys_mprotect((void *)shared, sizeof(shared), ABI_PROT_READ | ABI_PROT_WRITE);
    atomic_store(&finished, 1);
    return 0;
}

static uint64_t protector_work(const struct team_member *member)
{
    uint64_t hash = member->index + 77;

    if (member->index == 0)
        return protect_repeatedly();
    for (unsigned long n = 0; atomic_load(&finished) == 0; n++)
        for (unsigned k = 0; k < 4; k++) {
            volatile uint64_t *element = &shared[(n + k) % PAGES * WORDS];
            hash = hash_mix(hash + n, *element);
            *element = hash;
        }
    return hash;
}

int main(int argc, char **argv)
{
    unsigned threads =
        (unsigned)argument_number(argc, argv, &(struct argument){1, "threads", 4, 2, TEAM_MAX});
    rounds = argument_number(argc, argv, &(struct argument){2, "rounds", 100, 1, 100000000});

    return print_signature("protector", team_run(threads, protector_work));
}
