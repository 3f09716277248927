/* SPDX-License-Identifier: MIT */
/* Pages of a process: the index by address, faults, frames that come and go, memory that runs out.
 */
#include "kernel/err.h"
#include "mm/page_index.h"
#include "mm/space.h"
#include "tests/host/host_memory.h"
#include "tests/host/host_space.h"
#include "tests/host/random.h"
#include "tests/host/tap.h"

#define PAGES 600
#define AREA 0x10000000ull
#define READ ABI_PROT_READ
#define READ_WRITE (ABI_PROT_READ | ABI_PROT_WRITE)
#define READ_EXEC (ABI_PROT_READ | ABI_PROT_EXEC)

static uint64_t seed = 4;
static uint64_t addresses[PAGES]; /* ascending */
static struct user_page *pages[PAGES];

static int compare_u64(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return a < b ? -1 : a > b;
}

/* Half of them close together, the others anywhere; the borders of all levels are among them. */
static void choose_addresses(void)
{
    for (unsigned i = 0; i < PAGES; i++) {
        uint64_t any = random_below(&seed, USER_END / PAGE_SIZE) * PAGE_SIZE;
        uint64_t near = AREA + random_below(&seed, 4 * PAGES) * PAGE_SIZE;
        addresses[i] = i % 2 ? any : near;
    }
    for (unsigned level = 0; level < 4; level++)
        addresses[level] = (PAGE_SIZE << (9 * level)) - (level ? PAGE_SIZE : 0);
    addresses[4] = USER_END - PAGE_SIZE;
    qsort(addresses, PAGES, sizeof addresses[0], compare_u64);
    for (unsigned i = 1; i < PAGES; i++)
        if (addresses[i] <= addresses[i - 1])
            addresses[i] = addresses[i - 1] + PAGE_SIZE;
}

/* --- the index --- */

struct visit {
    unsigned next, wrong;
};

static void visit_page(struct user_page *page, void *argument)
{
    struct visit *visit = argument;

    visit->wrong += visit->next >= PAGES || page->address != addresses[visit->next];
    visit->next++;
}

static bool range_is_visited(const struct space *space, uint64_t start, uint64_t end)
{
    struct visit visit = {0};
    unsigned last = 0;

    while (visit.next < PAGES && addresses[visit.next] < start)
        visit.next++;
    while (last < PAGES && addresses[last] < end)
        last++;
    if (last < visit.next)
        last = visit.next;
    space_for_each_page((struct space *)space, start, end, visit_page, &visit);
    return visit.wrong == 0 && visit.next == last;
}

static void test_index(void)
{
    struct space *space = space_create();
    unsigned wrong = 0;

    choose_addresses();
    for (unsigned i = 0; i < PAGES; i++) { /* 599 has no divisor in common with 600 */
        unsigned at = i * 599 % PAGES;
        pages[at] = space_page(space, addresses[at] + random_below(&seed, PAGE_SIZE));
        wrong += !pages[at] || pages[at]->address != addresses[at] || pages[at]->writer != -1;
    }
    is_u64(wrong, 0, "%d pages are created where they are asked for", PAGES);
    is_u64(space->pages, PAGES, "and counted");
    for (unsigned i = 0; i < PAGES; i++)
        wrong += space_page(space, addresses[i]) != pages[i] ||
                 page_index_find(&space->index, addresses[i]) != pages[i];
    is_u64(wrong, 0, "each is found again");
    is_u64(space->pages, PAGES, "none was made twice");
    for (unsigned i = 0; i + 1 < PAGES; i++)
        if (addresses[i] + PAGE_SIZE < addresses[i + 1])
            wrong += page_index_find(&space->index, addresses[i] + PAGE_SIZE) != NULL;
    is_u64(wrong, 0, "and nothing beside them");
    wrong += !range_is_visited(space, 0, USER_END);
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t start = addresses[random_below(&seed, PAGES)];
        uint64_t end = addresses[random_below(&seed, PAGES)] + random_below(&seed, 2) * PAGE_SIZE;
        wrong += !range_is_visited(space, start, end);
    }
    is_u64(wrong, 0, "any range is visited in ascending order, all of it and no more");
    space_destroy(space);
    is_u64(host_frames + host_objects, 0, "all is given back in the end");
}

/* --- faults --- */

static struct space *mapped_space(uint32_t prot)
{
    struct space *space = space_create();

    if (space_insert(space, AREA, 4 * PAGE_SIZE, prot) != 0)
        ok(false, "four pages are mapped");
    return space;
}

