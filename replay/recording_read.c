/* SPDX-License-Identifier: MIT */
/* Recordings on their way in. What is read is untrusted: a file of somebody else, or a damaged one.
 * log_reader has checked the rules of the format; here is what this machine asks in addition.
 */
#include "arch/x86/arch.h"
#include "arch/x86/context.h"
#include "arch/x86/layout.h"
#include "kernel/err.h"
#include "kernel/printf.h"
#include "kernel/string.h"
#include "mm/frames.h"
#include "mm/heap.h"
#include "replay/recording_file.h"

/* What a program can set by itself, and what is set for every program. */
#define RFLAGS_USER 0x254dd5ull /* ID AC RF NT OF DF TF SF ZF AF PF CF */
#define RFLAGS_ALWAYS (RFLAGS_IF | RFLAGS_FIXED)

struct loader {
    struct log_reader reader;
    struct log_item item;
    struct recording *recording;
    uint64_t page_room, vma_room;
    const char *refused; /* by this machine, or NULL */
    uint64_t buffer[LOG_CHUNK_MAX / sizeof(uint64_t)];
};

/* --- growing arrays --- */

static bool make_room(void **array, uint64_t *room, uint64_t count, size_t size)
{
    if (count < *room)
        return true;
    uint64_t more = *room ? *room * 2 : 64;
    void *larger = kzalloc(more * size);
    if (!larger)
        return false;
    if (count)
        memcpy(larger, *array, count * size);
    kfree(*array);
    *array = larger;
    *room = more;
    return true;
}

/* --- kinds of chunks. false: no memory, or loader->refused. --- */

static bool refuse(struct loader *loader, const char *reason)
{
    loader->refused = reason;
    return false;
}

static bool take_header(struct loader *loader)
{
    const struct log_header *header = &loader->reader.header;
    struct recording *recording = loader->recording;
    recording->header = *header;
    recording_set_command(recording);
    if (header->fpu_components & ~fpu_components())
        return refuse(loader, "recorded with vector registers that this CPU lacks");
    if (header->fpu_bytes > fpu_area_size() && header->fpu_bytes > 512)
        return refuse(loader, "FPU state larger than this CPU's");
    recording->checkpoint.pid = header->pid;
    recording->checkpoint.next_index = header->next_index;
    recording->checkpoint.output_bytes = header->output_bytes;
    struct hash *hash = &recording->checkpoint.output_hash;
    memcpy(hash->state, header->output_state, sizeof(hash->state));
    memcpy(hash->count, header->output_count, sizeof(hash->count));
    memcpy(hash->block, header->output_block, sizeof(hash->block));
    hash->used = header->output_used;
    hash->digest_size = header->output_digest_size;
    return true;
}

static bool take_vma(struct loader *loader)
{
    struct checkpoint *checkpoint = &loader->recording->checkpoint;
    struct log_vma vma;
    memcpy(&vma, loader->item.payload, sizeof(vma));
    if (vma.start < USER_MIN || vma.end > USER_END)
        return refuse(loader, "a mapping is out of range");
    if (!make_room((void **)&checkpoint->vmas, &loader->vma_room, checkpoint->vma_count,
                   sizeof(*checkpoint->vmas)))
        return false;
    checkpoint->vmas[checkpoint->vma_count++] =
        (struct checkpoint_vma){.start = vma.start, .end = vma.end, .prot = vma.prot};
    return true;
}

static bool selector_is_safe(uint16_t selector)
{
    return selector <= 3 || selector == SELECTOR_USER_DATA || selector == SELECTOR_USER_CODE;
}

/* IRETQ and the loads of segments would fault in the kernel otherwise. */
static bool thread_is_safe(const struct log_thread *thread)
{
    return thread->rip < USER_END && thread->cs == SELECTOR_USER_CODE &&
           thread->ss == SELECTOR_USER_DATA && (thread->rflags & ~RFLAGS_USER) == RFLAGS_ALWAYS &&
           thread->fs_base < USER_END && selector_is_safe(thread->ds) &&
           selector_is_safe(thread->es) && selector_is_safe(thread->fs) &&
           selector_is_safe(thread->gs) && thread->index < UINT32_MAX / 2;
}

static void fill_thread(struct checkpoint_thread *out, const struct log_thread *thread)
{
    out->present = true;
    out->index = thread->index;
    out->frame = (struct trap_frame){
#define R(name) .name = thread->name
        R(r15), R(r14), R(r13), R(r12), R(r11), R(r10), R(r9), R(r8),     R(rbp), R(rdi),
        R(rsi), R(rdx), R(rcx), R(rbx), R(rax), R(rip), R(cs), R(rflags), R(rsp), R(ss),
#undef R
    };
    out->segments.fs_base = thread->fs_base;
    out->segments.ds = thread->ds;
    out->segments.es = thread->es;
    out->segments.fs = thread->fs;
    out->segments.gs = thread->gs;
    out->clear_child_tid = thread->clear_child_tid;
}

static bool take_thread(struct loader *loader)
{
    struct checkpoint_thread *out = &loader->recording->checkpoint.threads[loader->item.chunk.slot];
    struct log_thread thread;
    memcpy(&thread, loader->item.payload, sizeof(thread));
    if (!thread_is_safe(&thread))
        return refuse(loader, "a thread's registers are out of range");
    out->fpu = frame_alloc_zero();
    if (!out->fpu)
        return false;
    fill_thread(out, &thread);
    if (!fpu_load_area(PHYS_TO_VIRT(out->fpu), loader->item.payload + sizeof(thread),
                       thread.fpu_bytes))
        return refuse(loader, "a thread's FPU state is out of range");
    return true;
}

