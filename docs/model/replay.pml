/* SPDX-License-Identifier: MIT */
/*
 * Replay: each thread runs its own stream, and nobody edits another's view.
 *
 * Shared between the threads are only memory and done[], the count of events applied.
 * There are no holds, tokens, kicks or page locks here: the dependencies are all there is.
 */

#define NEXT TE(t, done[t])
#define DUE (done[t] < nev[t] && ev_point[NEXT] <= pc)

/*
 * Must the thread be stopped before the instruction at its point runs? With slack only if a DEMOTE
 * is due whose page the thread is promoted on again at or before this point: Q is reached.
 * Without slack as soon as a DEMOTE is due. A PROMOTE needs no stop; its fault comes by itself.
 */
inline replay_look_ahead()
{
    must_stop = 0;
    lost = 0;
    for (e : 0 .. nev[t] - 1) {
        if
        :: e >= done[t] && ev_point[TE(t, e)] <= pc ->
            if
            :: ev_kind[TE(t, e)] == DEMOTE ->
                lost = lost | (1 << ev_page[TE(t, e)]);
                must_stop = must_stop || !SLACK
            :: ev_kind[TE(t, e)] == PROMOTE && (lost & (1 << ev_page[TE(t, e)])) -> must_stop = 1
            :: else
            fi
        :: else
        fi
    }
    e = 0;
    lost = 0;
#ifdef PAST_Q
    must_stop = 0
#endif
}

/* The next event of the stream: a PROMOTE waits for its dependencies, a DEMOTE never waits. */
inline replay_apply_event()
{
#ifndef NO_WAIT
    for (u : 0 .. NTHREADS - 1) {
        done[u] >= ev_dep[TT(NEXT, u)];
    }
    u = 0;
#endif
    d_step {
        view[TP(t, ev_page[NEXT])] = ev_right[NEXT];
        if
        :: ev_kind[NEXT] == PROMOTE -> claim_views_exclusive(t, ev_page[NEXT])
        :: else
        fi;
        done[t]++
    }
}

inline replay_access(a, nth)
{
    if
    :: a == 0
    :: a != 0 && ACC_WANT(a) == RO -> CLAIM(SAME_READS, value[ACC_PAGE(a)] == got[TA(t, pc, nth)])
    :: a != 0 && ACC_WANT(a) == RW -> value[ACC_PAGE(a)] = STORED_BY(t, pc)
    fi
}

/* An instruction that runs while a recorded fault of its point is still to come has diverged. */
inline replay_retire()
{
    NEVER(SEEN_SLACK, DUE);
    CLAIM(NO_DIVERGE, !(DUE && ev_kind[NEXT] == PROMOTE));
    replay_access(first[TI(t, pc)], 0);
    replay_access(second[TI(t, pc)], 1);
    pc++
}

#define RIGHT_1 ALLOWED(t, view, first[TI(t, pc)])
#define RIGHT_2 ALLOWED(t, view, second[TI(t, pc)])
#define CAN_REPLAY (RIGHT_1 && RIGHT_2)

#ifdef EXPECT_FAULT
#define FAULTED (RIGHT_1 -> second[TI(t, pc)] : first[TI(t, pc)])
#define AS_RECORDED \
    (DUE && ev_kind[NEXT] == PROMOTE && ev_page[NEXT] == ACC_PAGE(FAULTED) && \
     ev_right[NEXT] == ACC_WANT(FAULTED))
#endif

proctype Replayed(byte t)
{
    byte pc, u, e, lost;
    bit must_stop;

    d_step { replay_look_ahead() }
    do
    :: atomic { pc < NACCESS && CAN_REPLAY && !must_stop ->
            d_step { replay_retire(); replay_look_ahead() }
        }
#ifndef EXPECT_FAULT
    /*
     * Something brings the thread into the kernel: an overflow at or after a point, or a fault.
     * All events that are due are applied, in stream order, the waiting ones too.
     */
    :: atomic { DUE ->
            do
            :: DUE -> replay_apply_event()
            :: else -> break
            od;
            d_step { replay_look_ahead() }
        }
    :: atomic { pc < NACCESS && !CAN_REPLAY && !DUE -> CLAIM(NO_DIVERGE, false); break }
#else
    :: atomic { DUE && ev_kind[NEXT] == DEMOTE ->
            replay_apply_event();
            d_step { replay_look_ahead() }
        }
    :: atomic { pc < NACCESS && !CAN_REPLAY && !(DUE && ev_kind[NEXT] == DEMOTE) ->
            CLAIM(NO_DIVERGE, AS_RECORDED);
            replay_apply_event();
            d_step { replay_look_ahead() }
        }
#endif
    :: pc == NACCESS && !DUE -> break
    od;
    CLAIM(NO_DIVERGE, done[t] == nev[t])
}
