/* SPDX-License-Identifier: MIT */
/* Recordings on their way out. */
#include "arch/x86/cpu.h"
#include "arch/x86/layout.h"
#include "kernel/err.h"
#include "kernel/hash.h"
#include "kernel/string.h"
#include "mm/heap.h"
#include "replay/recording_file.h"

uint64_t recording_new_id(void)
{
    static uint64_t last; /* atomic */
    struct hash hash;
    uint64_t digest[HASH_MIN_DIGEST / 8];
    uint64_t seeds[] = {__atomic_add_fetch(&last, 1, __ATOMIC_RELAXED), cpu_rdtsc(),
                        timer_now_ns()};
    hash_init(&hash, HASH_MIN_DIGEST);
    hash_update(&hash, seeds, sizeof(seeds));
    hash_final(&hash, (uint8_t *)digest);
    return digest[0] ? digest[0] : 1;
}

/* The chunk's payload is in place behind its head. */
static int send(struct recording_sink *sink, void *chunk, enum log_chunk_kind kind, uint32_t slot,
                uint32_t length)
{
    uint32_t total = log_chunk_seal(chunk, kind, slot, length, sink->file_id, sink->sequence);
    int error = sink->write(sink, chunk, total);
    if (error)
        return error;
    sink->sequence++;
    sink->offset += total;
    return 0;
}

/* --- start: header and checkpoint --- */

static void fill_thread(struct log_thread *out, const struct checkpoint_thread *thread,
                        uint32_t fpu_bytes)
{
    const struct trap_frame *frame = &thread->frame;
    *out = (struct log_thread){
#define R(name) .name = frame->name
        R(r15),
        R(r14),
        R(r13),
        R(r12),
        R(r11),
        R(r10),
        R(r9),
        R(r8),
        R(rbp),
        R(rdi),
        R(rsi),
        R(rdx),
        R(rcx),
        R(rbx),
        R(rax),
        R(rip),
        R(cs),
        R(rflags),
        R(rsp),
        R(ss),
#undef R
        .index = thread->index,
        .fpu_bytes = fpu_bytes,
        .fs_base = thread->segments.fs_base,
        .clear_child_tid = thread->clear_child_tid,
        .ds = thread->segments.ds,
        .es = thread->segments.es,
        .fs = thread->segments.fs,
        .gs = thread->segments.gs,
    };
}

static int send_vmas(const struct checkpoint *checkpoint, struct recording_sink *sink,
                     uint8_t *chunk)
{
    int error = 0;
    for (uint64_t i = 0; !error && i < checkpoint->vma_count; i++) {
        const struct checkpoint_vma *vma = &checkpoint->vmas[i];
        *(struct log_vma *)(chunk + sizeof(struct log_chunk)) =
            (struct log_vma){.start = vma->start, .end = vma->end, .prot = vma->prot};
        error = send(sink, chunk, LOG_CHUNK_VMA, 0, sizeof(struct log_vma));
    }
    return error;
}

static int send_threads(const struct recording *recording, struct recording_sink *sink,
                        uint8_t *chunk, uint32_t *count)
{
    struct log_thread *out = (struct log_thread *)(chunk + sizeof(struct log_chunk));
    uint32_t bytes = recording->header.fpu_bytes;
    const struct checkpoint_thread *threads = recording->checkpoint.threads;
    int error = 0;
    for (*count = 0; !error && *count < LOG_MAX_SLOTS && threads[*count].present; ++*count) {
        fill_thread(out, &threads[*count], bytes);
        memcpy(out + 1, PHYS_TO_VIRT(threads[*count].fpu), bytes);
        error = send(sink, chunk, LOG_CHUNK_THREAD, *count, (uint32_t)sizeof(*out) + bytes);
    }
    return error;
}

static int send_pages(const struct checkpoint *checkpoint, struct recording_sink *sink,
                      uint8_t *chunk)
{
    struct log_page *out = (struct log_page *)(chunk + sizeof(struct log_chunk));
    int error = 0;
    for (uint64_t i = 0; !error && i < checkpoint->page_count; i++) {
        out->address = checkpoint->pages[i].address;
        memcpy(out + 1, PHYS_TO_VIRT(checkpoint->pages[i].frame), PAGE_SIZE);
        error = send(sink, chunk, LOG_CHUNK_PAGE, 0, sizeof(*out) + LOG_PAGE_SIZE);
    }
    return error;
}

static int send_start(const struct recording *recording, struct recording_sink *sink,
                      uint8_t *chunk)
{
    const struct checkpoint *checkpoint = &recording->checkpoint;
    uint8_t *payload = chunk + sizeof(struct log_chunk);
    uint32_t threads = 0;
    memcpy(payload, &recording->header, sizeof(recording->header));
    int error = send(sink, chunk, LOG_CHUNK_HEADER, 0, sizeof(recording->header));
    if (!error)
        error = send_vmas(checkpoint, sink, chunk);
    if (!error)
        error = send_threads(recording, sink, chunk, &threads);
    if (!error)
        error = send_pages(checkpoint, sink, chunk);
    *(struct log_begin *)payload = (struct log_begin){.vmas = (uint32_t)checkpoint->vma_count,
                                                      .threads = threads,
                                                      .pages = checkpoint->page_count};
    return error ? error : send(sink, chunk, LOG_CHUNK_BEGIN, 0, sizeof(struct log_begin));
}

