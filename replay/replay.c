/* SPDX-License-Identifier: MIT */
/* Replay: what a replayed thread does at each entry into the kernel.
 *
 * The invariant: between events the thread's view has exactly the rights that the recorded one had,
 * so the same faults and traps come by themselves. Asynchronous events are applied when the thread
 * is at their point; once there, all events of that point are applied in stream order, waiting ones
 * included, before the instruction runs (docs/replay.md says why).
 */
#include "arch/x86/layout.h"
#include "arch/x86/paging.h"
#include "arch/x86/vectors.h"
#include "kernel/err.h"
#include "kernel/marker.h"
#include "kernel/printf.h"
#include "kernel/syscall.h"
#include "replay/record_session.h"
#include "replay/replay_session.h"

/* --- in and out of the kernel --- */

void replay_enter(struct rec_thread *rec, struct trap_frame *frame)
{
    rec->session->source->entered(rec, frame);
    rec->point = point_make(rec->ticks.ticks, frame);
}

/* The mapping is not asked: an munmap by another thread, which only waits for our demotion before
 * it frees the frame, may have taken it away already. */
static bool page_of_promotion(struct rec_thread *rec, struct user_page **out)
{
    uint64_t address = rec->next.page;
    enum log_rights rights = rec->next.rights & LOG_RIGHTS_MASK;
    uint32_t prot = rec->next.rights & LOG_RIGHTS_EXECUTE ? ABI_PROT_EXEC : 0;
    if (address >= USER_END || view_rights(rec, address) >= rights) {
        replay_diverge(rec, "extra-event", "page 0x%llx is held already, or is no user page",
                       (unsigned long long)address);
        return false;
    }
    struct user_page *page = space_page(rec->session->process->space, address);
    bool ready = page != NULL;
    if (ready) {
        spin_lock(&page->lock);
        ready = space_page_ensure_frame(page) && view_set(rec, page, rights, prot);
        spin_unlock(&page->lock);
    }
    if (!ready)
        replay_diverge(rec, "out-of-memory", "no memory for a page or a page table");
    *out = page;
    return ready;
}

/* The next event is a promotion: waits for what it depends on, and gives the page to the view. */
static bool apply_promotion(struct rec_thread *rec, struct user_page **page)
{
    if (!replay_wait_deps(rec) || !page_of_promotion(rec, page))
        return false;
    cpu_invlpg(rec->next.page);
    replay_event_done(rec);
    return true;
}

/* Demotions before an event that the instruction at this point causes by trapping, without using
 * the page (it would have been promoted again): they may have come after the trap, so it comes
 * first. */
static bool trap_comes_first(const struct rec_thread *rec)
{
    struct stream_cursor ahead = rec->cursor;
    struct log_event event;
    while (stream_next(&ahead, &event) && log_point_equal(&event.point, &rec->point))
        if (event.kind != LOG_DEMOTE)
            return event.kind == LOG_FATAL || event.kind == LOG_VALUE;
    return false;
}

/* What is to be done before the instruction at the thread's point runs. True: something was. */
static bool apply_here(struct rec_thread *rec)
{
    struct user_page *page;
    uint64_t done = rec->done;
    if (replay_slack_due(rec)) {
        replay_apply_due(rec);
        return rec->done != done;
    }
    if (!rec->has_next || !log_point_equal(&rec->point, &rec->next.point))
        return false;
    switch (rec->next.kind) {
    case LOG_DEMOTE:
        if (!trap_comes_first(rec))
            replay_apply_due(rec);
        break;
    case LOG_STOP:
        replay_stop_thread(rec);
    case LOG_PROMOTE:
        /* By itself it comes as a fault; after another event of this point it may not. */
        if (rec->done > 0 && log_point_equal(&rec->consumed, &rec->point)) {
            irq_enable();
            apply_promotion(rec, &page);
            irq_disable();
        }
        break;
    }
    return rec->done != done;
}

static void check_not_past(struct rec_thread *rec)
{
    if (replay_cut(rec))
        return;
    if (!rec->has_next)
        replay_diverge(rec, rec->cursor.error ? "bad-log" : "extra-event",
                       "the thread runs on where %s",
                       rec->cursor.error ? rec->cursor.error : "its stream has ended");
    else if (point_relation(&rec->point, &rec->next.point) == POINT_PAST)
        replay_diverge(rec, "overshot", "%s did not come; overshot by %llu ticks",
                       log_kind_name(rec->next.kind),
                       (unsigned long long)(rec->point.ticks - rec->next.point.ticks));
}