static bool take_page(struct loader *loader)
{
    struct checkpoint *checkpoint = &loader->recording->checkpoint;
    struct log_page page;
    memcpy(&page, loader->item.payload, sizeof(page));
    if (page.address >= USER_END)
        return refuse(loader, "a page is out of range");
    if (!make_room((void **)&checkpoint->pages, &loader->page_room, checkpoint->page_count,
                   sizeof(*checkpoint->pages)))
        return false;
    uint64_t frame = frame_alloc();
    if (!frame)
        return false;
    memcpy(PHYS_TO_VIRT(frame), loader->item.payload + sizeof(page), PAGE_SIZE);
    checkpoint->pages[checkpoint->page_count++] =
        (struct checkpoint_page){.address = page.address, .frame = frame};
    loader->recording->bytes += PAGE_SIZE;
    return true;
}

static bool take_block(struct loader *loader)
{
    const struct log_item *item = &loader->item;
    struct log_block head;
    memcpy(&head, item->payload, sizeof(head));
    return stream_add_stored(&loader->recording->streams[item->chunk.slot], item->offset,
                             head.events, item->chunk.length - (uint32_t)sizeof(head));
}

static bool take_end(struct loader *loader)
{
    struct recording *recording = loader->recording;
    const struct log_end *end = &loader->reader.end;
    struct process_end *process = &recording->end.process;
    memcpy(recording->end.hash, end->hash, sizeof(recording->end.hash));
    memcpy(recording->end.output_hash, end->output_hash, sizeof(recording->end.output_hash));
    recording->elapsed_ns = end->elapsed_ns;
    process->noted = end->ended;
    process->killed = end->killed;
    process->exit_status = end->exit_status;
    string_copy(process->reason, end->end_reason, sizeof(process->reason));
    for (uint32_t slot = 0; slot < end->slots; slot++)
        recording->end.threads[slot] =
            (struct end_thread){.present = true,
                                .ticks = loader->reader.ends[slot].ticks,
                                .events = loader->reader.ends[slot].events};
    return true;
}

static bool take(struct loader *loader)
{
    switch (loader->item.chunk.kind) {
    case LOG_CHUNK_HEADER:
        return take_header(loader);
    case LOG_CHUNK_VMA:
        return take_vma(loader);
    case LOG_CHUNK_THREAD:
        return take_thread(loader);
    case LOG_CHUNK_PAGE:
        return take_page(loader);
    case LOG_CHUNK_STREAM:
        return take_block(loader);
    case LOG_CHUNK_END:
        return take_end(loader);
    }
    return true;
}

/* --- the file --- */

static int finish(struct loader *loader, char reason[RECORDING_REASON_MAX])
{
    const struct log_reader *reader = &loader->reader;
    struct recording *recording = loader->recording;
    unsigned long long offset = reader->offset;
    if (reader->verdict == LOG_VERDICT_NONE) {
        format_text(reason, RECORDING_REASON_MAX, "%s (offset %llu)",
                    loader->refused ? loader->refused : "out of memory", offset);
        return loader->refused ? ERR_BAD_LOG : ERR_NO_MEMORY;
    }
    if (!reader->begun) {
        format_text(reason, RECORDING_REASON_MAX, "%s (offset %llu)", reader->reason, offset);
        return ERR_BAD_LOG;
    }
    if (reader->verdict == LOG_VERDICT_STOPPED)
        string_copy(recording->incomplete,
                    reader->reason[0] ? reader->reason : log_verdict_name(reader->verdict),
                    sizeof(recording->incomplete));
    else if (reader->verdict != LOG_VERDICT_COMPLETE)
        format_text(recording->incomplete, sizeof(recording->incomplete), "%s: %s (offset %llu)",
                    log_verdict_name(reader->verdict), reader->reason, offset);
    recording->slots = reader->slots;
    return 0;
}

static int read_all(struct loader *loader, const struct log_source *source,
                    const struct stream_backing *backing, char reason[RECORDING_REASON_MAX])
{
    struct recording *recording = loader->recording;
    bool going_on = true;
    log_reader_open(&loader->reader, source);
    while (going_on && log_reader_next(&loader->reader, loader->buffer, &loader->item))
        going_on = take(loader);
    int error = finish(loader, reason);
    recording->backing = *backing;
    for (uint32_t slot = 0; slot < LOG_MAX_SLOTS; slot++)
        recording->streams[slot].backing = &recording->backing;
    return error;
}

int recording_read(const struct log_source *source, const struct stream_backing *backing,
                   struct recording **out, char reason[RECORDING_REASON_MAX])
{
    struct loader *loader = kzalloc(sizeof(*loader));
    struct recording *recording = loader ? recording_create() : NULL;
    int error = ERR_NO_MEMORY;
    string_copy(reason, "out of memory", RECORDING_REASON_MAX);
    if (recording) {
        loader->recording = recording;
        error = read_all(loader, source, backing, reason);
        if (error)
            recording_free(recording);
    }
    kfree(loader);
    *out = error ? NULL : recording;
    return error;
}

const char *recording_check_block(const struct stream_block *block, uint32_t size, uint64_t file_id)
{
    const char *error = log_chunk_check(block, size, LOG_CHUNK_STREAM, file_id);
    if (error)
        return error;
    return block->chunk.length < sizeof(block->head) ? "wrong size of a chunk" : NULL;
}
