/* SPDX-License-Identifier: MIT */
/* A process that is being recorded or replayed, and its threads: the state that all of replay/
 * works on.
 *
 * Each thread has a view (page tables of its own) and a slot, 0 … LOG_MAX_SLOTS - 1, given in the
 * order in which threads come; slots are never used again. The objects outlive their threads.
 *
 * Letters beside the fields:
 *   o  owner: the thread itself, in the kernel
 *   v  the thread's view lock
 *   s  session lock
 *   a  atomic
 *   f  fixed after creation
 *
 * Recording: a requester edits the view of a thread that is not in user mode, under that thread's
 * view lock (record_fault.c). Replay: nobody but the owner touches a view.
 */
#ifndef REPLAY_SESSION_H
#define REPLAY_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/x86/frame.h"
#include "kernel/process.h"
#include "replay/point.h"
#include "replay/recording.h"
#include "replay/stream.h"
#include "replay/ticks.h"

#define HOLD_PAGES 8
#define RECENT_EVENTS 8

/* Pages that were promoted since the thread last made progress: not to be taken away yet. */
struct hold {
    uint64_t pages[HOLD_PAGES]; /* a; 0: none */
    uint64_t progress;          /* a; of the thread when they were promoted */
    uint64_t earliest, latest;  /* a; timer_now_ns */
};

/* One of the waits of a replay: for event `event` of slot `slot`. event 0: not waiting. */
struct replay_wait {
    uint32_t slot;
    uint64_t event;
};

struct rec_thread {
    struct session *session;   /* f */
    struct thread *thread;     /* f; NULL once it has ended (s) */
    uint32_t slot;             /* f */
    struct spinlock view_lock; /* LOCK_VIEW */
    uint64_t root;             /* f; the entries: v (recording), o (replay) */

    bool in_user;           /* v; ring 3, or about to be */
    bool flush;             /* v; entries were taken away: flush before ring 3 */
    uint32_t pending;       /* v to write, a to read; requesters that wait for it */
    struct log_point point; /* v; where it left ring 3 */
    bool ended;             /* v; its stream is complete */

    struct tick_state ticks; /* o */
    bool in_syscall;         /* o */
    uint64_t progress;       /* o to write, a; grows when instructions have retired */
    struct log_point left;   /* o; where it last went to ring 3 */

    /* Recording. */
    struct stream *stream;        /* v; the recording's */
    uint64_t seen[LOG_MAX_SLOTS]; /* o; event of each slot that is known to be before us */
    struct hold hold;             /* o to write, read by requesters */
    struct log_point fault_point; /* o */
    uint32_t faults_at_point;     /* o */
    struct stamp fatal_map;       /* o; what a page fault that nothing maps depends on */

    /* Replay. */
    struct stream_cursor cursor; /* o */
    struct log_event next;       /* o; the event to come */
    bool next_has_slack;         /* o; a demotion that may be applied late */
    uint64_t slack_until;        /* o; up to here a late stop may pass demotions */
    bool has_next;               /* o */
    uint64_t done;               /* a; events done */
    bool cut;                    /* o; its stream has ended before it did: so will it */
    struct wait_queue progress_made;
    struct replay_wait waiting;             /* s */
    struct log_point consumed;              /* o; point of the event that was done last */
    struct log_event recent[RECENT_EVENTS]; /* o; ring, for the divergence report */

    /* At its end. */
    enum log_kind final_event;
    struct trap_frame final_frame;
    struct user_segments final_segments;
    uint8_t *final_fpu; /* canonical picture */
    uint32_t final_fpu_length;
};

/* What was the case when a replay left its recording; the first one stays. */
struct divergence {
    bool happened; /* a */
    uint32_t slot;
    uint64_t event;
    const char *kind;
};

struct session {
    struct process *process;                   /* f */
    struct recording *recording;               /* f; recording: being written */
    bool replay;                               /* f */
    const struct tick_source *source;          /* f */
    uint32_t witness;                          /* f; this run, for arch/x86/witness.h */
    enum log_unit unit;                        /* f */
    struct spinlock lock;                      /* LOCK_SESSION */
    struct rec_thread *threads[LOG_MAX_SLOTS]; /* s to write, a to read */
    uint32_t slots;                            /* s to write, a to read */
    uint32_t live;                             /* s; threads that have not ended */

    struct rec_thread *token; /* a; progress token's owner */
    const char *abort;        /* a; recording: why it is given up, or NULL */
    struct spool *spool;      /* f; recording: what writes it to the disk, or NULL */
    bool cut;                 /* a; replay: its incomplete recording goes no further */

    struct divergence diverged;
    uint64_t exact, slack, steps; /* a; how asynchronous events were reached */
    uint8_t end_hash[STATE_HASH_BYTES];
};

/* NULL with *error: ERR_NO_MEMORY, ERR_NO_SOURCE, ERR_BUSY (ticks of another unit are being
 * counted). Thread context. */
struct session *session_create(struct process *process, struct recording *recording, bool replay,
                               int *error);
void session_free(struct session *session); /* all threads have ended */

/* Adds a thread with an empty view. NULL: LOG_MAX_SLOTS, or memory has run out. */
struct rec_thread *session_add_thread(struct session *session, struct thread *thread);

/* Marks it ended, by an event of this kind: saves its final registers. Current thread, or one that
 * is stopped. */
void session_end_thread(struct rec_thread *rec, const struct trap_frame *frame,
                        enum log_kind event);

static inline struct rec_thread *session_slot(struct session *session, uint32_t slot)
{
    return __atomic_load_n(&session->threads[slot], __ATOMIC_ACQUIRE);
}

/* Sets, reads and empties entries of a view; the caller holds what the layout above says. */
bool view_set(struct rec_thread *rec, const struct user_page *page, enum log_rights rights,
              uint32_t prot);
enum log_rights view_rights(const struct rec_thread *rec, uint64_t address);
bool view_allows(const struct rec_thread *rec, uint64_t address, bool write, bool fetch);

#endif