bool replay_leave(struct rec_thread *rec, struct trap_frame *frame)
{
    rec->point = point_make(rec->ticks.ticks, frame);
    while (!rec->cut && apply_here(rec))
        if (replay_diverged(rec->session))
            return false;
    check_not_past(rec);
    if (rec->cut)
        replay_end_cut_thread(rec);
    if (replay_over(rec))
        return false; /* the process is ending: so will we, at the next look */
    /* A synchronous event comes by itself; the stop behind it is for when it does not. */
    bool exact = log_kind_asynchronous(rec->next.kind) && !rec->next_has_slack;
    struct tick_stop stop = {.kind = exact ? TICK_STOP_AT : TICK_STOP_AFTER,
                             .point = rec->next.point};
    MARKER(replay_stop, MARKER_ARG(thread, rec->slot), MARKER_ARG(exact, exact),
           MARKER_ARG(ticks, rec->point.ticks), MARKER_ARG(stop, stop.point.ticks),
           MARKER_ARG(rip, (void *)stop.point.rip));
    return rec->session->source->leave(rec, frame, &stop) == TICK_GO;
}

/* --- faults --- */

static bool next_is_write(const struct rec_thread *rec)
{
    return (rec->next.rights & LOG_RIGHTS_MASK) == LOG_RIGHTS_WRITE;
}

static void unexpected_fault(struct rec_thread *rec, const struct trap_frame *frame,
                             uint64_t address)
{
    if (replay_cut(rec))
        return;
    replay_diverge(rec, "unexpected-fault", "%s of 0x%llx faulted where %s was expected",
                   frame->error & PF_WRITE   ? "write"
                   : frame->error & PF_FETCH ? "fetch"
                                             : "read",
                   (unsigned long long)address,
                   rec->has_next ? log_kind_name(rec->next.kind) : "the end");
}

bool replay_page_fault(struct rec_thread *rec, struct trap_frame *frame, uint64_t address)
{
    bool write = frame->error & PF_WRITE, fetch = frame->error & PF_FETCH;
    struct user_page *page;
    if (replay_over(rec))
        return true;
    if (address < USER_END && view_allows(rec, address, write, fetch)) {
        cpu_invlpg(address); /* a stale TLB entry */
        return true;
    }
    replay_apply_due(rec);
    bool here = rec->has_next && log_point_equal(&rec->point, &rec->next.point);
    if (here && rec->next.kind == LOG_FATAL)
        return false;
    bool wanted = here && rec->next.kind == LOG_PROMOTE &&
                  rec->next.page == (address & PAGE_MASK) && next_is_write(rec) == write;
    if (!wanted)
        unexpected_fault(rec, frame, address);
    else
        apply_promotion(rec, &page);
    return true;
}

void replay_fatal(struct rec_thread *rec, const struct trap_frame *frame, uint64_t address)
{
    uint64_t what = frame->vector | frame->error << 32;
    if (replay_expect(rec, LOG_FATAL)) {
        if (rec->next.a != what || rec->next.b != address)
            replay_diverge(rec, "wrong-value", "%s instead of the recorded exception",
                           vector_mnemonic((unsigned)frame->vector));
        else if (replay_wait_deps(rec))
            replay_event_done(rec);
    }
    session_end_thread(rec, frame, LOG_FATAL);
    replay_check_stuck(rec);
}

/* --- system calls --- */

void replay_syscall_begin(struct rec_thread *rec, struct trap_frame *frame)
{
    rec->in_syscall = true;
    if (!replay_expect(rec, LOG_SYSCALL)) {
        frame->rax = UINT64_MAX; /* no system call: it is not to have any effect */
        return;
    }
    if (rec->next.a != frame->rax) {
        replay_diverge(rec, "wrong-value", "system call %s instead of %s",
                       syscall_name_x86_64(frame->rax), syscall_name_x86_64(rec->next.a));
        return;
    }
    replay_event_done(rec);
    replay_apply_due(rec);
}

void replay_syscall_end(struct rec_thread *rec, struct trap_frame *frame)
{
    rec->in_syscall = false;
    replay_apply_due(rec);
    rec->point = point_make(rec->ticks.ticks, frame);
    if (replay_over(rec))
        return;
    if (rec->has_next && rec->next.kind == LOG_RESULT && rec->next.a != frame->rax)
        replay_diverge(rec, "wrong-value", "the system call returned %lld instead of %lld",
                       (long long)frame->rax, (long long)rec->next.a);
    else if (replay_expect(rec, LOG_RESULT))
        replay_event_done(rec);
}

