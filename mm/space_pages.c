/* SPDX-License-Identifier: MIT */
/* Pages of a process: finding them, giving them frames, mapping them in the shared page tables. */
#include "arch/x86/layout.h"
#include "arch/x86/paging.h"
#include "kernel/err.h"
#include "kernel/panic.h"
#include "kernel/string.h"
#include "mm/frames.h"
#include "mm/heap.h"
#include "mm/page_index.h"
#include "mm/space.h"

static struct user_page *page_create(uint64_t address)
{
    struct user_page *page = kzalloc(sizeof(*page));
    if (page) {
        spin_init(&page->lock, LOCK_PAGE, "user page");
        page->address = address;
        page->writer = -1;
    }
    return page;
}

struct user_page *space_page(struct space *space, uint64_t address)
{
    address &= PAGE_MASK;
    kassert(address < USER_END);
    struct user_page *page = page_index_find(&space->index, address);
    if (page)
        return page;
    struct user_page *fresh = page_create(address);
    if (!fresh)
        return NULL;
    spin_lock(&space->lock);
    page = page_index_find(&space->index, address);
    if (!page && page_index_insert(&space->index, fresh)) {
        page = fresh;
        fresh = NULL;
        space->pages++;
    }
    spin_unlock(&space->lock);
    kfree(fresh);
    return page;
}

void space_for_each_page(struct space *space, uint64_t start, uint64_t end,
                         space_page_function *function, void *argument)
{
    page_index_for_each(&space->index, start, end, function, argument);
}

bool space_page_ensure_frame(struct user_page *page)
{
    kassert(spin_held(&page->lock));
    if (!page->frame)
        page->frame = frame_alloc_zero();
    return page->frame != 0;
}

static int map_shared(struct space *space, struct user_page *page, bool write, bool fetch)
{
    int error = ERR_EFAULT;
    spin_lock(&space->lock);
    const struct vma *vma = space_find(space, page->address);
    if (vma && space_prot_allows(vma->prot, write, fetch)) {
        uint64_t flags = PT_USER;
        flags |= vma->prot & ABI_PROT_WRITE ? PT_WRITE : 0;
        flags |= vma->prot & ABI_PROT_EXEC ? 0 : PT_NX;
        error = ERR_ENOMEM;
        if (space_page_ensure_frame(page) &&
            paging_map(space->root, page->address, page->frame, flags))
            error = 0;
    }
    spin_unlock(&space->lock);
    return error;
}

int space_fault(struct space *space, uint64_t address, bool write, bool fetch)
{
    if (address >= USER_END || !space_rights(space, address))
        return ERR_EFAULT;
    struct user_page *page = space_page(space, address);
    if (!page)
        return ERR_ENOMEM;
    spin_lock(&page->lock);
    int error = map_shared(space, page, write, fetch);
    spin_unlock(&page->lock);
    return error;
}

static void unmap_page(struct user_page *page, void *argument)
{
    struct space *space = argument;
    spin_lock(&space->lock);
    paging_unmap(space->root, page->address);
    spin_unlock(&space->lock);
}

void space_unmap_shared(struct space *space, uint64_t start, uint64_t length)
{
    space_for_each_page(space, start, start + length, unmap_page, space);
}

/* A frame that is still mapped somewhere stays with its page, as zeroes. */
static void free_frame(struct user_page *page, void *argument)
{
    space_page_is_held *const *is_held = argument;
    spin_lock(&page->lock);
    if (page->frame && *is_held && (*is_held)(page)) {
        memset(PHYS_TO_VIRT(page->frame), 0, PAGE_SIZE);
    } else if (page->frame) {
        frame_free(page->frame);
        page->frame = 0;
    }
    spin_unlock(&page->lock);
}

void space_free_frames(struct space *space, uint64_t start, uint64_t length,
                       space_page_is_held *is_held)
{
    space_for_each_page(space, start, start + length, free_frame, &is_held);
}
