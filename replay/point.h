/* SPDX-License-Identifier: MIT */
/* Points of execution: making them from registers, comparing them. Pure; also on the host. */
#ifndef REPLAY_POINT_H
#define REPLAY_POINT_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/x86/frame.h"
#include "replay/log_codec.h"

/* The frame's RFLAGS must be the program's own (no TF of ours, no RF). */
struct log_point point_make(uint64_t ticks, const struct trap_frame *frame);

enum point_order {
    POINT_BEFORE, /* the event is still to come, or cannot be told yet */
    POINT_AT,
    POINT_PAST, /* more ticks than the event has: it was missed */
};

/* Where a thread that is at `here` stands in relation to an event. */
enum point_order point_relation(const struct log_point *here, const struct log_point *event);

/* "ticks 12 rip 0x401000 rcx 0x3 check 0x1234abcd" */
int point_format(char *out, unsigned size, const struct log_point *point);

#endif