static bool is_page_event(const struct log_event *event)
{
    return event->kind == LOG_PROMOTE || event->kind == LOG_ACCESS || event->kind == LOG_REFUSED;
}

int replay_page_acquire(struct rec_thread *rec, uint64_t address, bool write,
                        struct user_page **page)
{
    if (replay_over(rec))
        return ERR_EFAULT;
    replay_apply_due(rec);
    bool kind_fits = rec->has_next && is_page_event(&rec->next);
    if (!replay_expect(rec, kind_fits ? (enum log_kind)rec->next.kind : LOG_ACCESS))
        return ERR_EFAULT;
    if (rec->next.page != (address & PAGE_MASK) || next_is_write(rec) != write) {
        replay_diverge(rec, "wrong-page", "the system call uses page 0x%llx",
                       (unsigned long long)(address & PAGE_MASK));
        return ERR_EFAULT;
    }
    if (rec->next.kind == LOG_REFUSED) { /* here, too, the mapping may have changed since */
        if (replay_wait_deps(rec))
            replay_event_done(rec);
        return ERR_EFAULT;
    }
    if (rec->next.kind == LOG_PROMOTE) {
        if (!apply_promotion(rec, page))
            return ERR_EFAULT;
    } else {
        *page = space_page(rec->session->process->space, address);
        replay_event_done(rec);
    }
    if (!*page || !view_allows(rec, address, write, false)) {
        replay_diverge(rec, "unheld-page", "the system call uses page 0x%llx, which is not held",
                       (unsigned long long)address);
        return ERR_EFAULT;
    }
    spin_lock(&(*page)->lock);
    return 0;
}

bool replay_order_wait(struct rec_thread *rec, struct object *object)
{
    if (!replay_expect(rec, LOG_ORDER))
        return false;
    if (rec->next.a == object->id)
        return replay_wait_deps(rec);
    replay_diverge(rec, "wrong-value", "the system call uses the %s", object_name(object->id));
    return false;
}

void replay_order_done(struct rec_thread *rec)
{
    if (!replay_over(rec))
        replay_event_done(rec);
}

/* Nobody is given the page meanwhile: that takes its lock (page_of_promotion). Threads that have
 * ended use their views no more; one that is about to end may still be counted. */
bool replay_page_is_held(struct session *session, const struct user_page *page)
{
    uint32_t slots = __atomic_load_n(&session->slots, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < slots; i++)
        if (__atomic_load_n(&session_slot(session, i)->thread, __ATOMIC_ACQUIRE) &&
            view_rights(session_slot(session, i), page->address) != LOG_RIGHTS_NONE)
            return true;
    return false;
}

static void forget_page(struct user_page *page, void *argument)
{
    struct rec_thread *rec = argument;
    view_set(rec, page, LOG_RIGHTS_NONE, 0);
    cpu_invlpg(page->address);
}

/* The others have given their pages up themselves by the time the events' dependencies are done. */
bool replay_revoke(struct rec_thread *rec, uint64_t start, uint64_t end)
{
    for (;;) {
        replay_apply_due(rec);
        if (replay_over(rec) || !rec->has_next || rec->next.kind != LOG_REVOKE)
            break;
        if (rec->next.page < start || rec->next.page >= end)
            replay_diverge(rec, "wrong-page", "page 0x%llx is not in the range of the call",
                           (unsigned long long)rec->next.page);
        else if (replay_expect(rec, LOG_REVOKE) && replay_wait_deps(rec))
            replay_event_done(rec);
    }
    space_for_each_page(rec->session->process->space, start, end, forget_page, rec);
    return !replay_over(rec);
}

uint64_t replay_value(struct rec_thread *rec, enum value_kind kind, uint64_t value)
{
    if (!replay_expect(rec, LOG_VALUE))
        return value;
    if (rec->next.a != kind) {
        replay_diverge(rec, "wrong-value", "another kind of value is asked for");
        return value;
    }
    uint64_t logged = rec->next.b;
    replay_event_done(rec);
    replay_apply_due(rec);
    return logged;
}

int64_t replay_owner(struct rec_thread *rec)
{
    uint64_t held, count;
    if (!replay_expect(rec, LOG_OWNER))
        return 0;
    count = owned_pages(rec, &held);
    if (count != rec->next.a || held != rec->next.b)
        replay_diverge(rec, "wrong-owner", "the thread holds %llu pages, or others",
                       (unsigned long long)count);
    else
        replay_event_done(rec);
    return (int64_t)count;
}
