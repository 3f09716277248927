/* SPDX-License-Identifier: MIT */
/* Measures all kinds of markers beside each other (`marker bench`). */
#ifndef KERNEL_MARKER_BENCH_H
#define KERNEL_MARKER_BENCH_H

int marker_bench(void);

#endif
