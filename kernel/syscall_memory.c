/* SPDX-License-Identifier: MIT */
/* mmap, munmap, mprotect: anonymous private memory. Errors as Linux'.
 *
 * Each change of the map is committed (object_commit) under the space lock, in one step with the
 * change itself: page faults of recorded threads read both. Only after that are the pages taken
 * away from page tables or views, and last their frames freed.
 */
#include "arch/x86/layout.h"
#include "kernel/err.h"
#include "kernel/process.h"
#include "kernel/recorder.h"
#include "kernel/syscall.h"
#include "mm/tlb.h"

#define KNOWN_PROT (ABI_PROT_READ | ABI_PROT_WRITE | ABI_PROT_EXEC)
#define SHARING_FLAGS (ABI_MAP_SHARED | ABI_MAP_PRIVATE) /* the same here: there is no fork */
#define KNOWN_FLAGS (SHARING_FLAGS | ABI_MAP_FIXED | ABI_MAP_ANONYMOUS)

syscall_function sys_mmap, sys_munmap, sys_mprotect;

static uint64_t whole_pages(uint64_t length)
{
    return (length + PAGE_SIZE - 1) & PAGE_MASK;
}

static bool range_valid(uint64_t start, uint64_t length)
{
    return start + length >= start && start + length <= USER_END;
}

/* Takes the range out of all page tables that map it. The map object is held. False: a replay has
 * left its recording, so nobody waited for views that may still map it. */
static bool withdraw(struct process *process, uint64_t start, uint64_t length)
{
    struct thread *self = current_thread();
    if (self->rec)
        return recorder_current()->revoke(self, start, start + length);
    space_unmap_shared(process->space, start, length);
    tlb_flush_all_cpus();
    return true;
}

static bool is_held(const struct user_page *page)
{
    struct thread *self = current_thread();
    return self->rec && recorder_current()->page_is_held(self, page);
}

static int unmap_range(struct process *process, uint64_t start, uint64_t length)
{
    struct space *space = process->space;
    spin_lock(&space->lock);
    int error = space_remove(space, start, length);
    object_commit(&process->map);
    spin_unlock(&space->lock);
    if (error)
        return error;
    if (withdraw(process, start, length))
        space_free_frames(space, start, length,
                          is_held); /* else with the process, which is ending */
    return 0;
}

static int protect_range(struct process *process, uint64_t start, uint64_t length, uint32_t prot)
{
    struct space *space = process->space;
    spin_lock(&space->lock);
    int error = space_protect(space, start, length, prot);
    object_commit(&process->map);
    spin_unlock(&space->lock);
    if (!error)
        withdraw(process, start, length);
    return error;
}

static int64_t map_locked(struct process *process, uint64_t hint, uint64_t length, uint32_t prot,
                          bool fixed)
{
    struct space *space = process->space;
    if (fixed) {
        int error = unmap_range(process, hint, length);
        if (error || !object_order_again(&process->map))
            return error ? error : ERR_EINTR;
    }
    spin_lock(&space->lock);
    uint64_t start = hint & PAGE_MASK;
    int error = fixed || start ? space_insert(space, start, length, prot) : ERR_EINVAL;
    if (error == ERR_EINVAL) { /* the hint is taken or none was given */
        start = space_find_gap(space, length);
        error = start && !fixed ? space_insert(space, start, length, prot) : ERR_ENOMEM;
    }
    object_commit(&process->map);
    spin_unlock(&space->lock);
    return error ? error : (int64_t)start;
}

int64_t sys_mmap(const struct syscall_arguments *arguments)
{
    struct process *process = current_thread()->process;
    uint64_t hint = arguments->a[0], length = whole_pages(arguments->a[1]);
    uint64_t prot = arguments->a[2], flags = arguments->a[3];
    bool fixed = flags & ABI_MAP_FIXED;
    uint64_t sharing = flags & SHARING_FLAGS;
    if (arguments->a[1] == 0 || (flags & ~(uint64_t)KNOWN_FLAGS) || sharing == 0 ||
        sharing == SHARING_FLAGS || (prot & ~(uint64_t)KNOWN_PROT) ||
        (fixed && (hint & ~PAGE_MASK)) || (arguments->a[5] & ~PAGE_MASK))
        return ERR_EINVAL;
    if (!(flags & ABI_MAP_ANONYMOUS))
        return ERR_EBADF; /* there are no files */
    if (length == 0 || length > USER_END || (fixed && !range_valid(hint, length)))
        return ERR_ENOMEM;
    if (fixed && hint < USER_MIN)
        return ERR_EPERM;
    if (!range_valid(hint, length) || hint < USER_MIN)
        hint = 0;
    int64_t result = ERR_EINTR;
    if (object_enter_uncommitted(&process->map))
        result = map_locked(process, hint, length, (uint32_t)prot, fixed);
    object_leave(&process->map);
    return result;
}

int64_t sys_munmap(const struct syscall_arguments *arguments)
{
    struct process *process = current_thread()->process;
    uint64_t start = arguments->a[0], length = whole_pages(arguments->a[1]);
    if ((start & ~PAGE_MASK) || length == 0 || !range_valid(start, length))
        return ERR_EINVAL;
    int error = ERR_EINTR;
    if (object_enter_uncommitted(&process->map))
        error = unmap_range(process, start, length);
    object_leave(&process->map);
    return error;
}

int64_t sys_mprotect(const struct syscall_arguments *arguments)
{
    struct process *process = current_thread()->process;
    uint64_t start = arguments->a[0], length = whole_pages(arguments->a[1]);
    uint64_t prot = arguments->a[2];
    if ((start & ~PAGE_MASK) || (prot & ~(uint64_t)KNOWN_PROT))
        return ERR_EINVAL;
    if (arguments->a[1] == 0)
        return 0;
    if (length == 0 || !range_valid(start, length))
        return ERR_ENOMEM;
    int error = ERR_EINTR;
    if (object_enter_uncommitted(&process->map))
        error = protect_range(process, start, length, (uint32_t)prot);
    object_leave(&process->map);
    return error;
}
