/* SPDX-License-Identifier: MIT */
/* Mappings of a process: a sorted list of vmas, edited by splitting at the borders of a range. */
#include "mm/space.h"

#include "arch/x86/layout.h"
#include "arch/x86/paging.h"
#include "kernel/err.h"
#include "kernel/panic.h"
#include "kernel/string.h"
#include "mm/frames.h"
#include "mm/heap.h"
#include "mm/page_index.h"

#define MMAP_TOP 0x00007fff00000000ull

struct space *space_create(void)
{
    struct space *space = kzalloc(sizeof(*space));
    if (!space)
        return NULL;
    spin_init(&space->lock, LOCK_PAGES, "address space");
    list_init(&space->vmas);
    space->root = paging_create_root();
    if (!space->root) {
        kfree(space);
        return NULL;
    }
    return space;
}

static void free_page(struct user_page *page, void *argument)
{
    (void)argument;
    if (page->frame)
        frame_free(page->frame);
    kfree(page);
}

void space_destroy(struct space *space)
{
    page_index_for_each(&space->index, 0, USER_END, free_page, NULL);
    page_index_destroy(&space->index);
    while (!list_empty(&space->vmas)) {
        struct vma *vma = list_entry(space->vmas.next, struct vma, link);
        list_remove(&vma->link);
        kfree(vma);
    }
    paging_destroy_root(space->root);
    kfree(space);
}

static struct vma *vma_create(uint64_t start, uint64_t end, uint32_t prot)
{
    struct vma *vma = kzalloc(sizeof(*vma));
    if (vma) {
        vma->start = start;
        vma->end = end;
        vma->prot = prot;
        list_init(&vma->link);
    }
    return vma;
}

static struct vma *next_vma(const struct space *space, const struct vma *vma)
{
    return vma->link.next == &space->vmas ? NULL : list_entry(vma->link.next, struct vma, link);
}

const struct vma *space_find(const struct space *space, uint64_t address)
{
    list_for_each(link, &space->vmas)
    {
        const struct vma *vma = list_entry(link, struct vma, link);
        if (address < vma->start)
            return NULL;
        if (address < vma->end)
            return vma;
    }
    return NULL;
}

/* Makes `at` a border between vmas when it lies inside one. */
static int split(struct space *space, uint64_t at)
{
    struct vma *vma = (struct vma *)space_find(space, at);
    if (!vma || vma->start == at)
        return 0;
    struct vma *upper = vma_create(at, vma->end, vma->prot);
    if (!upper)
        return ERR_ENOMEM;
    vma->end = at;
    list_insert_before(vma->link.next, &upper->link);
    return 0;
}

static int split_range(struct space *space, uint64_t start, uint64_t length)
{
    int error = split(space, start);
    return error ? error : split(space, start + length);
}

static void merge_equal(struct space *space)
{
    struct list *link = space->vmas.next;
    while (link != &space->vmas && link->next != &space->vmas) {
        struct vma *vma = list_entry(link, struct vma, link);
        struct vma *next = next_vma(space, vma);
        if (vma->end == next->start && vma->prot == next->prot) {
            vma->end = next->end;
            list_remove(&next->link);
            kfree(next);
        } else {
            link = link->next;
        }
    }
}

int space_insert(struct space *space, uint64_t start, uint64_t length, uint32_t prot)
{
    kassert(spin_held(&space->lock));
    if (start < USER_MIN || length == 0 || start + length < start || start + length > USER_END)
        return ERR_ENOMEM;
    struct list *position = space->vmas.next;
    while (position != &space->vmas && list_entry(position, struct vma, link)->end <= start)
        position = position->next;
    if (position != &space->vmas && list_entry(position, struct vma, link)->start < start + length)
        return ERR_EINVAL;
    struct vma *vma = vma_create(start, start + length, prot);
    if (!vma)
        return ERR_ENOMEM;
    list_insert_before(position, &vma->link);
    merge_equal(space);
    return 0;
}

int space_remove(struct space *space, uint64_t start, uint64_t length)
{
    kassert(spin_held(&space->lock));
    int error = split_range(space, start, length);
    if (error)
        return error;
    for (struct list *link = space->vmas.next; link != &space->vmas;) {
        struct vma *vma = list_entry(link, struct vma, link);
        link = link->next;
        if (vma->start >= start && vma->end <= start + length) {
            list_remove(&vma->link);
            kfree(vma);
        }
    }
    return 0;
}

bool space_range_mapped(const struct space *space, uint64_t start, uint64_t length)
{
    for (uint64_t at = start; at < start + length;) {
        const struct vma *vma = space_find(space, at);
        if (!vma)
            return false;
        at = vma->end;
    }
    return true;
}

int space_protect(struct space *space, uint64_t start, uint64_t length, uint32_t prot)
{
    kassert(spin_held(&space->lock));
    if (!space_range_mapped(space, start, length))
        return ERR_ENOMEM;
    int error = split_range(space, start, length);
    if (error)
        return error;
    list_for_each(link, &space->vmas)
    {
        struct vma *vma = list_entry(link, struct vma, link);
        if (vma->start >= start && vma->end <= start + length)
            vma->prot = prot;
    }
    merge_equal(space);
    return 0;
}

uint64_t space_find_gap(const struct space *space, uint64_t length)
{
    uint64_t top = MMAP_TOP;
    for (struct list *link = space->vmas.previous; link != &space->vmas; link = link->previous) {
        const struct vma *vma = list_entry(link, struct vma, link);
        if (vma->end <= top && top - vma->end >= length)
            break;
        if (vma->start < top)
            top = vma->start;
    }
    return top >= USER_MIN + length ? top - length : 0;
}

uint32_t space_rights(struct space *space, uint64_t address)
{
    spin_lock(&space->lock);
    const struct vma *vma = space_find(space, address);
    uint32_t prot = vma ? vma->prot : 0;
    spin_unlock(&space->lock);
    return prot;
}
