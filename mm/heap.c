/* SPDX-License-Identifier: MIT */
/* The slab heap.
 *
 * A slab is one naturally aligned buddy block, so that an object's slab header is found by masking
 * its address. Large blocks carry a header of the same form in front and are told apart by their
 * magic. A bitmap in the header says which objects are handed out: the exact witness of a double
 * free.
 */
#include "mm/heap.h"

#include <stdbool.h>

#include "arch/x86/layout.h"
#include "kernel/panic.h"
#include "kernel/spinlock.h"
#include "kernel/string.h"
#include "mm/frames.h"

#define SLAB_ORDER 2
#define SLAB_SIZE (PAGE_SIZE << SLAB_ORDER)
#define CLASS_COUNT 8
#define SMALLEST 16u
#define MAX_OBJECTS (SLAB_SIZE / SMALLEST)
#define MAGIC_SLAB 0x42414c53u
#define MAGIC_LARGE 0x4547524cu
#define POISON 0xdb

struct slab {
    uint32_t magic;
    uint16_t class_index; /* MAGIC_LARGE: the order */
    uint16_t used;
    struct slab *next, *previous; /* of the slabs of this class that have room */
    uint64_t size;                /* MAGIC_LARGE: bytes asked for */
    uint64_t bitmap[MAX_OBJECTS / 64];
};

#define SLAB_HEADER ((sizeof(struct slab) + 15) & ~15ull)
#define LARGE_HEADER 64ull
_Static_assert(offsetof(struct slab, bitmap) <= LARGE_HEADER, "header of a large block");

static struct spinlock heap_lock = SPINLOCK_INIT(LOCK_HEAP, "heap");
static struct slab *partial[CLASS_COUNT]; /* heap_lock */
static uint64_t bytes_in_use;             /* heap_lock */

static inline size_t class_size(unsigned class_index)
{
    return (size_t)SMALLEST << class_index;
}

static inline unsigned class_capacity(unsigned class_index)
{
    return (unsigned)((SLAB_SIZE - SLAB_HEADER) / class_size(class_index));
}

static inline uint8_t *slab_object(struct slab *slab, unsigned index)
{
    return (uint8_t *)slab + SLAB_HEADER + index * class_size(slab->class_index);
}

static void slab_link(struct slab *slab)
{
    slab->previous = NULL;
    slab->next = partial[slab->class_index];
    if (slab->next)
        slab->next->previous = slab;
    partial[slab->class_index] = slab;
}

static void slab_unlink(struct slab *slab)
{
    if (slab->next)
        slab->next->previous = slab->previous;
    if (slab->previous)
        slab->previous->next = slab->next;
    else
        partial[slab->class_index] = slab->next;
}

static struct slab *slab_create(unsigned class_index)
{
    uint64_t frame = frames_alloc(SLAB_ORDER);
    if (!frame)
        return NULL;
    struct slab *slab = PHYS_TO_VIRT(frame);
    memset(slab, 0, sizeof(*slab));
    slab->magic = MAGIC_SLAB;
    slab->class_index = (uint16_t)class_index;
#ifdef DEBUG
    memset(slab_object(slab, 0), POISON, class_capacity(class_index) * class_size(class_index));
#endif
    slab_link(slab);
    return slab;
}

static void check_object_poison(const uint8_t *object, size_t size)
{
#ifdef DEBUG
    for (size_t i = 0; i < size; i++)
        if (object[i] != POISON)
            panic("freed object %p was written to: byte %zu is 0x%x", (const void *)object, i,
                  object[i]);
#else
    (void)object;
    (void)size;
#endif
}

static unsigned slab_take(struct slab *slab)
{
    for (unsigned word = 0;; word++) {
        uint64_t bits = ~slab->bitmap[word];
        if (bits) {
            unsigned index = word * 64 + (unsigned)__builtin_ctzll(bits);
            slab->bitmap[word] |= bits & -bits;
            return index;
        }
    }
}

