/* SPDX-License-Identifier: MIT */
/*
 * The CREW protocol as a Promela model: threads that run in parallel are recorded, then that
 * recording is replayed in the same run, and each replay must read what the recording read.
 *
 * This file: parameters, shared state, claims, streams, init.
 * record.pml: fault, kick and edit, hold window, token.   replay.pml: streams, dependencies, slack.
 * README.md says what is claimed, which rules have been taken out to see the model fail, and sizes.
 *
 * Locks: page_lock[p] guards everything indexed by p. A view lock is a leaf, and nothing blocks
 * under it, so a section under it is one atomic step and the lock itself is not a variable.
 * Tick: one instruction of the modelled program; a point is thus its number, and a thread that
 * has ended stands at point NACCESS.
 */

/* --- Size: threads, pages, instructions a thread ------------------------------------------- */

#ifndef NTHREADS
#define NTHREADS 2
#endif
#ifndef NPAGES
#define NPAGES 2
#endif
#ifndef NACCESS
#define NACCESS 2
#endif
#ifndef MAXEV
#define MAXEV 12 /* events a stream can take; the claim STREAM_FITS says whether it was enough */
#endif

/*
 * Programs. 0: every instruction is a load or a store, any page. 1: the first instruction of each
 * thread may need two pages. 2: every instruction may. Others are fixed programs; see pick().
 */
#ifndef PROGRAM
#define PROGRAM 0
#endif

/* --- The parts that can be varied ---------------------------------------------------------- */

#define EXPIRY_NEVER 0   /* a hold ends only when its holder has retired an instruction */
#define EXPIRY_BLOCKED 1 /* it also runs out while its holder waits in a fault of its own */
#define EXPIRY_ANY 2     /* it may run out at any time, before it was of any use included */
#ifdef NO_EXPIRY
#define EXPIRY EXPIRY_NEVER
#endif
#ifndef EXPIRY
#define EXPIRY EXPIRY_ANY
#endif
#ifndef TOKEN_AFTER
#define TOKEN_AFTER 2 /* that many faults at one unchanged point, and a thread wants the token */
#endif
#ifndef TOKEN_BREAKS_HOLDS
#define TOKEN_BREAKS_HOLDS 1 /* 0: the owner of the token waits for holds as anybody else */
#endif
#ifndef STRAY
#define STRAY 0 /* 1: each thread once enters the kernel for nothing: late kick or spurious fault */
#endif

/*
 * Rules taken out, one at a time (-DNO_HOLD and so on):
 *   NO_HOLD          no hold window
 *   THREAD_HOLD      the hold belongs to the thread, not to (thread, page)
 *   HOLD_UNDER_LOCK  the requester waits for a hold while it holds the page lock
 *   HOLD_PER_VICTIM  the holds are looked at victim by victim, after others have been edited
 *   NO_EXPIRY        the hold ends by progress only, not after a short time
 *   NO_TOKEN         no progress token
 *   TOKEN_UNDER_LOCK the others wait for the token while they hold a page lock
 *   NO_KICK          a victim in user mode is edited as well
 *   NO_FLUSH         the way back to user mode does not flush what was edited
 *   NO_LAST_WRITE    a read does not depend on the page's last write
 *   EXPECT_FAULT     replay applies a DEMOTE at its point, then expects the recorded fault
 *   PAST_Q           replay lets the thread run past Q, the end of a DEMOTE's slack
 *   NO_WAIT          replay does not wait for dependencies at all
 * SLACK=0 is no rule taken out: replay then stops at each point exactly.
 */
#ifndef SLACK
#define SLACK 1
#endif

/*
 * PROGRESS leaves out streams, values and replay, none of which decides who is granted what, and
 * marks each retired instruction as progress: for the search for non-progress cycles.
 */
#ifdef PROGRESS
#define LOGGING false
#else
#define LOGGING true
#endif

/*
 * FINE makes every step under the page lock a step of its own. Without it a fault that waits for
 * nothing is one step: what others could do in between commutes with it, since they need the lock.
 */
