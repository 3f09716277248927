/* SPDX-License-Identifier: MIT */
/* Measures all kinds of markers beside each other (`marker bench`). */
#ifndef KERNEL_MARKER_BENCH_H
#define KERNEL_MARKER_BENCH_H

#include <stdint.h>

#include "kernel/marker.h"

/* Loops with one marker of each kind, and without one (kernel/marker_loops.c). */
struct marker_loop {
    const char *name;   /* "nop-jmp", …; "no marker" */
    const char *marker; /* NULL: it has none */
    void (*empty)(uint64_t turns);
    void (*copy)(uint64_t turns, uint8_t *to, const uint8_t *from); /* 4 KiB a turn */
};
#define MARKER_LOOPS (MARKER_KINDS + 1)
extern uint64_t marker_loop_value;                          /* the argument of all of them */
extern const struct marker_loop marker_loops[MARKER_LOOPS]; /* the first is that without */

int marker_bench(void);

#endif
