/* SPDX-License-Identifier: MIT */
/* mapper [threads=4] [rounds=60]: mappings that change while other threads use their neighbours.
 *
 * In each round every thread maps an area, fills it, protects and unmaps parts and checks what is
 * left. Thread 0 also replaces a shared page by a fresh one, which all others must see as zeros at
 * once: a stale translation would show the old content. The result never differs and is checked.
 */
#include <stdint.h>

#include "user/lib/argument.h"
#include "user/lib/barrier.h"
#include "user/lib/check.h"
#include "user/lib/hash.h"
#include "user/lib/print.h"
#include "user/lib/string.h"
#include "user/lib/syscall.h"
#include "user/lib/team.h"
#include "user/lib/thread.h"

#define AREA_PAGES 6
#define READ_WRITE (ABI_PROT_READ | ABI_PROT_WRITE)
#define ANONYMOUS (ABI_MAP_PRIVATE | ABI_MAP_ANONYMOUS)

static unsigned long rounds;
static struct barrier round_step;
static unsigned char *shared_page;

static unsigned char *map_area(unsigned long pages)
{
    long area = sys_mmap(NULL, pages * PAGE_SIZE, READ_WRITE, ANONYMOUS);

    if (area < 0) {
        printf("mapper: mmap refused, error %ld\n", area);
        sys_exit_group(1);
    }
    return (unsigned char *)area;
}

static uint64_t hash_page(const unsigned char *page)
{
    return hash_bytes(0, page, 128);
}

/* Content of each page: a byte that only this thread uses in this round. */
static uint64_t use_own_area(unsigned char byte)
{
    unsigned char *area = map_area(AREA_PAGES);
    uint64_t hash = 0;

    for (int i = 0; i < AREA_PAGES; i++) {
        check_equal("first byte of a new page", area[(unsigned long)i * PAGE_SIZE], 0);
        memset(area + (unsigned long)i * PAGE_SIZE, byte + i, 128);
    }
    check_equal("mprotect", sys_mprotect(area + PAGE_SIZE, 2 * PAGE_SIZE, ABI_PROT_READ), 0);
    check_equal("munmap of a middle page", sys_munmap(area + 3 * PAGE_SIZE, PAGE_SIZE), 0);
    check_equal("write to a protected page",
                sys_clock_gettime(ABI_CLOCK_MONOTONIC, (void *)(area + PAGE_SIZE)), -ABI_EFAULT);
    check_equal("write to an unmapped page",
                sys_clock_gettime(ABI_CLOCK_MONOTONIC, (void *)(area + 3 * PAGE_SIZE)),
                -ABI_EFAULT);
    for (int i = 0; i < AREA_PAGES; i++) {
        if (i != 3)
            hash = hash_mix(hash, hash_page(area + (unsigned long)i * PAGE_SIZE));
    }
    check_equal("munmap of all", sys_munmap(area, AREA_PAGES * PAGE_SIZE), 0);
    return hash;
}

static void replace_shared_page(void)
{
    check_equal("mmap over the shared page",
                sys_mmap(shared_page, PAGE_SIZE, READ_WRITE, ANONYMOUS | ABI_MAP_FIXED),
                (long)shared_page);
}

static uint64_t mapper_work(const struct team_member *member)
{
    uint64_t hash = 0;

    for (unsigned long round = 0; round < rounds; round++) {
        volatile unsigned char *mine = shared_page + 64 * member->index;
        *mine = 0xee; /* the translation is now in this CPU's TLB */
        hash = hash_mix(hash, use_own_area((unsigned char)(member->index * 16 + round)));
        barrier_wait(&round_step);
        if (member->index == 0)
            replace_shared_page();
        barrier_wait(&round_step);
        check_equal("byte of the replaced page", *mine, 0);
    }
    return hash;
}

/* What the threads must come to, worked out without any mapping. */
static uint64_t expected_hash(unsigned threads)
{
    unsigned char page[128];
    uint64_t all = 0;

    for (unsigned t = 0; t < threads; t++) {
        uint64_t hash = 0;
        for (unsigned long round = 0; round < rounds; round++) {
            uint64_t area_hash = 0;
            for (unsigned i = 0; i < AREA_PAGES; i++) {
                memset(page, (unsigned char)(t * 16 + round) + (int)i, sizeof(page));
                area_hash = i != 3 ? hash_mix(area_hash, hash_page(page)) : area_hash;
            }
            hash = hash_mix(hash, area_hash);
        }
        all = hash_mix(all, hash);
    }
    return all;
}

int main(int argc, char **argv)
{
    unsigned threads =
        (unsigned)argument_number(argc, argv, &(struct argument){1, "threads", 4, 1, TEAM_MAX});
    rounds = argument_number(argc, argv, &(struct argument){2, "rounds", 60, 1, 100000});

    check_begin("mapper");
    shared_page = map_area(1);
    round_step = (struct barrier)BARRIER_INIT(threads);
    uint64_t hash = team_run(threads, mapper_work);
    check_equal("hash of all areas", (long)hash, (long)expected_hash(threads));
    return check_end();
}
