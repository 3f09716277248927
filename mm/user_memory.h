/* SPDX-License-Identifier: MIT */
/* The one way to a program's memory: checked copies through the direct map.
 *
 * Works for the current thread on its own process. Page by page, each held under its page lock
 * while it is copied; a recorded thread gets the page first exactly as by a fault. The kernel never
 * touches user addresses, so a wild pointer is an error and not a fault.
 *
 * Context: thread, interrupts on, no spinlock held; an object may be held. Errors: ERR_EFAULT
 * (no mapping or no right; what came before the bad page has been copied), ERR_ENOMEM.
 */
#ifndef MM_USER_MEMORY_H
#define MM_USER_MEMORY_H

#include <stddef.h>
#include <stdint.h>

int user_read(uint64_t address, void *to, size_t length);
int user_write(uint64_t address, const void *from, size_t length);

/* As user_read, but tells how many bytes could be copied: for write(2). */
size_t user_read_partial(uint64_t address, void *to, size_t length);

/* For the kernel's own look at code and stack of a thread that is not running ring-3 code: copies
 * what `root` (its page tables) maps at the moment, never faults, changes nothing, logs nothing.
 * Returns how many bytes could be read. Interrupts off, or the view locked. */
size_t user_peek(uint64_t root, uint64_t address, void *to, size_t length);

/* The same of a process's memory, whatever any page tables say. Thread context, no page locked. */
struct space;
size_t user_peek_space(struct space *space, uint64_t address, void *to, size_t length);

/* Likewise for writing; false (and nothing written) unless root maps all of it writable. */
_Bool user_poke(uint64_t root, uint64_t address, const void *from, size_t length);

#endif
