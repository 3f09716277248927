/* SPDX-License-Identifier: MIT */
/* Replay: how threads come and how they end. */
#include "kernel/err.h"
#include "replay/record_session.h"
#include "replay/replay_session.h"

_Noreturn void replay_stop_thread(struct rec_thread *rec)
{
    struct trap_frame *frame = thread_user_frame(rec->thread);
    irq_enable();
    __atomic_add_fetch(&rec->session->exact, 1, __ATOMIC_RELAXED);
    replay_event_done(rec);
    if (rec->has_next)
        replay_diverge(rec, "extra-event", "events after the end of the thread");
    session_end_thread(rec, frame, LOG_STOP);
    replay_check_stuck(rec);
    process_end_thread();
}

_Noreturn void replay_end_cut_thread(struct rec_thread *rec)
{
    irq_enable();
    session_end_thread(rec, thread_user_frame(rec->thread), LOG_STOP);
    wait_queue_wake_all(&rec->progress_made);
    replay_check_stuck(rec);
    process_end_thread();
}

int replay_thread_created(struct rec_thread *parent, struct thread *child)
{
    struct session *session = parent->session;
    /* A thread that has logged nothing is not known to a recording that was cut. */
    uint32_t limit =
        recording_complete(session->recording) ? session->recording->slots : LOG_MAX_SLOTS;
    if (replay_over(parent))
        return ERR_FAILED;
    if (session->slots >= limit)
        return ERR_TOO_MANY_THREADS; /* as in the recording, or the result tells */
    struct rec_thread *rec = session_add_thread(session, child);
    if (!rec)
        return ERR_NO_MEMORY;
    replay_open(rec);
    wait_queue_wake_all(&session->process->changed);
    return 0;
}

static void finish_thread(struct rec_thread *rec, const char *extra)
{
    if (!replay_over(rec) && rec->has_next)
        replay_diverge(rec, "extra-event", "%s", extra);
    session_end_thread(rec, thread_user_frame(rec->thread), LOG_EXIT);
    wait_queue_wake_all(&rec->progress_made);
    replay_check_stuck(rec);
}

void replay_exit(struct rec_thread *rec, uint64_t status)
{
    if (replay_expect(rec, LOG_EXIT)) {
        if (rec->next.a != status)
            replay_diverge(rec, "wrong-value", "exit status %llu", (unsigned long long)status);
        else
            replay_event_done(rec);
    }
    finish_thread(rec, "events after the thread's exit");
}

/* Its process is ending: after a divergence, here or in another thread. */
void replay_stopped(struct rec_thread *rec)
{
    session_end_thread(rec, thread_user_frame(rec->thread), LOG_STOP);
}

/* The recording ended inside of this call, and so does the replay; or another thread was stopping
 * it at that moment, and this call was wound back. */
int64_t replay_stop_rec(struct rec_thread *rec)
{
    replay_apply_due(rec);
    if (rec->has_next && rec->next.kind == LOG_RESULT)
        return ERR_EINTR;
    if (replay_expect(rec, LOG_STOP))
        replay_stop_thread(rec);
    return ERR_EINTR;
}
