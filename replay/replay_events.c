/* SPDX-License-Identifier: MIT */
/* Replay: reading the thread's stream, waiting for other threads, finding out that nobody can go
 * on.
 *
 * A wait is for "slot s has done event e". It spins briefly, then sleeps on s's wait queue; the
 * thread that does an event wakes whoever sleeps there. When all threads that have not ended wait
 * for something that nobody has done, the recording is damaged and that is a divergence.
 */
#include "arch/x86/layout.h"
#include "arch/x86/paging.h"
#include "kernel/err.h"
#include "kernel/marker.h"
#include "kernel/panic.h"
#include "replay/replay_session.h"

#define SPINS_BEFORE_SLEEP 20000
#define SPINS_PER_PAUSE 16      /* PAUSE gives an emulator's host thread away: dear there */
#define STUCK_NS 30000000000ull /* no thread gets anywhere for so long */
#define SLACK_MARGIN 4          /* ticks */
#define SLACK_PAGES 16

/* Pages that the demotions looked at take away. */
struct page_set {
    uint64_t pages[SLACK_PAGES];
    unsigned count;
};

static bool set_contains(const struct page_set *set, const struct log_event *event)
{
    if (!(log_kind_fields(event->kind) & LOG_FIELD_PAGE))
        return false;
    for (unsigned i = 0; i < set->count; i++)
        if (set->pages[i] == event->page)
            return true;
    return false;
}

/* Whether the demotion that comes next may be applied late: at any stop before the thread would use
 * the right that it loses (its next promotion of that page). A late stop passes the points of
 * further demotions, so the same must hold for them. The thread comes into the kernel at its next
 * synchronous event at the latest, by itself, unless that is the promotion of such a page: there
 * it would not fault. Otherwise the source's stop comes, at `latest` ticks at the latest. */
static bool has_slack(const struct rec_thread *rec, uint64_t latest)
{
    struct stream_cursor ahead = rec->cursor;
    struct page_set set = {.pages = {rec->next.page}, .count = 1};
    struct log_event event;
    while (stream_next(&ahead, &event)) {
        if (event.point.ticks > latest)
            return true;
        if (event.kind == LOG_STOP)
            return false;
        if (event.kind != LOG_DEMOTE)
            return !set_contains(&set, &event);
        if (set.count == SLACK_PAGES)
            return false;
        set.pages[set.count++] = event.page;
    }
    return !ahead.error && recording_complete(rec->session->recording);
}

static void read_next(struct rec_thread *rec)
{
    rec->has_next = stream_next(&rec->cursor, &rec->next);
    rec->next_has_slack = false;
    uint32_t skid = rec->session->source->skid();
    if (!rec->has_next || rec->next.kind != LOG_DEMOTE || skid == 0)
        return;
    uint64_t latest = rec->next.point.ticks + skid + SLACK_MARGIN;
    rec->next_has_slack = has_slack(rec, latest);
    if (rec->next_has_slack && latest > rec->slack_until)
        rec->slack_until = latest;
}

void replay_open(struct rec_thread *rec)
{
    read_next(rec);
}

/* Sleepers evaluate their condition under the queue's lock, which waking takes: so after the new
 * count is visible nobody goes to sleep on the old one. */
void replay_event_done(struct rec_thread *rec)
{
    MARKER(replay_event, MARKER_ARG(thread, rec->slot), MARKER_ARG(event, rec->done + 1),
           MARKER_ARG(kind, rec->next.kind), MARKER_ARG(page, (void *)rec->next.page),
           MARKER_ARG(ticks, rec->point.ticks), MARKER_ARG(rip, (void *)rec->point.rip));
    rec->recent[rec->done % RECENT_EVENTS] = rec->next;
    rec->consumed = rec->next.point;
    __atomic_store_n(&rec->done, rec->done + 1, __ATOMIC_SEQ_CST);
    wait_queue_wake_all(&rec->progress_made);
    read_next(rec);
}

/* --- waiting --- */

struct dep_wait {
    struct session *session;
    struct log_dep dep;
};

static bool dep_done(struct session *session, uint32_t slot, uint64_t event)
{
    const struct rec_thread *other = session_slot(session, slot);
    return other && __atomic_load_n(&other->done, __ATOMIC_SEQ_CST) >= event;
}

/* Incomplete recordings: the other thread's stream does not go so far, or the thread itself did
 * not, as it depended on such an event. */
