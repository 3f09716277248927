/* SPDX-License-Identifier: MIT */
/* Page tables: mapping against a list of what was mapped; and the rights of everything that the
 * kernel maps for itself, by a walk of its own over the tables.
 */
#include "arch/x86/cpu.h"
#include "arch/x86/layout.h"
#include "arch/x86/paging.h"
#include "kernel/thread.h"
#include "mm/frames.h"
#include "tests/kernel/suite.h"

#define ENTRIES 512
#define MAPPED 300

/* --- the interface --- */

struct mapping {
    uint64_t address, entry;
};

static uint64_t random_flags(uint64_t *seed)
{
    uint64_t flags = PT_USER;

    flags |= suite_random(seed) % 2 ? PT_WRITE : 0;
    flags |= suite_random(seed) % 2 && cpu_features.nx ? PT_NX : 0;
    return flags;
}

static unsigned map_random(uint64_t root, struct mapping *mappings)
{
    uint64_t seed = 31;
    unsigned wrong = 0;

    for (unsigned i = 0; i < MAPPED; i++) {
        uint64_t near = 0x40000000 + i * PAGE_SIZE;
        uint64_t any = suite_random(&seed) % (USER_END >> PAGE_SHIFT) << PAGE_SHIFT;
        uint64_t physical = (i + 1) * PAGE_SIZE, flags = random_flags(&seed);
        mappings[i].address = i % 2 ? near : any;
        mappings[i].entry = physical | flags | PT_PRESENT | PT_ACCESSED | PT_DIRTY;
        wrong += !paging_map(root, mappings[i].address, physical, flags);
    }
    return wrong;
}

static unsigned count_wrong(uint64_t root, const struct mapping *mappings, unsigned unmapped_step)
{
    unsigned wrong = 0;

    for (unsigned i = 0; i < MAPPED; i++) {
        bool unmapped = unmapped_step && i % unmapped_step == 0;
        uint64_t expected = unmapped ? 0 : mappings[i].entry;
        wrong += paging_lookup(root, mappings[i].address + 0x123) != expected;
    }
    return wrong;
}

static void test_mapping(void)
{
    static struct mapping mappings[MAPPED];
    struct frames_stats before, after;

    frames_get_stats(&before);
    uint64_t root = paging_create_root();
    is_equal(map_random(root, mappings), 0, "%u pages are mapped", MAPPED);
    is_equal(count_wrong(root, mappings, 0), 0, "and looked up, accessed and dirty");
    for (unsigned i = 0; i < MAPPED; i += 3)
        paging_unmap(root, mappings[i].address);
    is_equal(count_wrong(root, mappings, 3), 0, "every third is unmapped, and nothing else");
    paging_unmap(root, 0x7000000000); /* was never mapped */
    ok(paging_lookup(root, 0x7000000000) == 0 && paging_lookup(root, USER_END + PAGE_SIZE) == 0 &&
           paging_lookup(root, 0x8000000000000000ull) == 0,
       "what was never mapped is not there, nor are addresses that cannot be");
    ok(paging_lookup(root, (uint64_t)text_start) != 0, "the kernel is in every address space");
    paging_clear_user(root);
    is_equal(count_wrong(root, mappings, 1), 0, "after a clear the user half is empty");
    ok(paging_lookup(root, (uint64_t)text_start) != 0, "and the kernel still there");
    paging_destroy_root(root);
    frames_get_stats(&after);
    is_equal(after.free, before.free, "all tables are given back");
}

/* Whatever table is the first for which there is no frame. */
static void test_no_memory(void)
{
    uint64_t root = paging_create_root(), held = 0, frame;
    unsigned wrong = 0, refused = 0;

    while ((frame = frame_alloc()) != 0) {
        *(uint64_t *)PHYS_TO_VIRT(frame) = held;
        held = frame;
    }
    bool no_root = paging_create_root() == 0;
    for (unsigned spare = 0; spare < 4; spare++) {
        bool mapped = paging_map(root, 0x123456000, PAGE_SIZE, PT_USER);
        refused += !mapped;
        wrong += mapped != (paging_lookup(root, 0x123456000) != 0) || mapped != (spare == 3);
        frame = held;
        held = *(uint64_t *)PHYS_TO_VIRT(frame);
        frame_free(frame);
    }
    while (held) {
        frame = held;
        held = *(uint64_t *)PHYS_TO_VIRT(frame);
        frame_free(frame);
    }
    paging_destroy_root(root);
    ok(no_root, "without memory there is no new address space");
    is_equal(refused, 3, "a page needs three tables, and is refused until they can be had");
    is_equal(wrong, 0, "what is refused is not there");
}

/* --- the kernel's own half --- */

struct walk {
    unsigned pages, lower_half;
    unsigned writable_executable, user, wrong_text, wrong_rodata, wrong_data, wrong_direct,
        wrong_other;
};

