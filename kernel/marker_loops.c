/* SPDX-License-Identifier: MIT */
/* The loops of `marker bench`: nothing, or a copy of 4 KiB, and one marker a turn.
 *
 * The markers' argument is in memory, so that it shows in the code which kinds evaluate it though
 * they are off. The fence keeps the compiler from dropping the empty loops; it is no instruction.
 */
#include "kernel/marker_bench.h"
#include "kernel/string.h"

#define COPY_BYTES 4096

uint64_t marker_loop_value;

#define LOOPS(name, ...)                                                                           \
    static __attribute__((noinline)) void bench_empty_##name(uint64_t turns)                       \
    {                                                                                              \
        for (uint64_t turn = 0; turn < turns; turn++) {                                            \
            __atomic_signal_fence(__ATOMIC_SEQ_CST);                                               \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
    }                                                                                              \
    static __attribute__((noinline)) void bench_copy_##name(uint64_t turns, uint8_t *to,           \
                                                            const uint8_t *from)                   \
    {                                                                                              \
        for (uint64_t turn = 0; turn < turns; turn++) {                                            \
            memcpy(to, from, COPY_BYTES);                                                          \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
    }

LOOPS(none, (void)0)
LOOPS(nop_jmp, MARKER(bench_nop_jmp, MARKER_ARG(value, marker_loop_value)))
LOOPS(immediate, MARKER_IMMEDIATE(bench_immediate, MARKER_ARG(value, marker_loop_value)))
LOOPS(frame_jump, MARKER_FRAME_JUMP(bench_frame_jump, MARKER_ARG(value, marker_loop_value)))
LOOPS(call_stub, MARKER_CALL_STUB(bench_call_stub, MARKER_ARG(value, marker_loop_value)))
LOOPS(boot_call, MARKER_BOOT_CALL(bench_boot_call, MARKER_ARG(value, marker_loop_value)))
LOOPS(int3, MARKER_INT3(bench_int3, MARKER_ARG(value, marker_loop_value)))

#define ROW(text, loop, marker_)                                                                   \
    {                                                                                              \
        .name = (text), .marker = (marker_), .empty = bench_empty_##loop,                          \
        .copy = bench_copy_##loop                                                                  \
    }

const struct marker_loop marker_loops[MARKER_LOOPS] = {
    ROW("no-marker", none, NULL),
    ROW("nop-jmp", nop_jmp, "bench_nop_jmp"),
    ROW("immediate", immediate, "bench_immediate"),
    ROW("frame-jump", frame_jump, "bench_frame_jump"),
    ROW("call-stub", call_stub, "bench_call_stub"),
    ROW("boot-call", boot_call, "bench_boot_call"),
    ROW("int3", int3, "bench_int3"),
};
