/* SPDX-License-Identifier: MIT */
/* The frame allocator and the heap for kernel files in host tests, over malloc(): counted, so that
 * a test sees what was not given back, and refusing when a test wants it.
 *
 * A frame's physical address is chosen so that PHYS_TO_VIRT() gives the memory itself.
 */
#ifndef TESTS_HOST_HOST_MEMORY_H
#define TESTS_HOST_HOST_MEMORY_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arch/x86/layout.h"
#include "mm/frames.h"
#include "mm/heap.h"

static unsigned host_frames, host_objects; /* handed out */
static unsigned host_allowance = ~0u;      /* so many requests are granted, then none */

static inline bool host_may_allocate(void)
{
    if (host_allowance == 0)
        return false;
    if (host_allowance != ~0u)
        host_allowance--;
    return true;
}

uint64_t frame_alloc(void)
{
    if (!host_may_allocate())
        return 0;
    host_frames++;
    return VIRT_TO_PHYS(aligned_alloc(PAGE_SIZE, PAGE_SIZE));
}

uint64_t frame_alloc_zero(void)
{
    uint64_t frame = frame_alloc();

    if (frame)
        memset(PHYS_TO_VIRT(frame), 0, PAGE_SIZE);
    return frame;
}

void frame_free(uint64_t frame)
{
    host_frames--;
    free(PHYS_TO_VIRT(frame));
}

void *kmalloc(size_t size)
{
    if (size == 0 || !host_may_allocate())
        return NULL;
    host_objects++;
    return malloc(size);
}

void *kzalloc(size_t size)
{
    void *object = kmalloc(size);

    if (object)
        memset(object, 0, size);
    return object;
}

void kfree(void *object)
{
    if (object)
        host_objects--;
    free(object);
}

#endif
