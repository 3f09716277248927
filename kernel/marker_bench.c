/* SPDX-License-Identifier: MIT */
/* x */
#include "kernel/marker_bench.h"
#include "kernel/marker.h"

__attribute__((noinline)) uint64_t marker_x(uint64_t n);
uint64_t marker_x(uint64_t n)
{
    uint64_t x = 0;
    MARKER(bench_nop, MARKER_ARG(n, (x=n)));
    MARKER_IMMEDIATE(bench_immediate, MARKER_ARG(n, n));
    MARKER_FRAME_JUMP(bench_frame_jump, MARKER_ARG(n, n));
    MARKER_CALL_STUB(bench_call_stub, MARKER_ARG(n, n));
    MARKER_BOOT_CALL(bench_boot_call, MARKER_ARG(n, n));
    MARKER_INT3(bench_int3, MARKER_ARG(n, n), MARKER_ARG(name, "x"));
    return x;
}

int marker_bench(void)
{
    return marker_x(1) == 1;
}
