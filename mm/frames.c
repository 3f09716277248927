/* SPDX-License-Identifier: MIT */
/* The buddy allocator.
 *
 * One byte a frame says what the frame is: the head of a free block of some order, the head of an
 * allocated one, the inside of a block, or nothing of ours. The free lists run through the free
 * blocks themselves. A block's buddy is found by flipping one address bit.
 */
#include "mm/frames.h"

#include "arch/x86/layout.h"
#include "kernel/panic.h"
#include "kernel/spinlock.h"
#include "kernel/string.h"

enum {
    FRAME_NOT_OURS = 0,
    FRAME_INSIDE = 1,
    FRAME_FREE = 0x40,      /* | order: head of a free block */
    FRAME_ALLOCATED = 0x80, /* | order: head of an allocated block */
};

#define POISON 0xd5

struct free_block {
    struct free_block *next, *previous;
};

static struct spinlock frames_lock = SPINLOCK_INIT(LOCK_FRAMES, "frames");
static struct free_block *free_lists[FRAME_MAX_ORDER + 1]; /* frames_lock */
static uint8_t *frame_state;                               /* frames_lock; one a frame */
static uint64_t frame_count;                               /* fixed after frames_init */
static uint64_t total_frames, free_frames;                 /* frames_lock */

static inline uint64_t block_size(unsigned order)
{
    return PAGE_SIZE << order;
}

static void list_push(uint64_t frame, unsigned order)
{
    struct free_block *block = PHYS_TO_VIRT(frame);
    block->previous = NULL;
    block->next = free_lists[order];
    if (block->next)
        block->next->previous = block;
    free_lists[order] = block;
    frame_state[frame >> PAGE_SHIFT] = (uint8_t)(FRAME_FREE | order);
}

static void list_remove(uint64_t frame, unsigned order)
{
    struct free_block *block = PHYS_TO_VIRT(frame);
    if (block->next)
        block->next->previous = block->previous;
    if (block->previous)
        block->previous->next = block->next;
    else
        free_lists[order] = block->next;
    frame_state[frame >> PAGE_SHIFT] = FRAME_INSIDE;
}

static void merge_and_push(uint64_t frame, unsigned order)
{
    for (; order < FRAME_MAX_ORDER; order++) {
        uint64_t buddy = frame ^ block_size(order);
        if ((buddy >> PAGE_SHIFT) >= frame_count ||
            frame_state[buddy >> PAGE_SHIFT] != (FRAME_FREE | order))
            break;
        list_remove(buddy, order);
        frame_state[frame >> PAGE_SHIFT] = FRAME_INSIDE;
        frame &= ~block_size(order);
    }
    list_push(frame, order);
}

#ifdef DEBUG
static void poison_block(uint64_t frame, unsigned order)
{
    memset(PHYS_TO_VIRT(frame), POISON, block_size(order));
}

static void check_poison(uint64_t frame, unsigned order)
{
    const uint64_t *words = PHYS_TO_VIRT(frame);
    for (uint64_t offset = 0; offset < block_size(order); offset += PAGE_SIZE)
        for (uint64_t i = sizeof(struct free_block) / 8; i < PAGE_SIZE / 8; i++)
            if (words[offset / 8 + i] != 0x0101010101010101ull * POISON)
                panic("free frame 0x%llx was written to: word %llu is 0x%llx",
                      (unsigned long long)(frame + offset), (unsigned long long)i,
                      (unsigned long long)words[offset / 8 + i]);
}
#else
static void poison_block(uint64_t frame, unsigned order)
{
    (void)frame;
    (void)order;
}

static void check_poison(uint64_t frame, unsigned order)
{
    (void)frame;
    (void)order;
}
#endif

static void add_region(uint64_t start, uint64_t end)
{
    start = (start + PAGE_SIZE - 1) & PAGE_MASK;
    end &= PAGE_MASK;
    if (start == 0)
        start = PAGE_SIZE;
    while (start < end) {
        unsigned order = 0;
        while (order < FRAME_MAX_ORDER && !(start & block_size(order)) &&
               start + block_size(order + 1) <= end)
            order++;
        memset(&frame_state[start >> PAGE_SHIFT], FRAME_INSIDE, 1ull << order);
        poison_block(start, order);
        merge_and_push(start, order);
        total_frames += 1ull << order;
        free_frames += 1ull << order;
        start += block_size(order);
    }
}

