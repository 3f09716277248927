/* SPDX-License-Identifier: MIT */
/* Bounded busy waits. Context: any, NMI included; takes no lock. */
#include "kernel/wait.h"

#include "arch/x86/timer.h"
#include "kernel/panic.h"

#define TURNS_PER_LOOK 1024
/* Without a clock. A `pause` lasts 10 ns to 1 µs, so this is 3 s at least. */
#define TURNS_LIMIT (1u << 28)

bool wait_turn_expired(struct wait_state *state)
{
    cpu_pause();
    state->spins++;
    if (state->spins % TURNS_PER_LOOK != 0)
        return false;
    if (timer_tsc_khz() == 0)
        return state->spins >= TURNS_LIMIT;

    uint64_t now = timer_now_ns();
    if (state->started == 0)
        state->started = now ? now : 1;
    /* `now` may lie before `started`: the thread moved to a CPU whose clock is a little behind. */
    return now > state->started && now - state->started > WAIT_LIMIT_NS;
}

void wait_turn(struct wait_state *state, const char *what)
{
    if (wait_turn_expired(state))
        panic("waited in vain for %s: expected within %llu s", what, WAIT_LIMIT_NS / 1000000000);
}