#ifdef FINE
#define FAULT_STEPS_BEGIN
#define FAULT_STEPS_END
#else
#define FAULT_STEPS_BEGIN atomic {
#define FAULT_STEPS_END }
#endif

/* --- Claims -------------------------------------------------------------------------------- */

/* ONLY_CLAIM=n leaves just that claim standing, to see for which reason a variant fails. */
#define EXCLUSIVE 1   /* a page has one writer or any number of readers, TLBs included */
#define FAULTS 2      /* a thread faults at one point at most FAULT_BOUND times */
#define SAME_READS 3  /* each replay reads what the recording read, and ends in the same memory */
#define NO_DIVERGE 4  /* no replay meets anything but the next event, or leaves one over */
#define STREAM_FITS 5 /* (of the model itself) MAXEV is large enough */
#ifdef ONLY_CLAIM
#define CLAIM(n, holds) assert(ONLY_CLAIM != n || (holds))
#define NEVER(n, what) assert(ONLY_CLAIM != n || !(what))
#else
#define CLAIM(n, holds) assert(n > 0 && (holds))
#define NEVER(n, what) skip
#endif

/* Wrong claims: that this never happens. With ONLY_CLAIM=n the search must find that it does. */
#define SEEN_STALE 11      /* a TLB still holds a right that the view has lost */
#define SEEN_TWO_AT_ONE 12 /* a thread is demoted at a point where it was promoted before */
#define SEEN_HOLD_WAIT 13  /* a requester drops the page lock because of a hold */
#define SEEN_TOKEN 14      /* the token is taken */
#define SEEN_SPURIOUS 15   /* a fault comes though the view allows the access (needs STRAY) */
#define SEEN_SLACK 16      /* a replayed instruction runs while a DEMOTE is due */
#define SEEN_PRUNED 17     /* a dependency is not logged, since an earlier one implies it */

#ifndef FAULT_BOUND
#define FAULT_BOUND 0 /* 0: faults are counted no further than the token needs */
#endif

/* --- State --------------------------------------------------------------------------------- */

#define NONE 0 /* rights: ordered */
#define RO 1
#define RW 2

#define USER 0 /* modes: only USER can use a right; whoever is elsewhere can be edited */
#define KERNEL 1
#define FAULT 2 /* in the kernel for a fault of its own that is not yet served */
#define OFF 3   /* has ended */

#define NOBODY 255

#define TP(t, p) ((t) * NPAGES + (p))    /* (thread, page) */
#define TT(t, u) ((t) * NTHREADS + (u))  /* (thread, thread) */
#define TI(t, i) ((t) * NACCESS + (i))   /* (thread, instruction) */
#define TA(t, i, n) (TI(t, i) * 2 + (n)) /* (thread, instruction, its nth access) */
#define TE(t, e) ((t) * MAXEV + (e))     /* (thread, event) */

/* An access is 0 (none) or names a page and whether it writes; an instruction makes up to two. */
#define LOAD(p) (1 + 2 * (p))
#define STORE(p) (2 + 2 * (p))
#define ACC_PAGE(a) (((a) - 1) / 2)
#define ACC_WANT(a) (RO + ((a) - 1) % 2)
#define ALLOWED(t, right, a) ((a) == 0 || right[TP(t, ACC_PAGE(a))] >= ACC_WANT(a))

byte first[NTHREADS * NACCESS];  /* the program: the accesses of each instruction, in order */
byte second[NTHREADS * NACCESS];

byte value[NPAGES];              /* memory; a store writes who stored: a number no other has */
#define STORED_BY(t, pc) (TI(t, pc) + 1)

byte view[NTHREADS * NPAGES];    /* page lock: rights in each thread's page tables */
byte tlb[NTHREADS * NPAGES];     /* owner: rights its CPU has cached, used while in user mode */
byte mode[NTHREADS];             /* view lock */
byte point[NTHREADS];            /* view lock: saved at entry; void (0) while in user mode */
byte pending[NTHREADS];          /* view lock: kicks not yet served */
byte nfault[NTHREADS];           /* owner: faults at the point where it is */
bit hold[NTHREADS * NPAGES];     /* page lock to set; ends by itself */
bit page_lock[NPAGES];
byte token = NOBODY;             /* atomic */
byte last_write_thread[NPAGES];  /* page lock: after this event of this thread the last */
byte last_write_event[NPAGES];   /* ... writer's stores are complete */
#if STRAY
bit strayed[NTHREADS];
#endif

