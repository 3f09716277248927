/* SPDX-License-Identifier: MIT */
/* Mappings of a process: random changes against a map that has one entry a page, also while memory
 * runs out.
 */
#include "arch/x86/paging.h"
#include "kernel/err.h"
#include "mm/space.h"
#include "tests/host/host_memory.h"
#include "tests/host/host_space.h"
#include "tests/host/random.h"
#include "tests/host/tap.h"

#define PAGES 96
#define UNMAPPED 0xff
#define MMAP_TOP 0x00007fff00000000ull /* below it space_find_gap() searches */

/* The window is at the top of what is searched for gaps, so the model sees what is found. */
#define WINDOW (MMAP_TOP - PAGES * PAGE_SIZE)

static struct space *space;
static uint8_t model[PAGES]; /* rights, or UNMAPPED */
static uint64_t seed = 11;

static uint64_t address_of(unsigned page)
{
    return WINDOW + page * PAGE_SIZE;
}

static bool model_all(unsigned first, unsigned count, bool mapped)
{
    for (unsigned i = first; i < first + count; i++)
        if ((model[i] != UNMAPPED) != mapped)
            return false;
    return true;
}

static uint64_t model_gap(unsigned count)
{
    for (unsigned first = PAGES - count + 1; first-- > 0;)
        if (model_all(first, count, false))
            return address_of(first);
    return WINDOW - count * PAGE_SIZE; /* not right below the window, but no model is needed */
}

/* --- the comparison --- */

static bool same_rights(void)
{
    for (unsigned i = 0; i < PAGES; i++) {
        const struct vma *vma = space_find(space, address_of(i) + 123);
        uint32_t expected = model[i] == UNMAPPED ? 0 : model[i];
        if ((vma != NULL) != (model[i] != UNMAPPED) || (vma && vma->prot != model[i]) ||
            space_rights(space, address_of(i)) != expected)
            return false;
    }
    return true;
}

/* Ascending, apart, whole pages; and unless a change failed half way, as few as possible. */
static bool well_formed(bool merged)
{
    const struct vma *last = NULL;

    list_for_each(link, &space->vmas)
    {
        const struct vma *vma = list_entry(link, struct vma, link);
        if (vma->start >= vma->end || (vma->start | vma->end) % PAGE_SIZE)
            return false;
        if (last && last->end > vma->start)
            return false;
        if (merged && last && last->end == vma->start && last->prot == vma->prot)
            return false;
        last = vma;
    }
    return true;
}

static bool same_ranges(void)
{
    unsigned first = (unsigned)random_below(&seed, PAGES);
    unsigned count = 1 + (unsigned)random_below(&seed, PAGES - first);

    return space_range_mapped(space, address_of(first), count * PAGE_SIZE) ==
           model_all(first, count, true);
}

/* A gap found partly below the window is one that the model does not know; it must be free. */
static bool same_gap(void)
{
    unsigned count = 1 + (unsigned)random_below(&seed, 8);
    uint64_t expected = model_gap(count), found = space_find_gap(space, count * PAGE_SIZE);

    if (expected >= WINDOW)
        return found == expected;
    return found < WINDOW && found + count * PAGE_SIZE <= address_of(count) &&
           !space_find(space, found) && !space_find(space, found + (count - 1) * PAGE_SIZE);
}

/* --- changes: each returns whether the result was what the model says --- */

static uint32_t random_rights(void)
{
    static const uint32_t rights[] = {0, ABI_PROT_READ, ABI_PROT_READ | ABI_PROT_WRITE,
                                      ABI_PROT_READ | ABI_PROT_EXEC};
    return rights[random_below(&seed, 4)];
}

static void model_set(unsigned first, unsigned count, uint8_t rights)
{
    memset(model + first, rights, count);
}

/* Memory may run out: then the change did not happen. */
static bool change_result(int error, int expected, unsigned first, unsigned count, uint8_t rights)
{
    if (error == ERR_ENOMEM && host_allowance == 0)
        return true;
    if (error == 0 && expected == 0)
        model_set(first, count, rights);
    return error == expected;
}