static bool never_done(struct session *session, uint32_t slot, uint64_t event)
{
    const struct recording *recording = session->recording;
    if (recording_complete(recording))
        return false;
    const struct rec_thread *other = session_slot(session, slot);
    bool ended = other && !__atomic_load_n(&other->thread, __ATOMIC_ACQUIRE);
    return event > recording->streams[slot].events || (ended && !dep_done(session, slot, event));
}

static bool wait_over(void *argument)
{
    const struct dep_wait *wait = argument;
    return replay_diverged(wait->session) || wait->session->cut ||
           never_done(wait->session, wait->dep.slot, wait->dep.event) ||
           dep_done(wait->session, wait->dep.slot, wait->dep.event);
}

/* Session lock held. */
static bool nobody_can_go_on(struct session *session)
{
    uint32_t stuck = 0;
    for (uint32_t i = 0; i < session->slots; i++) {
        const struct replay_wait *wait = &session->threads[i]->waiting;
        if (wait->event && !dep_done(session, wait->slot, wait->event))
            stuck++;
    }
    return stuck > 0 && stuck == session->live;
}

/* Notes what the thread waits for (event 0: nothing any more); true when now all are stuck. */
static bool note_wait(struct rec_thread *rec, uint32_t slot, uint64_t event)
{
    struct session *session = rec->session;
    spin_lock(&session->lock);
    rec->waiting = (struct replay_wait){.slot = slot, .event = event};
    bool stuck = event && nobody_can_go_on(session);
    spin_unlock(&session->lock);
    return stuck;
}

void replay_check_stuck(struct rec_thread *rec)
{
    spin_lock(&rec->session->lock);
    bool stuck = nobody_can_go_on(rec->session);
    spin_unlock(&rec->session->lock);
    if (stuck && !replay_cut_session(rec->session))
        replay_diverge(rec, "stuck", "all other threads wait for events that nobody does");
}

/* Only while no other thread could use this CPU. */
static bool spin_for(struct dep_wait *wait)
{
    for (unsigned i = 0; i < SPINS_BEFORE_SLEEP; i++) {
        if (wait_over(wait))
            return true;
        if (i % SPINS_PER_PAUSE == 0) {
            if (sched_others_runnable())
                break;
            cpu_pause();
        }
    }
    return wait_over(wait);
}

/* Where to sleep: on the other thread's queue, or, while it does not exist yet, on the
 * process's, which a new thread's creation wakes. */
static struct wait_queue *queue_for(struct session *session, uint32_t slot)
{
    struct rec_thread *other = session_slot(session, slot);
    return other ? &other->progress_made : &session->process->changed;
}

static bool thread_appeared(void *argument)
{
    const struct dep_wait *wait = argument;
    return wait_over(argument) || session_slot(wait->session, wait->dep.slot);
}

static int sleep_for(struct dep_wait *wait)
{
    bool exists = session_slot(wait->session, wait->dep.slot);
    return wait_queue_sleep_until_deadline(
        queue_for(wait->session, wait->dep.slot), exists ? wait_over : thread_appeared, wait,
        "an event of another replayed thread", timer_now_ns() + STUCK_NS);
}

uint64_t replay_progress(struct session *session)
{
    uint64_t mark = 0;
    uint32_t slots = __atomic_load_n(&session->slots, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < slots; i++) {
        const struct rec_thread *rec = session_slot(session, i);
        mark += rec->ticks.ticks * 3 + rec->done * 5 + rec->point.rip + rec->point.rcx;
    }
    return mark;
}

static void wait_asleep(struct rec_thread *rec, struct dep_wait *wait)
{
    uint64_t mark = 0;
    while (!wait_over(wait)) {
        int error = sleep_for(wait);
        if (error == ERR_EINTR && process_exiting(rec->session->process))
            return;
        uint64_t now = error == ERR_ETIMEDOUT ? replay_progress(rec->session) : 0;
        if (error == ERR_ETIMEDOUT && now == mark && !replay_cut_session(rec->session))
            replay_diverge(rec, "stuck", "waits for event %llu of thread %u; no thread gets on",
                           (unsigned long long)wait->dep.event, wait->dep.slot);
        mark = now;
    }
}

static void cut_here(struct rec_thread *rec)
{
    rec->cut = true;
    thread_interrupt(rec->thread); /* it is not to sleep any more */
}

bool replay_cut(struct rec_thread *rec)
{
    if (!rec->cut && !rec->has_next && !rec->cursor.error &&
        !recording_complete(rec->session->recording))
        cut_here(rec);
    return rec->cut;
}

