/* SPDX-License-Identifier: MIT */
/* Tick sources: what counts a thread's ticks and stops it at a point.
 *
 * One thread's ticks live in its tick_state, whatever CPU it runs on. All calls are for the current
 * thread, in the kernel, interrupts off, but where said.
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

    /* The instruction that was about to run under TF when the thread went to ring 3 (tick_tf.c). */
    bool armed;       /* there is one, and TF is ours */
    bool counts;      /* it is a tick when it retires */
    bool loads_flags; /* it may set the program's own TF */
    bool is_icebp;
    bool program_tf;   /* TF as the program sees it */
    bool program_trap; /* the debug trap just taken is the program's own */
};

/* Where a thread is to come back into the kernel. */
enum tick_stop_kind {
    TICK_STOP_NONE,
    TICK_STOP_AT,    /* exactly at the point, before its instruction runs */
    TICK_STOP_AFTER, /* anywhere, once it has more ticks than the point; at most `skid` late */
};

struct tick_stop {
    enum tick_stop_kind kind;
    struct log_point point;
};

enum tick_leave {
    TICK_GO,       /* the frame is ready for ring 3 */
    TICK_EMULATED, /* an instruction was carried out in the kernel: look at the new point */
};

struct tick_source {
    const char *name;
    uint32_t hold_us; /* how long a promoted page is held by default: some hundred instructions */

    /* NULL, or why it cannot count this unit here. Any thread context. */
    const char *(*refusal)(enum log_unit unit);

    /* How many ticks past its place a TICK_STOP_AFTER may come. 0: it stops everywhere. */
    uint32_t (*skid)(void);

    /* A session begins or ends to use it: thread context, interrupts on. 0 or ERR_BUSY. */
    int (*open)(enum log_unit unit);
    void (*close)(void);

    /* After an entry from ring 3: brings ticks up to date and takes out of the frame whatever
     * of ours the program must not see. */
    void (*entered)(struct rec_thread *rec, struct trap_frame *frame);

    /* Before going to ring 3 (under the view lock, when recording). A thread that gets to an
     * exact stop may come back earlier, and more than once. */
    enum tick_leave (*leave)(struct rec_thread *rec, struct trap_frame *frame,
                             const struct tick_stop *stop);

    /* #DB in ring 3: true when it was the source's own. */
    bool (*debug)(struct rec_thread *rec, struct trap_frame *frame, uint64_t dr6);
};

extern const struct tick_source tick_source_step; /* tick_step.c */
extern const struct tick_source tick_source_pmc;  /* tick_pmc.c */

/* --- tick_tf.c: single-stepping that the program cannot see, for both sources --- */

/* True when a stepped instruction has retired; ticks.counts and the like still tell which. */
bool tick_tf_entered(struct rec_thread *rec, struct trap_frame *frame);
enum tick_leave tick_tf_leave(struct rec_thread *rec, struct trap_frame *frame);

/* --- tick_select.c --- */

/* The source for new sessions: `source=auto|pmc|step` on the command line, or the shell's `source`.
 * auto: pmc where it can be used. NULL with a message when the one that was asked for cannot. */
const struct tick_source *tick_source_select(enum log_unit unit);
void tick_source_register_command(void);

#endif