static void check_fault(uint32_t prot, bool write, bool fetch, bool allowed, const char *what)
{
    struct space *space = mapped_space(prot);
    int error = space_fault(space, AREA + PAGE_SIZE + 5, write, fetch);
    const struct host_entry *entry = host_entry_at(AREA + PAGE_SIZE);
    struct user_page *page = page_index_find(&space->index, AREA + PAGE_SIZE);

    if (!allowed) {
        is_u64((uint64_t)error, (uint64_t)ERR_EFAULT, "%s: refused", what);
        ok(!entry, "%s: nothing is mapped", what);
    } else {
        uint64_t flags =
            PT_USER | (prot & ABI_PROT_WRITE ? PT_WRITE : 0) | (prot & ABI_PROT_EXEC ? 0 : PT_NX);
        is_u64((uint64_t)error, 0, "%s: allowed", what);
        ok(entry && page && entry->physical == page->frame && entry->flags == flags,
           "%s: its frame is mapped with the mapping's rights", what);
    }
    ok(host_locks == 0, "%s: no lock is left", what);
    space_destroy(space);
}

static void test_faults(void)
{
    check_fault(READ, false, false, true, "read of a readable page");
    check_fault(READ, true, false, false, "write to it");
    check_fault(READ, false, true, false, "fetch from it");
    check_fault(READ_WRITE, true, false, true, "write to a writable page");
    check_fault(READ_WRITE, false, true, false, "fetch from it");
    check_fault(READ_EXEC, false, true, true, "fetch from an executable page");
    check_fault(READ_EXEC, true, false, false, "write to it");
    check_fault(0, false, false, false, "read of a page without rights");

    struct space *space = mapped_space(READ_WRITE);
    is_u64((uint64_t)space_fault(space, AREA - 1, false, false), (uint64_t)ERR_EFAULT,
           "the page before a mapping");
    is_u64((uint64_t)space_fault(space, AREA + 4 * PAGE_SIZE, false, false), (uint64_t)ERR_EFAULT,
           "the page behind it");
    is_u64((uint64_t)space_fault(space, USER_END, false, false), (uint64_t)ERR_EFAULT, "USER_END");
    is_u64((uint64_t)space_fault(space, UINT64_MAX, true, false), (uint64_t)ERR_EFAULT,
           "the highest address");
    is_u64(space->pages, 0, "none of these made a page");
    space_destroy(space);
}

static void test_frames(void)
{
    struct space *space = mapped_space(READ_WRITE);
    unsigned before = host_frames;

    for (unsigned i = 0; i < 4; i++)
        space_fault(space, AREA + i * PAGE_SIZE, true, false);
    struct user_page *page = space_page(space, AREA + PAGE_SIZE);
    memset(PHYS_TO_VIRT(page->frame), 7, PAGE_SIZE);
    space_unmap_shared(space, AREA + PAGE_SIZE, 2 * PAGE_SIZE);
    ok(host_entry_at(AREA) && !host_entry_at(AREA + PAGE_SIZE) &&
           !host_entry_at(AREA + 2 * PAGE_SIZE) && host_entry_at(AREA + 3 * PAGE_SIZE),
       "exactly the range is unmapped");
    unsigned used = host_frames;
    space_free_frames(space, AREA + PAGE_SIZE, 2 * PAGE_SIZE, NULL);
    is_u64(used - host_frames, 2, "and its two frames are given back");
    ok(page->frame == 0 && space_page(space, AREA + PAGE_SIZE) == page, "its pages stay");
    space_fault(space, AREA + PAGE_SIZE, false, false);
    const uint8_t *bytes = PHYS_TO_VIRT(page->frame);
    ok(bytes[0] == 0 && memcmp(bytes, bytes + 1, PAGE_SIZE - 1) == 0, "a new frame is all zeroes");
    space_destroy(space);
    ok(before <= used && host_frames == 0, "all is given back in the end");
}

/* Whatever request is the first that is refused. */
static void test_no_memory(void)
{
    unsigned wrong = 0, refused = 0;

    for (unsigned allowance = 0; allowance < 12; allowance++) {
        struct space *space = mapped_space(READ_WRITE);
        host_allowance = allowance;
        int error = space_fault(space, AREA, true, false);
        host_allowance = ~0u;
        refused += error == ERR_ENOMEM;
        wrong += error != 0 && (error != ERR_ENOMEM || host_entry_at(AREA));
        wrong += host_locks != 0 || space_fault(space, AREA, true, false) != 0;
        space_destroy(space);
        wrong += host_frames + host_objects;
    }
    ok(refused >= 5, "a fault needs memory in several places (%u)", refused);
    is_u64(wrong, 0, "where there is none it says so, and works as soon as there is some");
}

int main(void)
{
    test_index();
    test_faults();
    test_frames();
    test_no_memory();
    return done();
}