bool replay_cut_session(struct session *session)
{
    if (recording_complete(session->recording))
        return false;
    __atomic_store_n(&session->cut, true, __ATOMIC_RELEASE);
    process_end_all(session->process);
    replay_wake_all(session);
    return true;
}

/* The wait is over, perhaps because what it was for is not in the recording any more. */
static bool got_it(struct rec_thread *rec, const struct log_dep *dep)
{
    if (!replay_diverged(rec->session) && !dep_done(rec->session, dep->slot, dep->event))
        cut_here(rec);
    return !replay_over(rec);
}

static bool wait_for(struct rec_thread *rec, const struct log_dep *dep)
{
    struct dep_wait wait = {.session = rec->session, .dep = *dep};
    MARKER(replay_wait, MARKER_ARG(thread, rec->slot), MARKER_ARG(for_thread, dep->slot),
           MARKER_ARG(event, dep->event));
    if (spin_for(&wait))
        return got_it(rec, dep);
    if (note_wait(rec, dep->slot, dep->event) && !replay_cut_session(rec->session))
        replay_diverge(rec, "stuck", "waits for event %llu of thread %u, and no thread can go on",
                       (unsigned long long)dep->event, dep->slot);
    wait_asleep(rec, &wait);
    note_wait(rec, 0, 0);
    return got_it(rec, dep);
}

bool replay_wait_deps(struct rec_thread *rec)
{
    for (unsigned i = 0; i < rec->next.dep_count; i++)
        if (!wait_for(rec, &rec->next.deps[i]))
            return false;
    return !replay_over(rec);
}

/* --- asynchronous events --- */

static void apply_demote(struct rec_thread *rec, uint64_t *how)
{
    struct session *session = rec->session;
    bool user = rec->next.page < USER_END;
    struct user_page *page = user ? space_page(session->process->space, rec->next.page) : NULL;
    uint64_t entry = user ? paging_lookup(rec->root, rec->next.page) : 0;
    if (!page || !entry) {
        replay_diverge(rec, "unheld-page", "page 0x%llx is taken away, but is not held",
                       (unsigned long long)rec->next.page);
        return;
    }
    uint32_t prot = entry & PT_NX ? 0 : ABI_PROT_EXEC;
    view_set(rec, page, rec->next.rights, prot);
    cpu_invlpg(rec->next.page);
    __atomic_add_fetch(how, 1, __ATOMIC_RELAXED);
    replay_event_done(rec);
}

bool replay_slack_due(const struct rec_thread *rec)
{
    return rec->has_next && rec->next.kind == LOG_DEMOTE &&
           (rec->next_has_slack || rec->point.ticks <= rec->slack_until) &&
           point_relation(&rec->point, &rec->next.point) == POINT_PAST;
}

/* The thread stands at its next synchronous event, so whatever comes before that is due. */
static bool at_next_synchronous(const struct rec_thread *rec)
{
    struct stream_cursor ahead = rec->cursor;
    struct log_event event;
    while (stream_next(&ahead, &event))
        if (!log_kind_asynchronous(event.kind))
            return log_point_equal(&event.point, &rec->point);
    return false;
}

void replay_apply_due(struct rec_thread *rec)
{
    struct session *session = rec->session;
    while (rec->has_next && rec->next.kind == LOG_DEMOTE && !replay_diverged(session)) {
        if (log_point_equal(&rec->point, &rec->next.point))
            apply_demote(rec, &session->exact);
        else if (replay_slack_due(rec) || at_next_synchronous(rec))
            apply_demote(rec, &session->slack);
        else
            break;
    }
}

/* --- synchronous events --- */

bool replay_expect(struct rec_thread *rec, enum log_kind kind)
{
    if (replay_over(rec))
        return false;
    replay_apply_due(rec);
    if (replay_over(rec))
        return false;
    if (replay_cut(rec))
        return false;
    if (!rec->has_next)
        replay_diverge(rec, rec->cursor.error ? "bad-log" : "extra-event", "%s where %s",
                       log_kind_name(kind),
                       rec->cursor.error ? rec->cursor.error : "the stream has ended");
    else if (rec->next.kind != kind)
        replay_diverge(rec, "wrong-event", "%s instead of %s", log_kind_name(kind),
                       log_kind_name(rec->next.kind));
    else if (!log_point_equal(&rec->point, &rec->next.point))
        replay_diverge(rec, "wrong-point", "%s comes at another point", log_kind_name(kind));
    else
        return true;
    return false;
}
