/* SPDX-License-Identifier: MIT */
/* Sessions: creating them, their threads and views; what both recording and replay need. */
#include "replay/session.h"

#include "arch/x86/layout.h"
#include "arch/x86/paging.h"
#include "arch/x86/witness.h"
#include "kernel/err.h"
#include "kernel/panic.h"
#include "kernel/recorder.h"
#include "kernel/string.h"
#include "mm/heap.h"

struct session *session_create(struct process *process, struct recording *recording, bool replay,
                               int *error)
{
    const struct tick_source *source = tick_source_select(recording->header.unit);
    *error = source ? source->open(recording->header.unit) : ERR_NO_SOURCE;
    if (*error)
        return NULL;
    struct session *session = kzalloc(sizeof(*session));
    if (!session) {
        source->close();
        *error = ERR_NO_MEMORY;
        return NULL;
    }
    session->process = process;
    session->recording = recording;
    session->replay = replay;
    session->source = source;
    session->unit = recording->header.unit;
    session->witness = witness_begin(!replay              ? 0
                                     : recording->witness ? recording->witness
                                                          : WITNESS_UNKNOWN_RUN);
    if (!replay)
        recording->witness = session->witness;
    spin_init(&session->lock, LOCK_SESSION, "session");
    return session;
}

static void free_thread(struct rec_thread *rec)
{
    if (rec->root)
        paging_destroy_root(rec->root);
    kfree(rec->final_fpu);
    kfree(rec);
}

void session_free(struct session *session)
{
    for (uint32_t i = 0; i < session->slots; i++)
        free_thread(session->threads[i]);
    witness_end(session->witness, session->abort != NULL);
    session->source->close();
    kfree(session);
}

static struct rec_thread *make_thread(struct session *session, struct thread *thread)
{
    struct rec_thread *rec = kzalloc(sizeof(*rec));
    if (!rec)
        return NULL;
    rec->session = session;
    rec->thread = thread;
    spin_init(&rec->view_lock, LOCK_VIEW, "view");
    wait_queue_init(&rec->progress_made, "progress of a replayed thread");
    rec->root = paging_create_root();
    rec->final_fpu = kmalloc(FPU_AREA_MAX);
    if (rec->root && rec->final_fpu)
        return rec;
    free_thread(rec);
    return NULL;
}

struct rec_thread *session_add_thread(struct session *session, struct thread *thread)
{
    struct rec_thread *rec = make_thread(session, thread);
    if (!rec)
        return NULL;
    spin_lock(&session->lock);
    bool room = session->slots < LOG_MAX_SLOTS;
    if (room) {
        rec->slot = session->slots;
        if (!session->replay) /* before the log writer can see it */
            rec->stream = &session->recording->streams[rec->slot];
        __atomic_store_n(&session->threads[rec->slot], rec, __ATOMIC_RELEASE);
        __atomic_store_n(&session->slots, rec->slot + 1, __ATOMIC_RELEASE);
        session->live++;
    }
    spin_unlock(&session->lock);
    if (!room) {
        free_thread(rec);
        return NULL;
    }
    if (session->replay)
        stream_open(&rec->cursor, &session->recording->streams[rec->slot]);
    rec->point = point_make(0, thread_user_frame(thread));
    rec->left = rec->point;
    thread->rec = rec;
    thread->root = rec->root;
    return rec;
}

void session_end_thread(struct rec_thread *rec, const struct trap_frame *frame, enum log_kind event)
{
    struct session *session = rec->session;
    struct thread *thread = rec->thread;
    if (thread == current_thread()) {
        bool enabled = irq_save();
        fpu_save(thread->fpu);
        context_save_segments(&thread->segments);
        /* From now on the session, and this view with it, may be freed at any time. */
        thread->root = thread->process->space->root;
        cpu_write_cr3(thread->root);
        irq_restore(enabled);
    }
    witness_ended(session->witness, rec->slot, frame->rip);
    rec->final_event = event;
    rec->final_frame = *frame;
    rec->final_segments = thread->segments;
    rec->final_fpu_length = fpu_canonical(thread->fpu, rec->final_fpu);
    __atomic_add_fetch(&session->steps, rec->ticks.steps, __ATOMIC_RELAXED);
    spin_lock(&session->lock);
    rec->thread = NULL;
    session->live--;
    spin_unlock(&session->lock);
}

/* --- views --- */

bool view_set(struct rec_thread *rec, const struct user_page *page, enum log_rights rights,
              uint32_t prot)
{
    if (rights == LOG_RIGHTS_NONE) {
        paging_unmap(rec->root, page->address);
        return true;
    }
    uint64_t flags = PT_USER;
    flags |= rights == LOG_RIGHTS_WRITE ? PT_WRITE : 0;
    flags |= prot & ABI_PROT_EXEC ? 0 : PT_NX;
    return paging_map(rec->root, page->address, page->frame, flags);
}

enum log_rights view_rights(const struct rec_thread *rec, uint64_t address)
{
    uint64_t entry = paging_lookup(rec->root, address);
    if (!entry)
        return LOG_RIGHTS_NONE;
    return entry & PT_WRITE ? LOG_RIGHTS_WRITE : LOG_RIGHTS_READ;
}

bool view_allows(const struct rec_thread *rec, uint64_t address, bool write, bool fetch)
{
    uint64_t entry = paging_lookup(rec->root, address);
    if (!entry || (fetch && (entry & PT_NX)))
        return false;
    return !write || (entry & PT_WRITE);
}