static void *alloc_small(unsigned class_index)
{
    bool enabled = spin_lock_irq(&heap_lock);
    struct slab *slab = partial[class_index];
    if (!slab)
        slab = slab_create(class_index);
    uint8_t *object = NULL;
    if (slab) {
        object = slab_object(slab, slab_take(slab));
        bytes_in_use += class_size(class_index);
        if (++slab->used == class_capacity(class_index))
            slab_unlink(slab);
    }
    spin_unlock_irq(&heap_lock, enabled);
    if (object)
        check_object_poison(object, class_size(class_index));
    return object;
}

static void *alloc_large(size_t size)
{
    unsigned order = SLAB_ORDER;
    if (size > (PAGE_SIZE << FRAME_MAX_ORDER) - LARGE_HEADER)
        return NULL;
    while ((PAGE_SIZE << order) < size + LARGE_HEADER)
        order++;
    uint64_t frame = frames_alloc(order);
    if (!frame)
        return NULL;
    struct slab *header = PHYS_TO_VIRT(frame);
    header->magic = MAGIC_LARGE;
    header->class_index = (uint16_t)order;
    header->used = 1;
    header->size = size;
    bool enabled = spin_lock_irq(&heap_lock);
    bytes_in_use += PAGE_SIZE << order;
    spin_unlock_irq(&heap_lock, enabled);
    return (uint8_t *)header + LARGE_HEADER;
}

void *kmalloc(size_t size)
{
    if (size == 0)
        return NULL;
    for (unsigned i = 0; i < CLASS_COUNT; i++)
        if (size <= class_size(i))
            return alloc_small(i);
    return alloc_large(size);
}

void *kzalloc(size_t size)
{
    void *object = kmalloc(size);
    if (object)
        memset(object, 0, size);
    return object;
}

static void free_small(struct slab *slab, uint8_t *object)
{
    size_t size = class_size(slab->class_index);
    uint64_t offset = (uint64_t)(object - slab_object(slab, 0));
    uint64_t index = offset / size;
    if (offset % size || index >= class_capacity(slab->class_index))
        panic("free of %p, which is no object of its slab", (void *)object);
    bool enabled = spin_lock_irq(&heap_lock);
    uint64_t bit = 1ull << (index % 64);
    if (!(slab->bitmap[index / 64] & bit))
        panic("double free of %p (%zu bytes)", (void *)object, size);
    slab->bitmap[index / 64] &= ~bit;
#ifdef DEBUG
    memset(object, POISON, size);
#endif
    bytes_in_use -= size;
    bool was_full = slab->used == class_capacity(slab->class_index);
    slab->used--;
    if (was_full)
        slab_link(slab);
    bool spare = slab->used == 0 && (slab->next || slab->previous);
    if (spare) {
        slab_unlink(slab);
        slab->magic = 0;
    }
    spin_unlock_irq(&heap_lock, enabled);
    if (spare)
        frames_free(VIRT_TO_PHYS(slab), SLAB_ORDER);
}

static void free_large(struct slab *header)
{
    unsigned order = header->class_index;
    header->magic = 0;
    bool enabled = spin_lock_irq(&heap_lock);
    bytes_in_use -= PAGE_SIZE << order;
    spin_unlock_irq(&heap_lock, enabled);
    frames_free(VIRT_TO_PHYS(header), order);
}

void kfree(void *object)
{
    if (!object)
        return;
    struct slab *header = (struct slab *)((uint64_t)object & ~(SLAB_SIZE - 1));
    if (header->magic == MAGIC_SLAB)
        free_small(header, object);
    else if (header->magic == MAGIC_LARGE && (uint8_t *)object == (uint8_t *)header + LARGE_HEADER)
        free_large(header);
    else
        panic("free of %p, which was never handed out", object);
}

uint64_t heap_bytes_in_use(void)
{
    bool enabled = spin_lock_irq(&heap_lock);
    uint64_t bytes = bytes_in_use;
    spin_unlock_irq(&heap_lock, enabled);
    return bytes;
}