static bool within(uint64_t address, const char *start, const char *end)
{
    return address >= (uint64_t)start && address < (uint64_t)end;
}

/* Text is patched through an alias of its own, and through nothing else. */
static bool is_text_or_constant(uint64_t physical)
{
    uint64_t address = KERNEL_BASE + physical;

    return within(address, text_start, text_end) || within(address, rodata_start, rodata_end);
}

/* rights: PT_WRITE only if all levels have it, PT_NX if any has. */
static void check_page(struct walk *walk, uint64_t address, uint64_t rights)
{
    bool writes = rights & PT_WRITE, executes = !(rights & PT_NX);

    walk->pages++;
    walk->writable_executable += writes && executes;
    walk->user += (rights & PT_USER) != 0;
    if (within(address, text_start, text_end))
        walk->wrong_text += writes || !executes;
    else if (within(address, rodata_start, rodata_end))
        walk->wrong_rodata += writes || executes;
    else if (within(address, data_start, data_end))
        walk->wrong_data += !writes || executes;
    else if (address < STACKS_BASE)
        walk->wrong_direct += writes == is_text_or_constant(address - DIRECT_MAP_BASE) || executes;
    else
        walk->wrong_other += executes;
}

static void walk_table(struct walk *walk, uint64_t table, unsigned level, uint64_t base,
                       uint64_t rights)
{
    const uint64_t *entries = PHYS_TO_VIRT(table & PT_ADDRESS);

    for (unsigned i = level == 3 ? ENTRIES / 2 : 0; i < ENTRIES; i++) {
        uint64_t entry = entries[i], address = base + ((uint64_t)i << (PAGE_SHIFT + 9 * level));
        uint64_t both = (rights & entry & (PT_WRITE | PT_USER)) | ((rights | entry) & PT_NX);
        if (!(entry & PT_PRESENT))
            continue;
        if (level == 3)
            address |= 0xffff000000000000ull;
        if (level == 0 || entry & PT_LARGE)
            check_page(walk, address, both);
        else
            walk_table(walk, entry, level - 1, address, both);
    }
}

static void test_kernel_half(void)
{
    struct walk walk = {0};
    const uint64_t *root = PHYS_TO_VIRT(paging_kernel_root());

    walk_table(&walk, paging_kernel_root(), 3, 0, PT_WRITE | PT_USER);
    for (unsigned i = 0; i < ENTRIES / 2; i++)
        walk.lower_half += (root[i] & PT_PRESENT) != 0;
    ok(walk.pages >= 2048, "the kernel maps 4 GiB and more (%u pages)", walk.pages);
    is_equal(walk.lower_half, 0, "nothing in the user half: the identity map is gone");
    is_equal(walk.user, 0, "no page is open to ring 3");
    if (!cpu_features.nx) {
        suite_skip("rights of the kernel's pages", "the CPU has no NX");
        return;
    }
    is_equal(walk.writable_executable, 0, "no page is both writable and executable");
    is_equal(walk.wrong_text, 0, "text is executable and not writable");
    is_equal(walk.wrong_rodata, 0, "constants are neither");
    is_equal(walk.wrong_data, 0, "data is writable and not executable");
    is_equal(walk.wrong_direct, 0,
             "the direct map is writable where it is not text or constants, and not executable");
    is_equal(walk.wrong_other, 0, "stacks and device registers are not executable");
}

/* --- stacks --- */

struct stack_check {
    unsigned threads, guards_mapped, pages_missing;
};

static void check_stack(struct thread *thread, void *argument)
{
    struct stack_check *check = argument;
    uint64_t root = paging_kernel_root(), bottom = (uint64_t)thread->stack;

    if (!bottom)
        return; /* idle threads run on the stacks of their CPUs */
    check->threads++;
    check->guards_mapped += paging_lookup(root, bottom - 1) != 0;
    check->guards_mapped += paging_lookup(root, bottom + KERNEL_STACK_SIZE) != 0;
    for (uint64_t offset = 0; offset < KERNEL_STACK_SIZE; offset += PAGE_SIZE)
        check->pages_missing += !(paging_lookup(root, bottom + offset) & PT_WRITE);
}

static void check_stacks(unsigned index, void *argument)
{
    if (index == 0)
        thread_for_each(check_stack, argument);
    thread_yield();
}

static void test_stacks(void)
{
    struct stack_check check = {0};

    crowd_run(16, check_stacks, &check);
    ok(check.threads >= 2, "%u threads have stacks", check.threads);
    is_equal(check.guards_mapped, 0, "the pages below and above each are not mapped");
    is_equal(check.pages_missing, 0, "all of each is mapped, writable");
    const char *what = paging_describe((uint64_t)current_thread()->stack - 8);
    ok(what[0] == 'k' && what[13] == 'g', "a guard page is described as such: %s", what);
}

static void run(void)
{
    test_mapping();
    test_no_memory();
    test_kernel_half();
    test_stacks();
}

const struct suite suite_paging = {"paging", run};
