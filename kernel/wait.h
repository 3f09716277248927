/* SPDX-License-Identifier: MIT */
/* Bounded busy waits: every one names what it waits for and panics when it lasts too long. */
#ifndef KERNEL_WAIT_H
#define KERNEL_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/x86/cpu.h"

/* Far longer than anything legitimate, also on an emulator whose host is busy. */
#define WAIT_LIMIT_NS 60000000000ull

struct wait_state {
    uint64_t started; /* 0: not yet looked at the clock */
    uint32_t spins;
};

/* One turn of a wait: pauses, looks at the clock now and then, panics when the limit is passed.
 * Before the clock is calibrated the number of turns is the limit. */
void wait_turn(struct wait_state *state, const char *what);

/* The same, but tells its caller, who knows more to say. */
bool wait_turn_expired(struct wait_state *state);

#define wait_until(condition, what)                                                                \
    do {                                                                                           \
        struct wait_state wait_state_ = {0};                                                       \
        while (!(condition))                                                                       \
            wait_turn(&wait_state_, what);                                                         \
    } while (0)

#endif