static bool change(void)
{
    unsigned first = (unsigned)random_below(&seed, PAGES);
    unsigned count = 1 + (unsigned)random_below(&seed, random_below(&seed, 2) ? 4 : PAGES - first);
    uint32_t rights = random_rights();

    if (count > PAGES - first)
        count = PAGES - first;
    uint64_t start = address_of(first), length = count * PAGE_SIZE;
    bool free_range = model_all(first, count, false), full_range = model_all(first, count, true);
    switch (random_below(&seed, 3)) {
    case 0:
        return change_result(space_insert(space, start, length, rights),
                             free_range ? 0 : ERR_EINVAL, first, count, (uint8_t)rights);
    case 1:
        return change_result(space_remove(space, start, length), 0, first, count, UNMAPPED);
    default:
        return change_result(space_protect(space, start, length, rights),
                             full_range ? 0 : ERR_ENOMEM, first, count, (uint8_t)rights);
    }
}

static void begin(void)
{
    space = space_create();
    memset(model, UNMAPPED, sizeof model);
    space->lock.owner = 0;
}

static void test_random_changes(void)
{
    unsigned results = 0, maps = 0, forms = 0, ranges = 0, gaps = 0;

    begin();
    for (unsigned i = 0; i < 100000; i++) {
        results += !change();
        maps += !same_rights();
        forms += !well_formed(true);
        ranges += !same_ranges();
        gaps += !same_gap();
    }
    is_u64(results, 0, "100000 changes are accepted or refused as they must be");
    is_u64(maps, 0, "the mappings are always the model's");
    is_u64(forms, 0, "ascending, apart, and never two where one would do");
    is_u64(ranges, 0, "whether a range is mapped");
    is_u64(gaps, 0, "the highest gap that is large enough is found");
    space_destroy(space);
    is_u64(host_objects, 0, "all is given back in the end");
}

static void test_no_memory(void)
{
    unsigned results = 0, maps = 0, forms = 0, refused = 0;

    begin();
    for (unsigned i = 0; i < 50000; i++) {
        host_allowance = (unsigned)random_below(&seed, 3);
        results += !change();
        refused += host_allowance == 0;
        host_allowance = ~0u;
        maps += !same_rights();
        forms += !well_formed(false);
    }
    ok(refused > 1000, "memory ran out in some changes (%u)", refused);
    is_u64(results, 0, "they say so or succeed");
    is_u64(maps, 0, "what failed has changed nothing");
    is_u64(forms, 0, "and left an orderly map");
    space_destroy(space);
    is_u64(host_objects, 0, "all is given back in the end");
}

static void test_limits(void)
{
    begin();
    is_u64((uint64_t)space_insert(space, 0, PAGE_SIZE, 1), (uint64_t)ERR_ENOMEM,
           "page 0 cannot be mapped");
    is_u64((uint64_t)space_insert(space, USER_MIN - PAGE_SIZE, PAGE_SIZE, 1), (uint64_t)ERR_ENOMEM,
           "nor what lies below USER_MIN");
    is_u64((uint64_t)space_insert(space, USER_END, PAGE_SIZE, 1), (uint64_t)ERR_ENOMEM,
           "nor the page at USER_END");
    is_u64((uint64_t)space_insert(space, DIRECT_MAP_BASE, PAGE_SIZE, 1), (uint64_t)ERR_ENOMEM,
           "nor the kernel's half");
    is_u64((uint64_t)space_insert(space, USER_MIN, -PAGE_SIZE, 1), (uint64_t)ERR_ENOMEM,
           "nor a length that wraps");
    is_u64((uint64_t)space_insert(space, USER_MIN, 0, 1), (uint64_t)ERR_ENOMEM, "nor nothing");
    is_u64((uint64_t)space_insert(space, USER_MIN, USER_END - USER_MIN, 1), 0,
           "all that a program can have can be mapped");
    is_u64(space_find_gap(space, PAGE_SIZE), 0, "then there is no gap");
    is_u64((uint64_t)space_remove(space, USER_MIN + PAGE_SIZE, PAGE_SIZE), 0, "a page is unmapped");
    is_u64(space_find_gap(space, PAGE_SIZE), USER_MIN + PAGE_SIZE, "and that is the gap");
    is_u64(space_find_gap(space, 2 * PAGE_SIZE), 0, "though not for two");
    space_destroy(space);
}

int main(void)
{
    test_random_changes();
    test_no_memory();
    test_limits();
    return done();
}
