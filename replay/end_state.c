/* SPDX-License-Identifier: MIT */
/* The hash over everything that a program could have seen or changed. */
#include "arch/x86/layout.h"
#include "kernel/string.h"
#include "replay/checkpoint.h"

static void hash_u64(struct hash *hash, uint64_t value)
{
    hash_update(hash, &value, sizeof(value));
}

static bool frame_is_zero(uint64_t frame)
{
    const uint64_t *words = PHYS_TO_VIRT(frame);
    for (unsigned i = 0; i < PAGE_SIZE / sizeof(*words); i++)
        if (words[i])
            return false;
    return true;
}

/* Pages of zeroes count as absent: a page that was only read may or may not have a frame. */
static void hash_page(struct user_page *page, void *argument)
{
    if (!page->frame || frame_is_zero(page->frame))
        return;
    hash_u64(argument, page->address);
    hash_update(argument, PHYS_TO_VIRT(page->frame), PAGE_SIZE);
}

static void hash_vmas(struct hash *hash, const struct space *space)
{
    list_for_each(link, &space->vmas)
    {
        const struct vma *vma = list_entry(link, struct vma, link);
        hash_u64(hash, vma->start);
        hash_u64(hash, vma->end);
        hash_u64(hash, vma->prot);
    }
}

/* The status flags of a thread count where it ended by a system call. At a fault, also one that it
 * was stopped in, an emulator may have dropped them (point.c). */
static void hash_thread(struct hash *hash, const struct rec_thread *rec)
{
    const struct trap_frame *frame = &rec->final_frame;
    uint64_t flags = rec->final_event == LOG_EXIT ? frame->rflags : frame->rflags & RFLAGS_DF;
    hash_u64(hash, rec->slot);
    hash_u64(hash, rec->ticks.ticks);
    hash_update(hash, &frame->r15, offsetof(struct trap_frame, vector));
    hash_u64(hash, frame->rip);
    hash_u64(hash, flags);
    hash_u64(hash, frame->rsp);
    hash_update(hash, &rec->final_segments.fs_base, sizeof(rec->final_segments.fs_base));
    hash_update(hash, rec->final_fpu, rec->final_fpu_length);
}

void end_state_hash(struct session *session, uint8_t hash[STATE_HASH_BYTES])
{
    struct process *process = session->process;
    struct hash state, output = process->output_hash;
    uint8_t digest[HASH_MAX_DIGEST];
    hash_init(&state, STATE_HASH_BYTES);
    hash_vmas(&state, process->space);
    space_for_each_page(process->space, 0, USER_END, hash_page, &state);
    hash_final(&output, digest);
    hash_update(&state, digest, STATE_HASH_BYTES);
    for (uint32_t slot = 0; slot < session->slots; slot++)
        hash_thread(&state, session->threads[slot]);
    hash_final(&state, hash);
}
