/* SPDX-License-Identifier: MIT */
/*
 * Recording: a thread in user mode, its faults, and the way back.
 *
 * Locks: page, then view; a requester never waits for a hold under a page lock, and a thread that
 * is in the kernel is never waited for. Waiting is a blocked guard, so the only cycles a search
 * can find are those in which threads fault again and again.
 */

/*
 * The program is chosen as it is run, so that all programs of the size are covered. Pages are
 * alike as long as no instruction tells them apart: one may be called page 0.
 */
#define ALIKE (PROGRAM == 0 && t == 0 && pc == 0)

inline pick_load_or_store()
{
    if
    :: first[TI(t, pc)] = LOAD(0)
    :: first[TI(t, pc)] = STORE(0)
#if NPAGES > 1
    :: !ALIKE -> first[TI(t, pc)] = LOAD(1)
    :: !ALIKE -> first[TI(t, pc)] = STORE(1)
#endif
    fi
}

/* Straddling load and store, a copy either way, and a copy within one page: load, then store. */
inline pick_two_pages()
{
    if
#if NPAGES > 1
    :: first[TI(t, pc)] = LOAD(0); second[TI(t, pc)] = LOAD(1)
    :: first[TI(t, pc)] = STORE(0); second[TI(t, pc)] = STORE(1)
    :: first[TI(t, pc)] = LOAD(0); second[TI(t, pc)] = STORE(1)
    :: first[TI(t, pc)] = LOAD(1); second[TI(t, pc)] = STORE(0)
#endif
    :: first[TI(t, pc)] = LOAD(0); second[TI(t, pc)] = STORE(0)
    fi
}

inline pick()
{
#if PROGRAM == 0
    pick_load_or_store()
#elif PROGRAM == 1
    if
    :: pick_load_or_store()
    :: pc == 0 -> pick_two_pages()
    fi
#elif PROGRAM == 2
    if
    :: pick_load_or_store()
    :: pick_two_pages()
    fi
#elif PROGRAM == 10 /* all store to page 0 */
    first[TI(t, pc)] = STORE(0)
#elif PROGRAM == 11 /* all store to both pages at once, half of them the other way round */
    first[TI(t, pc)] = STORE(t % 2);
    second[TI(t, pc)] = STORE(1 - t % 2)
#elif PROGRAM == 12 /* thread 0 stores to the pages in turn; the others store to page 0 */
    first[TI(t, pc)] = (t == 0 -> STORE(pc % NPAGES) : STORE(0))
#elif PROGRAM == 13 /* thread 0 copies within page 0; the others store to it */
    first[TI(t, pc)] = (t == 0 -> LOAD(0) : STORE(0));
    second[TI(t, pc)] = (t == 0 -> STORE(0) : 0)
#elif PROGRAM == 14 /* thread 0 stores to the pages in turn; the others load them in turn */
    first[TI(t, pc)] = (t == 0 -> STORE(pc % NPAGES) : LOAD((pc + t - 1) % NPAGES))
#elif PROGRAM == 15 /* on page 0: thread 0 loads, thread 1 copies within it, the others store */
    first[TI(t, pc)] = (t < 2 -> LOAD(0) : STORE(0));
    second[TI(t, pc)] = (t == 1 -> STORE(0) : 0)
#else
#error "no such PROGRAM"
#endif
}

inline record_access(a, nth)
{
    if
    :: a == 0
    :: a != 0 && ACC_WANT(a) == RO -> got[TA(t, pc, nth)] = value[ACC_PAGE(a)]
    :: a != 0 && ACC_WANT(a) == RW -> value[ACC_PAGE(a)] = STORED_BY(t, pc)
    fi
}

/* One instruction retires: the thread has progressed. Its holds end and the token goes back. */
inline retire()
{
    if
    :: LOGGING ->
        record_access(first[TI(t, pc)], 0);
        record_access(second[TI(t, pc)], 1)
    :: else
    fi;
    pc++;
    nfault[t] = 0;
    for (q : 0 .. NPAGES - 1) {
        hold[TP(t, q)] = 0;
    }
    q = 0;
    if
    :: token == t -> token = NOBODY
    :: else
    fi;
    if
    :: pc < NACCESS -> pick()
    :: else
    fi
}

inline enter_kernel(m)
{
    point[t] = pc;
    mode[t] = m
}

