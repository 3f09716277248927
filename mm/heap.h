/* SPDX-License-Identifier: MIT */
/* The kernel heap: kmalloc and kfree.
 *
 * Size classes 16, 32 … 2048 bytes in 16 KiB slabs, larger blocks straight from the frame
 * allocator (up to 4 MiB less a header of 64 bytes). Every object is aligned to 16 bytes. A double
 * free or the free of a pointer that was never handed out is a panic that names it; DEBUG builds
 * poison freed objects and check that nobody wrote to them.
 *
 * Locks: heap lock (LOCK_HEAP), interrupts off. Any context but NMI.
 */
#ifndef MM_HEAP_H
#define MM_HEAP_H

#include <stddef.h>
#include <stdint.h>

void *kmalloc(size_t size); /* NULL when memory has run out or size is 0 or too large */
void *kzalloc(size_t size); /* all bytes 0 */
void kfree(void *object);   /* NULL is allowed */

uint64_t heap_bytes_in_use(void); /* of objects handed out, rounded up to their class */

#endif
