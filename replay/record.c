/* SPDX-License-Identifier: MIT */
/* Recording a process: the session's begin and end, and what its threads log on the way.
 *
 * A thread's view lock guards its mode (in_user), its point and its stream; see record_fault.c for
 * who else takes it.
 */
#include "replay/record.h"

#include "arch/x86/layout.h"
#include "arch/x86/vectors.h"
#include "kernel/wait.h"
#include "replay/record_session.h"
#include "replay/spool.h"

/* --- in and out of the kernel --- */

void record_enter(struct rec_thread *rec, struct trap_frame *frame)
{
    rec->session->source->entered(rec, frame);
    spin_lock(&rec->view_lock);
    rec->point = point_make(rec->ticks.ticks, frame);
    __atomic_store_n(&rec->in_user, false, __ATOMIC_RELEASE);
    spin_unlock(&rec->view_lock);
    /* A jump to itself retires without moving: hence the vectors. */
    if (frame->vector == VECTOR_DEBUG || frame->vector == VECTOR_SYSCALL ||
        !log_point_equal(&rec->point, &rec->left)) {
        __atomic_store_n(&rec->progress, rec->progress + 1, __ATOMIC_RELAXED);
        record_release_token(rec);
    }
}

static bool none_pending(const struct rec_thread *rec)
{
    return __atomic_load_n(&rec->pending, __ATOMIC_ACQUIRE) == 0;
}

static void wait_for_requesters(struct rec_thread *rec)
{
    irq_enable();
    wait_until(none_pending(rec), "requesters to finish with a view");
    irq_disable();
}

/* Here the thread holds nothing, so the log writer can always catch up. Whoever has the progress
 * token goes on: others wait for it. */
static void wait_for_disk(struct rec_thread *rec)
{
    struct spool *spool = rec->session->spool;
    if (!spool || !spool_is_behind(spool) || record_token_owner(rec->session) == rec)
        return;
    irq_enable();
    spool_wait(spool);
    irq_disable();
}

static const struct tick_stop no_stop = {.kind = TICK_STOP_NONE};

bool record_leave(struct rec_thread *rec, struct trap_frame *frame)
{
    if (rec->session->abort) {
        irq_enable();
        record_give_up(rec->session);
        irq_disable();
        return false;
    }
    wait_for_disk(rec);
    spin_lock(&rec->view_lock);
    rec->point = point_make(rec->ticks.ticks, frame);
    bool ready = none_pending(rec);
    if (ready && rec->flush) {
        cpu_write_cr3(rec->root);
        rec->flush = false;
    }
    bool emulated = ready && rec->session->source->leave(rec, frame, &no_stop) == TICK_EMULATED;
    if (emulated)
        rec->point = point_make(rec->ticks.ticks, frame);
    bool go = ready && !emulated;
    if (go) {
        rec->left = rec->point;
        __atomic_store_n(&rec->in_user, true, __ATOMIC_RELEASE);
    }
    spin_unlock(&rec->view_lock);
    if (!ready)
        wait_for_requesters(rec);
    return go;
}

bool record_page_fault(struct rec_thread *rec, struct trap_frame *frame, uint64_t address)
{
    struct stamp map = {0};
    int error = record_fault(rec, address, frame->error & PF_WRITE, frame->error & PF_FETCH, &map);
    rec->fatal_map = map;
    return error == 0;
}

/* --- system calls --- */

void record_syscall_begin(struct rec_thread *rec, struct trap_frame *frame)
{
    struct log_event event = {.kind = LOG_SYSCALL, .a = frame->rax};
    rec->in_syscall = true;
    record_append(rec, &event);
}

void record_syscall_end(struct rec_thread *rec, struct trap_frame *frame)
{
    struct log_event event = {.kind = LOG_RESULT, .a = frame->rax};
    if (!rec->in_syscall)
        return; /* start_rec: the recording began inside of the call */
    rec->in_syscall = false;
    spin_lock(&rec->view_lock);
    rec->point = point_make(rec->ticks.ticks, frame);
    record_append_locked(rec, &event);
    spin_unlock(&rec->view_lock);
}

void record_order_done(struct rec_thread *rec, struct object *object)
{
    struct log_event event = {.kind = LOG_ORDER, .a = object->id};
    struct dep_set deps = {{0}};
    dep_add(&deps, object->last);
    record_add_deps(rec, &event, &deps);
    object->last = (struct stamp){.slot = rec->slot, .event = record_append(rec, &event)};
    record_jitter();
}

uint64_t record_value(struct rec_thread *rec, enum value_kind kind, uint64_t value)
{
    struct log_event event = {.kind = LOG_VALUE, .a = kind, .b = value};
    record_append(rec, &event);
    return value;
}

/* --- ends of threads --- */

static void end_thread(struct rec_thread *rec, struct log_event *event,
                       const struct trap_frame *frame)
{
    record_release_token(rec);
    spin_lock(&rec->view_lock);
    record_append_locked(rec, event);
    rec->ended = true;
    spin_unlock(&rec->view_lock);
    session_end_thread(rec, frame, (enum log_kind)event->kind);
}

void record_exit(struct rec_thread *rec, uint64_t status)
{
    struct log_event event = {.kind = LOG_EXIT, .a = status};
    end_thread(rec, &event, thread_user_frame(rec->thread));
}

void record_stopped(struct rec_thread *rec)
{
    struct log_event event = {.kind = LOG_STOP};
    end_thread(rec, &event, thread_user_frame(rec->thread));
}

void record_fatal(struct rec_thread *rec, const struct trap_frame *frame, uint64_t address)
{
    struct log_event event = {.kind = LOG_FATAL, .b = address};
    struct dep_set deps = {{0}};
    event.a = frame->vector | frame->error << 32;
    if (frame->vector == VECTOR_PAGE_FAULT) {
        dep_add(&deps, rec->fatal_map);
        record_add_deps(rec, &event, &deps);
    }
    end_thread(rec, &event, frame);
}

/* --- rec_owner --- */

struct owned {
    const struct rec_thread *rec;
    struct hash hash;
    uint64_t count;
};

static void count_owned(struct user_page *page, void *argument)
{
    struct owned *owned = argument;
    enum log_rights rights = view_rights(owned->rec, page->address);
    if (rights == LOG_RIGHTS_NONE)
        return;
    uint64_t entry = page->address | rights;
    hash_update(&owned->hash, &entry, sizeof(entry));
    owned->count++;
}

uint64_t owned_pages(const struct rec_thread *rec, uint64_t *held)
{
    struct owned owned = {.rec = rec};
    uint64_t digest[HASH_MIN_DIGEST / 8];
    hash_init(&owned.hash, HASH_MIN_DIGEST);
    space_for_each_page(rec->session->process->space, 0, USER_END, count_owned, &owned);
    hash_final(&owned.hash, (uint8_t *)digest);
    *held = digest[0];
    return owned.count;
}

/* The picture of what is held must not change between being taken and being logged. */
int64_t record_owner(struct rec_thread *rec, struct trap_frame *frame)
{
    struct log_event event = {.kind = LOG_OWNER};
    (void)frame;
    spin_lock(&rec->view_lock);
    event.a = owned_pages(rec, &event.b);
    record_append_locked(rec, &event);
    spin_unlock(&rec->view_lock);
    return (int64_t)event.a;
}
