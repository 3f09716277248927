/* SPDX-License-Identifier: MIT */
/* NOPROBE: functions that a probe's own path runs through, between an int3 and its IRETQ. An int3
 * in one of them would never end. linker.ld collects them, together with whole objects, between
 * noprobe_start and noprobe_end, where no dynamic probe is set. What they call is NOPROBE as well,
 * but for panic() and the functions of probes: tests/tools/noprobe.sh looks at the calls.
 */
#ifndef ARCH_X86_NOPROBE_H
#define ARCH_X86_NOPROBE_H

#define NOPROBE __attribute__((section(".text.noprobe")))

extern char noprobe_start[], noprobe_end[]; /* linker.ld */

#endif
