/* SPDX-License-Identifier: MIT */
/* One function for each place of the storm and each context. */
#include <stdbool.h>

#include "kernel/marker.h"
#include "tests/kernel/marker_storm.h"

/* Fills up so that what follows stands at `offset` behind a multiple of `unit`; the last bytes are
 * single NOPs, over the others goes a jump. The arguments are ready before. */
#define FILL(unit, offset)                                                                         \
    __asm__ volatile("jmp 1f\n\t.balign " #unit ", 0x90\n\t.skip " #offset " - 2, 0x90\n"          \
                     "1:\tnop\n\tnop"                                                              \
                     : "+r"(value), "+r"(mixed))
#define FILL_0(unit, offset) (void)0
#define FILL_64 FILL
#define FILL_4096 FILL

#define FUNCTION(context, name, marker, unit, offset)                                              \
    static __attribute__((noinline)) bool context##_##name(uint64_t value)                         \
    {                                                                                              \
        bool evaluated = false;                                                                    \
        uint64_t mixed = value ^ STORM_VALUE_MIX;                                                  \
        FILL_##unit(unit, offset);                                                                 \
        marker(storm_##context##_##name, MARKER_ARG(value, (evaluated = true, value)),             \
               MARKER_ARG(mixed, mixed));                                                          \
        return evaluated;                                                                          \
    }

#define SP(name, marker, unit, offset, tells)                                                      \
    FUNCTION(thread, name, marker, unit, offset)                                                   \
    FUNCTION(nmi, name, marker, unit, offset)
STORM_TABLE(SP)
#undef SP

const struct storm_site storm_sites[STORM_CONTEXTS][STORM_PLACES] = {
    [STORM_THREAD] =
        {
#define SP(name, marker, unit, offset, tells)                                                      \
    {"storm_thread_" #name, unit, offset, tells, thread_##name},
            STORM_TABLE(SP)
#undef SP
        },
    [STORM_NMI] =
        {
#define SP(name, marker, unit, offset, tells) {"storm_nmi_" #name, unit, offset, tells, nmi_##name},
            STORM_TABLE(SP)
#undef SP
        },
};
