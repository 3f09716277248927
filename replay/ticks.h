/* SPDX-License-Identifier: MIT */
/* Tick sources: what counts a thread's ticks and stops it at a point.
 *
 * One thread's ticks live in its tick_state, whatever CPU it runs on. All calls are for the current
 * thread, in the kernel, interrupts off.
 */
#ifndef REPLAY_TICKS_H
#define REPLAY_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/x86/frame.h"
#include "replay/log_format.h"
#include "replay/point.h"

struct rec_thread;

struct tick_state {
    uint64_t ticks;
    uint64_t steps; /* single-step traps taken */

    /* The instruction that was about to run when the thread went to ring 3 (step source). */
    bool armed;
    bool counts;      /* it is a tick when it retires */
    bool loads_flags; /* it may set the program's own TF */
    bool is_icebp;
    bool program_tf;   /* TF as the program sees it */
    bool program_trap; /* the debug trap just taken is the program's own */
};

/* What became of the stop that was asked for. */
enum tick_leave {
    TICK_GO,       /* the frame is ready for ring 3 */
    TICK_EMULATED, /* an instruction was carried out in the kernel: look at the new point */
};

struct tick_source {
    const char *name;
    bool (*available)(const char **reason);

    /* After an entry from ring 3: brings ticks up to date and takes out of the frame whatever
     * of ours the program must not see. */
    void (*entered)(struct rec_thread *rec, struct trap_frame *frame);

    /* Before going to ring 3 (under the view lock). stop: tell when the thread gets there (or
     * is past it), by any entry into the kernel at that point; NULL: nothing to stop for. */
    enum tick_leave (*leave)(struct rec_thread *rec, struct trap_frame *frame,
                             const struct log_point *stop);

    /* #DB in ring 3: true when it was the source's own. */
    bool (*debug)(struct rec_thread *rec, struct trap_frame *frame, uint64_t dr6);
};

extern const struct tick_source tick_source_step; /* tick_step.c */

#endif
