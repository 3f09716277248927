/* SPDX-License-Identifier: MIT */
/* The radix tree of a process's pages. */
#include "mm/page_index.h"

#include "arch/x86/layout.h"
#include "mm/frames.h"

#define SLOTS 512
#define LEVELS 4

static inline unsigned slot_of(uint64_t address, unsigned level)
{
    return (unsigned)(address >> (PAGE_SHIFT + 9 * level)) % SLOTS;
}

struct user_page *page_index_find(void *const *root, uint64_t address)
{
    void *node = __atomic_load_n(root, __ATOMIC_ACQUIRE);
    for (unsigned level = LEVELS; node && level-- > 0;)
        node = __atomic_load_n(&((void **)node)[slot_of(address, level)], __ATOMIC_ACQUIRE);
    return node;
}

bool page_index_insert(void **root, struct user_page *page)
{
    void **place = root;
    for (unsigned level = LEVELS; level-- > 0;) {
        if (!*place) {
            uint64_t frame = frame_alloc_zero();
            if (!frame)
                return false;
            __atomic_store_n(place, PHYS_TO_VIRT(frame), __ATOMIC_RELEASE);
        }
        place = &((void **)*place)[slot_of(page->address, level)];
    }
    __atomic_store_n(place, page, __ATOMIC_RELEASE);
    return true;
}

static void visit(void *node, unsigned level, uint64_t base, uint64_t start, uint64_t end,
                  space_page_function *function, void *argument)
{
    uint64_t span = PAGE_SIZE << (9 * level);
    for (unsigned i = 0; i < SLOTS; i++) {
        void *child = __atomic_load_n(&((void **)node)[i], __ATOMIC_ACQUIRE);
        uint64_t address = base + i * span;
        if (!child || address + span <= start || address >= end)
            continue;
        if (level == 0)
            function(child, argument);
        else
            visit(child, level - 1, address, start, end, function, argument);
    }
}

void page_index_for_each(void *const *root, uint64_t start, uint64_t end,
                         space_page_function *function, void *argument)
{
    void *node = __atomic_load_n(root, __ATOMIC_ACQUIRE);
    if (node)
        visit(node, LEVELS - 1, 0, start, end, function, argument);
}

static void destroy(void *node, unsigned level)
{
    for (unsigned i = 0; level > 0 && i < SLOTS; i++)
        if (((void **)node)[i])
            destroy(((void **)node)[i], level - 1);
    frame_free(VIRT_TO_PHYS(node));
}

void page_index_destroy(void **root)
{
    if (*root)
        destroy(*root, LEVELS - 1);
    *root = NULL;
}