inline take_fault(a)
{
    page = ACC_PAGE(a);
    want = ACC_WANT(a);
    enter_kernel(FAULT);
#if FAULT_BOUND
    nfault[t]++;
    CLAIM(FAULTS, nfault[t] <= FAULT_BOUND)
#else
    nfault[t] = (nfault[t] < TOKEN_AFTER -> nfault[t] + 1 : nfault[t])
#endif
}

#ifdef NO_TOKEN
#define WANTS_TOKEN false
#else
#define WANTS_TOKEN (nfault[t] >= TOKEN_AFTER)
#endif
#define MAY_PASS (token == NOBODY || token == t)
#define MAY_BREAK (TOKEN_BREAKS_HOLDS && token == t)

/* x must lose rights on the page before this thread can have what it wants. */
#define VICTIM(x) \
    (x != t && (want == RW && view[TP(x, page)] != NONE || want == RO && view[TP(x, page)] == RW))

#ifdef THREAD_HOLD
#if NPAGES == 1
#define HELD(x) (hold[TP(x, 0)])
#else
#define HELD(x) (hold[TP(x, 0)] || hold[TP(x, 1)])
#endif
#else
#define HELD(x) (hold[TP(x, page)])
#endif

#if EXPIRY == EXPIRY_ANY
#define CAN_EXPIRE(x) true
#elif EXPIRY == EXPIRY_BLOCKED
#define CAN_EXPIRE(x) (mode[x] == FAULT)
#else
#define CAN_EXPIRE(x) false
#endif

/* Whoever waits for a hold also plays the clock that ends it: nobody else looks at it. */
inline hold_expire(x)
{
#ifdef THREAD_HOLD
    for (q : 0 .. NPAGES - 1) {
        hold[TP(x, q)] = 0;
    }
    q = 0
#else
    hold[TP(x, page)] = 0
#endif
}

inline hold_wait(x)
{
    if
    :: !HELD(x)
    :: HELD(x) && CAN_EXPIRE(x) -> hold_expire(x)
    fi
}

/*
 * Under the page lock: victim x is held, so the lock is dropped, the end of the hold waited for,
 * and the fault handled from the start; or else the hold has just run out.
 */
inline hold_respect(x)
{
    if
    :: !VICTIM(x) || !HELD(x) || MAY_BREAK
    :: VICTIM(x) && HELD(x) && !MAY_BREAK && CAN_EXPIRE(x) -> hold_expire(x)
    :: VICTIM(x) && HELD(x) && !MAY_BREAK ->
#ifdef HOLD_UNDER_LOCK
        hold_wait(x)
#else
        NEVER(SEEN_HOLD_WAIT, true);
        page_lock[page] = 0;
        hold_wait(x);
        goto again
#endif
    fi
}

/* Bring x into the kernel. It cannot leave before its pending kicks are served. */
inline kick(x)
{
#ifndef NO_KICK
    if
    :: mode[x] != USER
    :: mode[x] == USER ->
        pending[x]++;
        mode[x] != USER;
#ifdef THREAD_HOLD /* x may have been granted another page meanwhile, and is held for that one */
        if
        :: HELD(x) ->
            page_lock[page] = 0;
            hold_wait(x);
            pending[x]--;
            goto again
        :: else
        fi;
#endif
        pending[x]--
    fi
#else
    skip
#endif
}

/* The requester edits x's view and appends to x's stream, at x's saved point. */
inline demote(x)
{
    NEVER(SEEN_TWO_AT_ONE, nev[x] > 0 && ev_kind[TE(x, nev[x] - 1)] == PROMOTE &&
          ev_point[TE(x, nev[x] - 1)] == point[x]);
    stream_append(x, DEMOTE, page, (want == RW -> NONE : RO));
    if
    :: view[TP(x, page)] == RW ->
        last_write_thread[page] = x;
        last_write_event[page] = nev[x]
    :: else
    fi;
    view[TP(x, page)] = (want == RW -> NONE : RO);
    NEVER(SEEN_STALE, tlb[TP(x, page)] > view[TP(x, page)]);
    dep[x] = nev[x]
}

/* What this thread's earlier dependencies imply is not logged again. */
inline log_dependency(u)
{
    NEVER(SEEN_PRUNED, u != t && dep[u] > 0 && dep[u] <= seen[TT(t, u)]);
    if
    :: u != t && dep[u] > seen[TT(t, u)] ->
        seen[TT(t, u)] = dep[u];
        ev_dep[TT(TE(t, nev[t]), u)] = dep[u]
    :: else
    fi;
    dep[u] = 0
}