/* --- Streams ------------------------------------------------------------------------------- */

#define DEMOTE 0
#define PROMOTE 1

byte nev[NTHREADS];                        /* view lock: events in the stream */
bit ev_kind[NTHREADS * MAXEV];
byte ev_page[NTHREADS * MAXEV];
byte ev_right[NTHREADS * MAXEV];
byte ev_point[NTHREADS * MAXEV];
byte ev_dep[NTHREADS * MAXEV * NTHREADS];  /* per thread: how many of its events come first */
byte seen[NTHREADS * NTHREADS];            /* owner: what its dependencies so far imply */

byte got[NTHREADS * NACCESS * 2];          /* what each load of the recording read */
byte end_value[NPAGES];                    /* memory at the end of the recording */

byte done[NTHREADS];                       /* replay: events of each stream applied */

inline stream_append(t, kind, pg, right)
{
    if
    :: LOGGING ->
        CLAIM(STREAM_FITS, nev[t] < MAXEV);
        ev_kind[TE(t, nev[t])] = kind;
        ev_page[TE(t, nev[t])] = pg;
        ev_right[TE(t, nev[t])] = right;
        ev_point[TE(t, nev[t])] = point[t];
        nev[t]++
    :: else
    fi
}

/*
 * The writer of p excludes all others, by `right` (view or tlb). Two threads are enough to be
 * wrong, so looking from the one that just gained a right is enough as well.
 */
#define CONFLICT(right, t, u, p) \
    (u != t && right[TP(t, p)] + right[TP(u, p)] > RW && right[TP(t, p)] != NONE && \
     right[TP(u, p)] != NONE)

inline claim_views_exclusive(t, p)
{
    for (u : 0 .. NTHREADS - 1) {
        CLAIM(EXCLUSIVE, !CONFLICT(view, t, u, p));
    }
    u = 0;
}

inline claim_tlbs_exclusive(t)
{
    for (q : 0 .. NPAGES - 1) {
        for (u : 0 .. NTHREADS - 1) {
            CLAIM(EXCLUSIVE, !(mode[u] == USER && CONFLICT(tlb, t, u, q)));
        }
    }
    q = 0;
    u = 0;
}

#include "record.pml"
#include "replay.pml"

/* Everything a replay does not need goes back to its first value, so that recordings that are the
 * same are the same state, however they came about. */
inline between_recording_and_replay()
{
    for (p : 0 .. NPAGES - 1) {
        end_value[p] = value[p];
        value[p] = 0;
        last_write_thread[p] = 0;
        last_write_event[p] = 0;
    }
    for (t : 0 .. NTHREADS - 1) {
        assert(pending[t] == 0 && mode[t] == OFF && token == NOBODY);
        mode[t] = 0;
        point[t] = 0;
        for (p : 0 .. NPAGES - 1) {
            view[TP(t, p)] = NONE;
            tlb[TP(t, p)] = NONE;
            hold[TP(t, p)] = 0;
        }
        for (p : 0 .. NTHREADS - 1) {
            seen[TT(t, p)] = 0;
        }
#if STRAY
        strayed[t] = 0;
#endif
    }
    t = 0;
    p = 0;
}

init
{
    byte t, p;
    atomic {
        for (t : 0 .. NTHREADS - 1) {
            run Recorded(t);
        }
        t = 0;
    }
#ifndef PROGRESS
    atomic {
        _nr_pr == 1 -> between_recording_and_replay();
        for (t : 0 .. NTHREADS - 1) {
            run Replayed(t);
        }
        t = 0;
    }
    atomic {
        _nr_pr == 1;
        for (p : 0 .. NPAGES - 1) {
            CLAIM(SAME_READS, value[p] == end_value[p]);
        }
    }
#endif
}