/* Takes the table of frame states from the first region that has room for it. */
static uint64_t place_state_table(const struct boot_info *info, uint64_t limit, uint32_t *region)
{
    uint64_t bytes = (frame_count + PAGE_SIZE - 1) & PAGE_MASK;
    for (uint32_t i = 0; i < info->available_count; i++) {
        uint64_t start = (info->available[i].start + PAGE_SIZE - 1) & PAGE_MASK;
        uint64_t end = info->available[i].end;
        if (end <= limit && start + bytes <= end) {
            frame_state = PHYS_TO_VIRT(start);
            memset(frame_state, FRAME_NOT_OURS, bytes);
            *region = i;
            return start + bytes;
        }
    }
    panic("no memory for the table of %llu frames", (unsigned long long)frame_count);
}

void frames_init(const struct boot_info *info, uint64_t limit)
{
    uint32_t region = 0;
    frame_count = info->ram_end >> PAGE_SHIFT;
    uint64_t after_table = place_state_table(info, limit, &region);
    for (uint32_t i = 0; i < info->available_count; i++) {
        uint64_t start = i == region ? after_table : info->available[i].start;
        uint64_t end = info->available[i].end;
        add_region(start, end < limit ? end : limit);
    }
}

void frames_add_rest(const struct boot_info *info, uint64_t limit)
{
    bool enabled = spin_lock_irq(&frames_lock);
    for (uint32_t i = 0; i < info->available_count; i++) {
        uint64_t start = info->available[i].start;
        add_region(start > limit ? start : limit, info->available[i].end);
    }
    spin_unlock_irq(&frames_lock, enabled);
}

uint64_t frames_alloc(unsigned order)
{
    kassert(order <= FRAME_MAX_ORDER);
    bool enabled = spin_lock_irq(&frames_lock);
    unsigned from = order;
    while (from <= FRAME_MAX_ORDER && !free_lists[from])
        from++;
    uint64_t frame = 0;
    if (from <= FRAME_MAX_ORDER) {
        frame = VIRT_TO_PHYS(free_lists[from]);
        list_remove(frame, from);
        while (from > order) {
            from--;
            list_push(frame + block_size(from), from);
        }
        frame_state[frame >> PAGE_SHIFT] = (uint8_t)(FRAME_ALLOCATED | order);
        free_frames -= 1ull << order;
    }
    spin_unlock_irq(&frames_lock, enabled);
    if (frame)
        check_poison(frame, order);
    return frame;
}

void frames_free(uint64_t frame, unsigned order)
{
    if ((frame & (block_size(order) - 1)) || (frame >> PAGE_SHIFT) >= frame_count)
        panic("free of 0x%llx, which is no block of order %u", (unsigned long long)frame, order);
    bool enabled = spin_lock_irq(&frames_lock);
    uint8_t state = frame_state[frame >> PAGE_SHIFT];
    if (state != (FRAME_ALLOCATED | order))
        panic("free of frame 0x%llx, order %u: its state is 0x%x, expected 0x%x%s",
              (unsigned long long)frame, order, state, FRAME_ALLOCATED | order,
              state & FRAME_FREE || state == FRAME_INSIDE ? " (double free)" : "");
    poison_block(frame, order);
    free_frames += 1ull << order;
    merge_and_push(frame, order);
    spin_unlock_irq(&frames_lock, enabled);
}

uint64_t frame_alloc(void)
{
    return frames_alloc(0);
}

uint64_t frame_alloc_zero(void)
{
    uint64_t frame = frames_alloc(0);
    if (frame)
        memset(PHYS_TO_VIRT(frame), 0, PAGE_SIZE);
    return frame;
}

void frame_free(uint64_t frame)
{
    frames_free(frame, 0);
}

void frames_get_stats(struct frames_stats *out)
{
    bool enabled = spin_lock_irq(&frames_lock);
    out->total = total_frames;
    out->free = free_frames;
    out->largest_free = 0;
    for (unsigned order = 0; order <= FRAME_MAX_ORDER; order++)
        if (free_lists[order])
            out->largest_free = 1ull << order;
    spin_unlock_irq(&frames_lock, enabled);
}
