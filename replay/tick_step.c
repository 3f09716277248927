/* SPDX-License-Identifier: MIT */
/* The tick source that needs nothing: every instruction is single-stepped and classified.
 *
 * About a thousand times slower than running; the fallback everywhere, and the second witness for
 * what another source counted.
 */
#include <stddef.h>

#include "replay/session.h"
#include "replay/ticks.h"

static const char *step_refusal(enum log_unit unit)
{
    (void)unit;
    return NULL;
}

static uint32_t step_skid(void)
{
    return 0;
}

static int step_open(enum log_unit unit)
{
    (void)unit;
    return 0;
}

static void step_close(void)
{
}

static void step_entered(struct rec_thread *rec, struct trap_frame *frame)
{
    if (tick_tf_entered(rec, frame) && rec->ticks.counts)
        rec->ticks.ticks++;
}

/* It comes back after every instruction, so every stop is reached. */
static enum tick_leave step_leave(struct rec_thread *rec, struct trap_frame *frame,
                                  const struct tick_stop *stop)
{
    (void)stop;
    return tick_tf_leave(rec, frame);
}

static bool step_debug(struct rec_thread *rec, struct trap_frame *frame, uint64_t dr6)
{
    (void)frame;
    (void)dr6;
    return !rec->ticks.program_trap;
}

const struct tick_source tick_source_step = {
    .name = "step",
    .hold_us = 300,
    .refusal = step_refusal,
    .skid = step_skid,
    .open = step_open,
    .close = step_close,
    .entered = step_entered,
    .leave = step_leave,
    .debug = step_debug,
};