int recording_write_start(const struct recording *recording, struct recording_sink *sink)
{
    uint8_t *chunk = kzalloc(LOG_CHUNK_MAX);
    if (!chunk)
        return ERR_NO_MEMORY;
    int error = send_start(recording, sink, chunk);
    kfree(chunk);
    return error;
}

/* --- events, end --- */

int recording_write_block(struct recording_sink *sink, uint32_t slot, struct stream_block *block)
{
    return send(sink, block, LOG_CHUNK_STREAM, slot, block->chunk.length);
}

int recording_write_pad(struct recording_sink *sink, uint32_t bytes)
{
    uint8_t *chunk = kzalloc(bytes);
    if (!chunk)
        return ERR_NO_MEMORY;
    int error = send(sink, chunk, LOG_CHUNK_PAD, 0, bytes - (uint32_t)sizeof(struct log_chunk));
    kfree(chunk);
    return error;
}

static void fill_end(struct log_end *out, const struct recording *recording, const char *reason)
{
    const struct end_state *end = &recording->end;
    *out = (struct log_end){
        .complete = reason[0] == 0,
        .slots = recording->slots,
        .elapsed_ns = recording->elapsed_ns,
        .ended = end->process.noted,
        .killed = end->process.killed,
        .exit_status = end->process.exit_status,
    };
    string_copy(out->reason, reason, sizeof(out->reason));
    string_copy(out->end_reason, end->process.reason, sizeof(out->end_reason));
    memcpy(out->hash, end->hash, sizeof(out->hash));
    memcpy(out->output_hash, end->output_hash, sizeof(out->output_hash));
}

int recording_write_end(const struct recording *recording, struct recording_sink *sink,
                        const uint64_t *events, const char *reason)
{
    uint8_t *chunk = kzalloc(RECORDING_END_BYTES);
    if (!chunk)
        return ERR_NO_MEMORY;
    struct log_end *end = (struct log_end *)(chunk + sizeof(struct log_chunk));
    struct log_end_thread *threads = (struct log_end_thread *)(end + 1);
    fill_end(end, recording, reason);
    for (uint32_t slot = 0; slot < recording->slots; slot++)
        threads[slot] = (struct log_end_thread){.ticks = recording->end.threads[slot].ticks,
                                                .events = events[slot]};
    int error = send(sink, chunk, LOG_CHUNK_END, 0,
                     (uint32_t)(sizeof(*end) + recording->slots * sizeof(*threads)));
    kfree(chunk);
    return error;
}

static int send_streams(struct recording *recording, struct recording_sink *sink, uint64_t *events)
{
    for (uint32_t slot = 0; slot < recording->slots; slot++) {
        struct stream *stream = &recording->streams[slot];
        for (uint64_t i = 0; i < stream->blocks; i++) {
            const char *reason;
            struct stream_block *block = stream_fetch(stream, i, &reason);
            int error = block ? recording_write_block(sink, slot, block) : ERR_BAD_LOG;
            if (error)
                return error;
        }
        events[slot] = stream->events;
    }
    return 0;
}

int recording_write(struct recording *recording, struct recording_sink *sink)
{
    uint64_t *events = kzalloc(LOG_MAX_SLOTS * sizeof(*events));
    int error = events ? recording_write_start(recording, sink) : ERR_NO_MEMORY;
    if (!error)
        error = send_streams(recording, sink, events);
    if (!error)
        error = recording_write_end(recording, sink, events, recording->incomplete);
    kfree(events);
    return error;
}

uint64_t recording_file_bytes(const struct recording *recording)
{
    const struct checkpoint *checkpoint = &recording->checkpoint;
    const struct log_header *header = &recording->header;
    uint64_t sum = LOG_CHUNK_BYTES(sizeof(*header)) + LOG_CHUNK_BYTES(sizeof(struct log_begin));
    sum += checkpoint->vma_count * LOG_CHUNK_BYTES(sizeof(struct log_vma));
    sum += checkpoint->page_count * LOG_CHUNK_BYTES(sizeof(struct log_page) + LOG_PAGE_SIZE);
    for (uint32_t i = 0; i < LOG_MAX_SLOTS; i++)
        if (checkpoint->threads[i].present)
            sum += LOG_CHUNK_BYTES(sizeof(struct log_thread) + header->fpu_bytes);
    for (uint32_t slot = 0; slot < recording->slots; slot++)
        sum += stream_file_bytes(&recording->streams[slot]);
    return sum + LOG_CHUNK_BYTES(sizeof(struct log_end) +
                                 recording->slots * sizeof(struct log_end_thread));
}
