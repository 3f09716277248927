/* SPDX-License-Identifier: MIT */
/* The places that the storm runs through: each kind of marker, some across lines and pages.
 *
 * Every one stands there twice, for threads and for NMIs, under names of its own: so each CPU's
 * count of hits belongs to one context.
 */
#ifndef TESTS_KERNEL_MARKER_STORM_H
#define TESTS_KERNEL_MARKER_STORM_H

#include <stdbool.h>
#include <stdint.h>

/* SP(name, the marker, address modulo `unit`: or unit 0, whether its code evaluates arguments only
 * while it is on) */
#define STORM_TABLE(SP)                                                                            \
    SP(nop, MARKER, 0, 0, true)                                                                    \
    SP(nop_line, MARKER, 64, 62, true)                                                             \
    SP(nop_page1, MARKER, 4096, 4095, true)                                                        \
    SP(nop_page4, MARKER, 4096, 4092, true)                                                        \
    SP(immediate, MARKER_IMMEDIATE, 0, 0, true)                                                    \
    SP(immediate_page, MARKER_IMMEDIATE, 4096, 4094, true)                                         \
    SP(frame, MARKER_FRAME_JUMP, 0, 0, false)                                                      \
    SP(frame_page, MARKER_FRAME_JUMP, 4096, 4091, false)                                           \
    SP(call, MARKER_CALL_STUB, 0, 0, false)                                                        \
    SP(call_line, MARKER_CALL_STUB, 64, 61, false)                                                 \
    SP(boot_call, MARKER_BOOT_CALL, 0, 0, false)                                                   \
    SP(int3, MARKER_INT3, 0, 0, false)

enum storm_place {
#define SP(name, marker, unit, offset, tells) STORM_##name,
    STORM_TABLE(SP)
#undef SP
        STORM_PLACES
};

enum storm_context { STORM_THREAD, STORM_NMI, STORM_CONTEXTS };

struct storm_site {
    const char *name; /* of its marker */
    uint32_t unit, offset;
    bool tells;
    bool (*pass)(uint64_t value); /* whether an argument was evaluated */
};
extern const struct storm_site storm_sites[STORM_CONTEXTS][STORM_PLACES];

#define STORM_VALUE_MIX 0x5ca1ab1e0ddba11ull /* the second argument is the first one xor this */

int storm_command(int count, char **words);

#endif
