/* SPDX-License-Identifier: MIT */
/* The accessor of user memory. */
#include "mm/user_memory.h"

#include "arch/x86/layout.h"
#include "arch/x86/paging.h"
#include "kernel/err.h"
#include "kernel/process.h"
#include "kernel/recorder.h"
#include "kernel/string.h"

static int acquire_native(struct space *space, uint64_t address, bool write, struct user_page **out)
{
    if (!space_prot_allows(space_rights(space, address), write, false))
        return ERR_EFAULT;
    struct user_page *page = space_page(space, address);
    if (!page)
        return ERR_ENOMEM;
    spin_lock(&page->lock);
    int error = 0;
    if (!space_prot_allows(space_rights(space, address), write, false))
        error = ERR_EFAULT;
    else if (!space_page_ensure_frame(page))
        error = ERR_ENOMEM;
    if (error)
        spin_unlock(&page->lock);
    else
        *out = page;
    return error;
}

static int acquire(uint64_t address, bool write, struct user_page **page)
{
    struct thread *self = current_thread();
    if (address >= USER_END)
        return ERR_EFAULT;
    if (self->rec)
        return recorder_current()->page_acquire(self, address, write, page);
    return acquire_native(self->process->space, address, write, page);
}

static size_t chunk_at(uint64_t address, size_t length)
{
    size_t room = PAGE_SIZE - (address & ~PAGE_MASK);
    return length < room ? length : room;
}

static uint8_t *frame_bytes(const struct user_page *page, uint64_t address)
{
    return (uint8_t *)PHYS_TO_VIRT(page->frame) + (address & ~PAGE_MASK);
}

static int read_some(uint64_t address, void *to, size_t length, size_t *done)
{
    for (*done = 0; *done < length;) {
        uint64_t at = address + *done;
        size_t chunk = chunk_at(at, length - *done);
        struct user_page *page;
        int error = acquire(at, false, &page);
        if (error)
            return error;
        memcpy((uint8_t *)to + *done, frame_bytes(page, at), chunk);
        spin_unlock(&page->lock);
        *done += chunk;
    }
    return 0;
}

int user_read(uint64_t address, void *to, size_t length)
{
    size_t done;
    return read_some(address, to, length, &done);
}

size_t user_read_partial(uint64_t address, void *to, size_t length)
{
    size_t done;
    read_some(address, to, length, &done);
    return done;
}

int user_write(uint64_t address, const void *from, size_t length)
{
    for (size_t done = 0; done < length;) {
        uint64_t at = address + done;
        size_t chunk = chunk_at(at, length - done);
        struct user_page *page;
        int error = acquire(at, true, &page);
        if (error)
            return error;
        memcpy(frame_bytes(page, at), (const uint8_t *)from + done, chunk);
        spin_unlock(&page->lock);
        done += chunk;
    }
    return 0;
}

size_t user_peek(uint64_t root, uint64_t address, void *to, size_t length)
{
    size_t done = 0;
    while (done < length) {
        uint64_t at = address + done;
        uint64_t entry = at < USER_END ? paging_lookup(root, at) : 0;
        if (!entry)
            break;
        size_t chunk = chunk_at(at, length - done);
        const uint8_t *bytes = PHYS_TO_VIRT(entry & PT_ADDRESS);
        memcpy((uint8_t *)to + done, bytes + (at & ~PAGE_MASK), chunk);
        done += chunk;
    }
    return done;
}

size_t user_peek_space(struct space *space, uint64_t address, void *to, size_t length)
{
    size_t done = 0;
    while (done < length) {
        uint64_t at = address + done;
        struct user_page *page = at < USER_END ? space_page(space, at) : NULL;
        if (!page)
            break;
        size_t chunk = chunk_at(at, length - done);
        spin_lock(&page->lock);
        const uint8_t *bytes = page->frame ? PHYS_TO_VIRT(page->frame) : NULL;
        if (bytes)
            memcpy((uint8_t *)to + done, bytes + (at & ~PAGE_MASK), chunk);
        spin_unlock(&page->lock);
        if (!bytes)
            break;
        done += chunk;
    }
    return done;
}

bool user_poke(uint64_t root, uint64_t address, const void *from, size_t length)
{
    for (uint64_t at = address & PAGE_MASK; at < address + length; at += PAGE_SIZE)
        if (at >= USER_END || !(paging_lookup(root, at) & PT_WRITE))
            return false;
    for (size_t done = 0; done < length;) {
        uint64_t at = address + done;
        size_t chunk = chunk_at(at, length - done);
        uint8_t *bytes = PHYS_TO_VIRT(paging_lookup(root, at) & PT_ADDRESS);
        memcpy(bytes + (at & ~PAGE_MASK), (const uint8_t *)from + done, chunk);
        done += chunk;
    }
    return true;
}
