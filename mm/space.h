/* SPDX-License-Identifier: MIT */
/* The memory of one process: its mappings (vmas), its pages, and the page tables that its
 * threads share while they are not recorded.
 *
 * A user_page stands for one page of the process for as long as the process lives, mapped or not;
 * its frame comes and goes. Whoever wants to map it, change it or read it locks it first.
 *
 * Locks: space lock (LOCK_PAGES): vmas, page index, shared page tables. Page lock (LOCK_PAGE),
 * taken before it: frame and CREW state. Changes of the map (mmap, munmap, mprotect) are serialised
 * by the process's map object (kernel/object.h).
 */
#ifndef MM_SPACE_H
#define MM_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi.h"
#include "kernel/list.h"
#include "kernel/spinlock.h"

/* An event of a recording: the thread's slot and the number of the event in its stream, from 1.
 * Event 0: none. */
struct stamp {
    uint32_t slot;
    uint64_t event;
};

struct user_page {
    struct spinlock lock;
    uint64_t address; /* fixed */
    uint64_t frame;   /* lock; 0: never written, reads as zeroes */

    /* CREW, while the process is recorded (replay/crew.h); lock. */
    uint64_t holders;        /* bit per slot: views that map it */
    int32_t writer;          /* the slot whose view maps it RW, or -1; then the only holder */
    struct stamp last_write; /* the event with which the last writer lost it */
};

struct vma {
    struct list link;
    uint64_t start, end; /* whole pages */
    uint32_t prot;       /* ABI_PROT_* */
};

struct space {
    struct spinlock lock;
    struct list vmas; /* lock; ascending, never touching with equal rights */
    uint64_t root;    /* fixed; the tables: lock */
    void *index;      /* lock to insert, read without: radix tree of user_page */
    uint64_t pages;   /* lock; how many user_page there are */
};

struct space *space_create(void); /* NULL when memory has run out */
void space_destroy(struct space *space);

/* The callers of these hold space->lock. Errors: ERR_ENOMEM, ERR_EINVAL. */
int space_insert(struct space *space, uint64_t start, uint64_t length, uint32_t prot);
int space_remove(struct space *space, uint64_t start, uint64_t length); /* holes are fine */
int space_protect(struct space *space, uint64_t start, uint64_t length, uint32_t prot);
uint64_t space_find_gap(const struct space *space, uint64_t length); /* top down; 0: none */
bool space_range_mapped(const struct space *space, uint64_t start, uint64_t length);
const struct vma *space_find(const struct space *space, uint64_t address);

/* Rights (ABI_PROT_*) of the mapping at address; 0 when there is none. Takes space->lock. */
uint32_t space_rights(struct space *space, uint64_t address);

/* The page at address (rounded down), created when there is none yet; NULL when memory has run out.
 * The address must be a user address. */
struct user_page *space_page(struct space *space, uint64_t address);

/* Calls function for each existing page in [start, end), ascending, with no lock held. */
typedef void space_page_function(struct user_page *page, void *argument);
void space_for_each_page(struct space *space, uint64_t start, uint64_t end,
                         space_page_function *function, void *argument);

/* Gives the locked page a zeroed frame when it has none. False when memory has run out. */
bool space_page_ensure_frame(struct user_page *page);

/* Whether a mapping with rights prot allows the access. On x86 whatever is mapped can be read. */
static inline bool space_prot_allows(uint32_t prot, bool write, bool fetch)
{
    if (write)
        return prot & ABI_PROT_WRITE;
    return fetch ? prot & ABI_PROT_EXEC : prot != 0;
}

/* A page fault of a thread that uses the shared page tables. write/fetch: the kind of access.
 * 0, ERR_EFAULT (no mapping or no right) or ERR_ENOMEM. */
int space_fault(struct space *space, uint64_t address, bool write, bool fetch);

/* Takes pages out of the shared page tables, so that the next access faults again; the caller
 * flushes TLBs (mm/tlb.h). Then their frames can go. */
void space_unmap_shared(struct space *space, uint64_t start, uint64_t length);
/* is_held (or NULL) says of a locked page that somebody's page tables map it all the same: then its
 * frame stays, as zeroes. */
typedef bool space_page_is_held(const struct user_page *page);
void space_free_frames(struct space *space, uint64_t start, uint64_t length,
                       space_page_is_held *is_held);

#endif