inline promote()
{
#ifndef NO_LAST_WRITE
    if
    :: want == RO && last_write_event[page] > dep[last_write_thread[page]] ->
        dep[last_write_thread[page]] = last_write_event[page]
    :: else
    fi;
#endif
    for (u : 0 .. NTHREADS - 1) {
        log_dependency(u);
    }
    u = 0;
    stream_append(t, PROMOTE, page, want);
    view[TP(t, page)] = want;
#ifndef NO_HOLD
    hold[TP(t, page)] = 1;
#endif
    claim_views_exclusive(t, page)
}

/* Under the page lock, steps 2 to 4: all holds first, then kick and edit, then the promotion. */
inline serve_fault()
{
#ifndef HOLD_PER_VICTIM
    for (x : 0 .. NTHREADS - 1) {
        hold_respect(x);
    }
#endif
    for (x : 0 .. NTHREADS - 1) {
#ifdef HOLD_PER_VICTIM
        hold_respect(x);
#endif
        if
        :: VICTIM(x) -> atomic { kick(x); demote(x) } /* x's view lock */
        :: else
        fi
    }
    x = 0;
    d_step { promote() }
}

/* The way back to user mode: wait for pending kicks, flush what was edited, be USER again. */
inline leave_kernel()
{
    pending[t] == 0;
    d_step {
#ifdef NO_FLUSH
        for (q : 0 .. NPAGES - 1) {
            tlb[TP(t, q)] = (view[TP(t, q)] > tlb[TP(t, q)] -> view[TP(t, q)] : tlb[TP(t, q)]);
        }
#else
        for (q : 0 .. NPAGES - 1) {
            tlb[TP(t, q)] = view[TP(t, q)]; /* and filled: the CPU may have walked already */
        }
#endif
        q = 0;
        point[t] = 0;
        mode[t] = USER;
        claim_tlbs_exclusive(t)
    }
}

#define HAS_1 ALLOWED(t, tlb, first[TI(t, pc)])
#define HAS_2 ALLOWED(t, tlb, second[TI(t, pc)])
#define CAN_RUN (HAS_1 && HAS_2)

proctype Recorded(byte t)
{
    byte pc, page, want, x, u, q;
    byte dep[NTHREADS]; /* per victim: the event that took its right */

    atomic { pick() }
    do
    :: atomic { pc == NACCESS -> enter_kernel(OFF); break }
    :: atomic { pc < NACCESS && CAN_RUN -> retire() }
#ifdef PROGRESS
progress_retired:
        skip
#endif
    /* The token's holder runs its one instruction with interrupts off: no kick reaches it. */
    :: atomic { pending[t] > 0 && token != t -> enter_kernel(KERNEL) }
        atomic { leave_kernel() }
#if STRAY
    :: atomic { !strayed[t] && token != t -> strayed[t] = 1; enter_kernel(KERNEL) }
        atomic { leave_kernel() }
    :: atomic { !strayed[t] && pc < NACCESS && CAN_RUN ->
            strayed[t] = 1;
            take_fault(first[TI(t, pc)])
        }
        goto again
#endif
    :: atomic { pc < NACCESS && !CAN_RUN ->
            if
            :: !HAS_1 -> take_fault(first[TI(t, pc)])
            :: else -> take_fault(second[TI(t, pc)])
            fi
        }
again: /* step 0: the token */
        atomic {
            x = 0;
            if
            :: WANTS_TOKEN -> MAY_PASS; token = t; NEVER(SEEN_TOKEN, true)
            :: else
            fi
        }
#ifndef TOKEN_UNDER_LOCK
        MAY_PASS; /* the token may yet be taken before the page lock is */
#endif
        FAULT_STEPS_BEGIN /* step 1: the page lock */
        atomic { page_lock[page] == 0 -> page_lock[page] = 1 }
#ifdef TOKEN_UNDER_LOCK
        MAY_PASS;
#endif
        if
        :: view[TP(t, page)] >= want -> NEVER(SEEN_SPURIOUS, true) /* nothing is logged */
        :: else -> serve_fault()
        fi;
        d_step {
            page_lock[page] = 0;
            mode[t] = KERNEL;
            page = 0;
            want = 0
        }
        FAULT_STEPS_END
        atomic { leave_kernel() }
    od
}
