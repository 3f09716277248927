/* SPDX-License-Identifier: MIT */
/* Capturing and restoring checkpoints. */
#include "replay/checkpoint.h"

#include "arch/x86/layout.h"
#include "kernel/err.h"
#include "kernel/string.h"
#include "mm/frames.h"
#include "mm/heap.h"

static bool page_is_zero(const void *page)
{
    const uint64_t *words = page;
    for (unsigned i = 0; i < PAGE_SIZE / sizeof(*words); i++)
        if (words[i])
            return false;
    return true;
}

/* --- capturing --- */

struct page_collector {
    struct recording *recording;
    uint64_t capacity;
    bool failed;
};

static void collect_page(struct user_page *page, void *argument)
{
    struct page_collector *collector = argument;
    struct checkpoint *checkpoint = &collector->recording->checkpoint;
    if (collector->failed || !page->frame || page_is_zero(PHYS_TO_VIRT(page->frame)))
        return;
    uint64_t copy = checkpoint->page_count < collector->capacity ? frame_alloc() : 0;
    if (!copy) {
        collector->failed = true;
        return;
    }
    memcpy(PHYS_TO_VIRT(copy), PHYS_TO_VIRT(page->frame), PAGE_SIZE);
    checkpoint->pages[checkpoint->page_count++] =
        (struct checkpoint_page){.address = page->address, .frame = copy};
    collector->recording->bytes += PAGE_SIZE;
}

static int capture_pages(struct recording *recording, struct space *space)
{
    struct page_collector collector = {.recording = recording, .capacity = space->pages};
    if (space->pages == 0)
        return 0;
    recording->checkpoint.pages = kzalloc(space->pages * sizeof(struct checkpoint_page));
    if (!recording->checkpoint.pages)
        return ERR_NO_MEMORY;
    space_for_each_page(space, 0, USER_END, collect_page, &collector);
    return collector.failed ? ERR_NO_MEMORY : 0;
}

static int capture_vmas(struct checkpoint *checkpoint, struct space *space)
{
    uint64_t count = 0;
    list_for_each(link, &space->vmas) count++;
    checkpoint->vmas = kzalloc((count + 1) * sizeof(struct checkpoint_vma));
    if (!checkpoint->vmas)
        return ERR_NO_MEMORY;
    list_for_each(link, &space->vmas)
    {
        const struct vma *vma = list_entry(link, struct vma, link);
        checkpoint->vmas[checkpoint->vma_count++] =
            (struct checkpoint_vma){.start = vma->start, .end = vma->end, .prot = vma->prot};
    }
    return 0;
}

int checkpoint_capture_process(struct recording *recording, struct process *process)
{
    struct checkpoint *checkpoint = &recording->checkpoint;
    checkpoint->pid = process->pid;
    checkpoint->next_index = process->next_index;
    checkpoint->output_hash = process->output_hash;
    checkpoint->output_bytes = process->output_bytes;
    int error = capture_vmas(checkpoint, process->space);
    return error ? error : capture_pages(recording, process->space);
}

int checkpoint_capture_thread(struct checkpoint *checkpoint, uint32_t slot, struct thread *thread)
{
    struct checkpoint_thread *saved = &checkpoint->threads[slot];
    saved->fpu = frame_alloc();
    if (!saved->fpu)
        return ERR_NO_MEMORY;
    if (thread == current_thread()) {
        bool enabled = irq_save();
        fpu_save(thread->fpu);
        context_save_segments(&thread->segments);
        irq_restore(enabled);
    }
    memcpy(PHYS_TO_VIRT(saved->fpu), thread->fpu, PAGE_SIZE);
    saved->present = true;
    saved->index = thread->index;
    saved->frame = *thread_user_frame(thread);
    saved->segments = thread->segments;
    saved->clear_child_tid = thread->clear_child_tid;
    return 0;
}

/* --- restoring --- */

static int restore_memory(const struct checkpoint *checkpoint, struct space *space)
{
    for (uint64_t i = 0; i < checkpoint->vma_count; i++) {
        const struct checkpoint_vma *vma = &checkpoint->vmas[i];
        spin_lock(&space->lock);
        int error = space_insert(space, vma->start, vma->end - vma->start, vma->prot);
        spin_unlock(&space->lock);
        if (error)
            return ERR_BAD_LOG;
    }
    for (uint64_t i = 0; i < checkpoint->page_count; i++) {
        struct user_page *page = space_page(space, checkpoint->pages[i].address);
        if (!page)
            return ERR_NO_MEMORY;
        page->frame = frame_alloc();
        if (!page->frame)
            return ERR_NO_MEMORY;
        memcpy(PHYS_TO_VIRT(page->frame), PHYS_TO_VIRT(checkpoint->pages[i].frame), PAGE_SIZE);
    }
    return 0;
}

static struct thread *restore_thread(const struct checkpoint_thread *saved, struct process *process)
{
    process->next_index = saved->index;
    struct thread *thread = process_add_thread(process);
    if (!thread)
        return NULL;
    *thread_user_frame(thread) = saved->frame;
    thread->segments = saved->segments;
    thread->clear_child_tid = saved->clear_child_tid;
    memcpy(thread->fpu, PHYS_TO_VIRT(saved->fpu), PAGE_SIZE);
    return thread;
}

static int restore(const struct checkpoint *checkpoint, struct process *process,
                   struct thread **threads)
{
    int error = restore_memory(checkpoint, process->space);
    for (uint32_t slot = 0; !error && slot < LOG_MAX_SLOTS; slot++) {
        if (!checkpoint->threads[slot].present)
            continue;
        threads[slot] = restore_thread(&checkpoint->threads[slot], process);
        if (!threads[slot])
            error = ERR_NO_MEMORY;
    }
    process->next_index = checkpoint->next_index;
    process->output_hash = checkpoint->output_hash;
    process->output_bytes = checkpoint->output_bytes;
    return error;
}

struct process *checkpoint_restore(const struct recording *recording, struct thread **threads,
                                   int *error)
{
    const struct checkpoint *checkpoint = &recording->checkpoint;
    memset(threads, 0, LOG_MAX_SLOTS * sizeof(*threads));
    struct process *process =
        process_create_empty(recording->header.program, checkpoint->pid, error);
    if (!process)
        return NULL;
    *error = restore(checkpoint, process, threads);
    if (!*error)
        return process;
    for (uint32_t slot = 0; slot < LOG_MAX_SLOTS; slot++)
        if (threads[slot])
            process_drop_thread(process, threads[slot]);
    process_destroy(process);
    return NULL;
}
