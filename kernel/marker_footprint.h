/* SPDX-License-Identifier: MIT */
/* What a function's machine code says about the markers in it: which bytes run while they are off,
 * which only while they are on, which registers the former use.
 *
 * Read from the text itself while all markers of the function are off. Padding counts as nothing.
 * Context: thread.
 */
#ifndef KERNEL_MARKER_FOOTPRINT_H
#define KERNEL_MARKER_FOOTPRINT_H

#include <stdint.h>

struct footprint {
    uint32_t hot_bytes, hot_instructions;
    uint32_t cold_bytes; /* of the function, and of the code that its places jump to elsewhere */
    uint32_t registers;  /* bit n: the hot code names general register n (0 = RAX … 15 = R15) */
};

/* ERR_NOT_FOUND: no symbol is there; ERR_FAILED: the code is too long, or does not decode. */
int footprint_read(uint64_t function, struct footprint *out);

/* "rbx r12"; "none". Returns out. */
const char *footprint_registers(char *out, unsigned size, uint32_t registers);

#endif
