/* SPDX-License-Identifier: MIT */
/* Point arithmetic. */
#include "replay/point.h"

#include "kernel/printf.h"

#define MIX 0x9e3779b97f4a7c15ull

static inline uint64_t mix(uint64_t state, uint64_t value)
{
    state = (state ^ value) * MIX;
    return state ^ state >> 29;
}

/* Without the flags: where a fault hits in the middle of a translated block, an emulator may have
 * dropped flags that the faulting instruction would have overwritten anyway. */
static uint32_t registers_check(const struct trap_frame *frame)
{
    const uint64_t *registers = &frame->r15; /* r15 … rax, 15 of them */
    uint64_t state = frame->rsp * MIX;
    for (int i = 0; i < 15; i++)
        state = mix(state, registers[i]);
    return (uint32_t)(state ^ state >> 32);
}

struct log_point point_make(uint64_t ticks, const struct trap_frame *frame)
{
    return (struct log_point){
        .ticks = ticks,
        .rip = frame->rip,
        .rcx = frame->rcx,
        .check = registers_check(frame),
    };
}

enum point_order point_relation(const struct log_point *here, const struct log_point *event)
{
    if (here->ticks > event->ticks)
        return POINT_PAST;
    return log_point_equal(here, event) ? POINT_AT : POINT_BEFORE;
}

int point_format(char *out, unsigned size, const struct log_point *point)
{
    return format_text(out, size, "ticks %llu rip 0x%llx rcx 0x%llx check 0x%08x",
                       (unsigned long long)point->ticks, (unsigned long long)point->rip,
                       (unsigned long long)point->rcx, point->check);
}
