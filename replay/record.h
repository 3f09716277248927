/* SPDX-License-Identifier: MIT */
/* Recording: shared by record_*.c. design: docs/replay.md, "Recording". */
#ifndef REPLAY_RECORD_H
#define REPLAY_RECORD_H

#include "kernel/recorder.h"
#include "replay/session.h"

/* --- record_log.c: appending --- */

/* Dependencies of one event, without those that the thread's earlier events imply. */
struct dep_set {
    uint64_t event[LOG_MAX_SLOTS]; /* 0: none */
};
void dep_add(struct dep_set *deps, struct stamp stamp);

/* Appends to rec's stream; the caller holds rec's view lock. Returns the event's number. When
 * memory or the limit is reached the session is given up by name. */
uint64_t record_append_locked(struct rec_thread *rec, struct log_event *event);
uint64_t record_append(struct rec_thread *rec, struct log_event *event); /* takes the lock */

/* Puts those of deps into event that are news to rec. */
void record_add_deps(struct rec_thread *rec, struct log_event *event, const struct dep_set *deps);

void record_abort(struct session *session, const char *reason);

/* --- record_fault.c: CREW --- */

/* Gets the page for the current thread, for a user instruction's access. 0: look again in ring 3.
 * ERR_EFAULT, ERR_ENOMEM; *map: the last change of the map, on which a refusal depends. */
int record_fault(struct rec_thread *rec, uint64_t address, bool write, bool fetch,
                 struct stamp *map);
/* The same for a system call; returns with the page locked. */
int record_page_acquire(struct thread *thread, uint64_t address, bool write,
                        struct user_page **page);
void record_revoke(struct thread *thread, uint64_t start, uint64_t end);

/* --- record_hold.c: waiting for others; no page lock is held --- */

struct wait_state;

/* One turn of a wait for another thread of the process, which may need this CPU to go on. */
void record_give_way(struct wait_state *wait, const char *what);

struct rec_thread *record_token_owner(const struct session *session);
void record_take_token(struct rec_thread *rec); /* may come back without it: the process stops */
void record_wait_for_token(struct rec_thread *rec);
void record_release_token(struct rec_thread *rec); /* if rec has it */

/* The page was just promoted. */
void record_hold_begin(struct rec_thread *rec, uint64_t address);
bool record_any_hold_active(struct rec_thread *rec, const struct user_page *page, bool write);

/* Delays at random when the command line asks for it: makes races in these paths likely. */
void record_jitter(void);

/* --- record.c --- */

int record_begin(struct process *process, struct session **session); /* threads stopped, or new */
void record_stop_session(struct session *session); /* by stop_rec; all other threads stopped */
/* All threads have ended, or are stopped to go on unrecorded: publishes the recording and frees the
 * session. ERR_LOG_FULL: it was given up; *recording is what there is of it, perhaps NULL. */
int record_finish(struct session *session, struct recording **recording);

void record_enter(struct rec_thread *rec, struct trap_frame *frame);
bool record_leave(struct rec_thread *rec, struct trap_frame *frame);
bool record_page_fault(struct rec_thread *rec, struct trap_frame *frame, uint64_t address);
void record_syscall_begin(struct rec_thread *rec, struct trap_frame *frame);
void record_syscall_end(struct rec_thread *rec, struct trap_frame *frame);
void record_order_done(struct rec_thread *rec, struct object *object);
uint64_t record_value(struct rec_thread *rec, enum value_kind kind, uint64_t value);
int64_t record_owner(struct rec_thread *rec, struct trap_frame *frame);
void record_exit(struct rec_thread *rec, uint64_t status);
void record_stopped(struct rec_thread *rec);
void record_fatal(struct rec_thread *rec, const struct trap_frame *frame, uint64_t address);

#endif
