/* SPDX-License-Identifier: MIT */
/* Page tables: the only code that knows their format.
 *
 * An address space is named by the physical address of its PML4 (its "root"). The kernel half is
 * shared by all. Locks: the caller's; nothing here takes one.
 */
#ifndef ARCH_X86_PAGING_H
#define ARCH_X86_PAGING_H

#include <stdbool.h>
#include <stdint.h>

#define PT_PRESENT (1ull << 0)
#define PT_WRITE (1ull << 1)
#define PT_USER (1ull << 2)
#define PT_WRITE_THROUGH (1ull << 3)
#define PT_CACHE_DISABLE (1ull << 4)
#define PT_ACCESSED (1ull << 5)
#define PT_DIRTY (1ull << 6)
#define PT_LARGE (1ull << 7)
#define PT_GLOBAL (1ull << 8)
#define PT_NX (1ull << 63)
#define PT_ADDRESS 0x000ffffffffff000ull

/* Boot CPU, once the frame allocator runs: builds the final kernel half (image W^X, direct map
 * up to ram_end and at least 4 GiB) and switches to it; the identity map is gone afterwards. */
void paging_init(uint64_t ram_end);
void paging_use_kernel_root(void); /* this CPU: CR3 = the kernel's own address space */
uint64_t paging_kernel_root(void);

uint64_t paging_create_root(void);       /* empty user half; 0 when memory has run out */
void paging_destroy_root(uint64_t root); /* frees the tables of the user half, not the pages */

/* Maps one 4 KiB page. flags: PT_WRITE, PT_USER, PT_NX, cache bits; present, accessed and dirty are
 * always set. False when memory has run out. No flush. */
bool paging_map(uint64_t root, uint64_t address, uint64_t physical, uint64_t flags);
void paging_unmap(uint64_t root, uint64_t address);      /* no flush */
uint64_t paging_lookup(uint64_t root, uint64_t address); /* the entry; 0 when not present */
void paging_clear_user(uint64_t root); /* all entries of the user half not present; tables stay */

/* Device registers; never unmapped. Panics when the region is full. */
void *paging_map_device(uint64_t physical, uint64_t size);

/* Maps code that was written through the direct map: whole pages of physical memory, readable and
 * executable, never writable at that address, within 2 GiB of the image; never unmapped. 0 when
 * memory or the region has run out. Locks: its own. */
uint64_t paging_map_code(uint64_t physical, uint64_t size);

/* A kernel stack of `size` bytes (whole pages) with a guard page below; its lowest address, or
 * NULL. Stacks are reused, never unmapped, so no shootdown. Locks: its own. */
void *paging_alloc_stack(uint64_t size);
void paging_free_stack(void *stack, uint64_t size);

/* A writable, not executable mapping of the text at `address` and behind it, up to the end of the
 * next page; this CPU's TLB only knows it until paging_close_text(), and so might others that
 * speculate: paging_flush_text() on each of them before it is opened for another page.
 * One at a time, by a thread that does not sleep in between. */
uint8_t *paging_open_text(uint64_t address);
void paging_close_text(void);
void paging_flush_text(void);

/* What a faulting kernel address is: "kernel stack guard page", "NULL page", … for reports. */
const char *paging_describe(uint64_t address);

/* Maps everything a CPU starting in the trampoline needs below 1 MiB 1:1 (root below 4 GiB for
 * its 32-bit CR3 load), and takes that away again. */
uint64_t paging_trampoline_root(void);
void paging_trampoline_done(void);

#endif
