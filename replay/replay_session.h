/* SPDX-License-Identifier: MIT */
/* Replaying: shared by replay_*.c. design: docs/replay.md, "Replay".
 *
 * Every thread does only what its own stream says, to its own view, and waits for others by the
 * number of events that they have done. Whatever is not the next event is a divergence.
 */
#ifndef REPLAY_REPLAY_SESSION_H
#define REPLAY_REPLAY_SESSION_H

#include "kernel/recorder.h"
#include "replay/session.h"

/* --- replay_events.c: the stream of the current thread --- */

/* Reads the first event; a bad stream is a divergence when it is reached. */
void replay_open(struct rec_thread *rec);

/* The next event is done: others may rely on it. */
void replay_event_done(struct rec_thread *rec);

/* Demotions that are due at the thread's point, in stream order: those of this point, those with
 * slack whose point is behind it, and, when the thread has come to its next synchronous event, all
 * that stand before that. */
void replay_apply_due(struct rec_thread *rec);
bool replay_slack_due(const struct rec_thread *rec);

/* Applies what is due; then the next event must be of this kind and at the thread's point. False:
 * diverged. */
bool replay_expect(struct rec_thread *rec, enum log_kind kind);

/* Waits until everything that the next event depends on is done. False: diverged. */
bool replay_wait_deps(struct rec_thread *rec);

/* A thread has ended: the others may all wait for something that will not come now. */
void replay_check_stuck(struct rec_thread *rec);

/* --- replay_divergence.c --- */

/* The replay has left the recording: noted and reported once, all threads end on their way to
 * ring 3. frame may be NULL. kind is a word for the @diverged line; details go into the report. */
void replay_diverge(struct rec_thread *rec, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void replay_wake_all(struct session *session); /* whoever waits for another thread */
static inline bool replay_diverged(const struct session *session)
{
    return __atomic_load_n(&session->diverged.happened, __ATOMIC_ACQUIRE);
}

/* Incomplete recordings: the thread's stream has ended, and with it what is known. Says so and
 * returns true; the thread ends on its way to ring 3, and does nothing more until then. */
bool replay_cut(struct rec_thread *rec);

/* Incomplete recordings: no thread can go on, so the replay ends here. False: it is complete. */
bool replay_cut_session(struct session *session);

/* Changes whenever a thread of the session gets anywhere: ticks, events, and for long `rep`
 * instructions RCX. */
uint64_t replay_progress(struct session *session);

/* What the thread does must not be judged, waited for or logged any more. */
static inline bool replay_over(const struct rec_thread *rec)
{
    return rec->cut || replay_diverged(rec->session) ||
           __atomic_load_n(&rec->session->cut, __ATOMIC_ACQUIRE);
}

/* --- replay_thread.c --- */

/* The thread is at its STOP; and: it has been cut (replay_cut). */
_Noreturn void replay_stop_thread(struct rec_thread *rec);
_Noreturn void replay_end_cut_thread(struct rec_thread *rec);

/* --- replay.c --- */

void replay_enter(struct rec_thread *rec, struct trap_frame *frame);
bool replay_leave(struct rec_thread *rec, struct trap_frame *frame);
bool replay_page_fault(struct rec_thread *rec, struct trap_frame *frame, uint64_t address);
void replay_syscall_begin(struct rec_thread *rec, struct trap_frame *frame);
void replay_syscall_end(struct rec_thread *rec, struct trap_frame *frame);
int replay_page_acquire(struct rec_thread *rec, uint64_t address, bool write,
                        struct user_page **page);
bool replay_order_wait(struct rec_thread *rec, struct object *object);
void replay_order_done(struct rec_thread *rec);
bool replay_page_is_held(struct session *session, const struct user_page *page);
bool replay_revoke(struct rec_thread *rec, uint64_t start, uint64_t end);
uint64_t replay_value(struct rec_thread *rec, enum value_kind kind, uint64_t value);
int replay_thread_created(struct rec_thread *parent, struct thread *child);
void replay_exit(struct rec_thread *rec, uint64_t status);
void replay_fatal(struct rec_thread *rec, const struct trap_frame *frame, uint64_t address);
void replay_stopped(struct rec_thread *rec);
int64_t replay_owner(struct rec_thread *rec);
int64_t replay_stop_rec(struct rec_thread *rec); /* does not return where the recording ended */

/* Replays a recording once and prints its @replay line (n of a series). 0, ERR_DIVERGED, or why it
 * could not start. */
int replay_run(struct recording *recording, uint32_t n);

#endif
