/* SPDX-License-Identifier: MIT */
/* Telling a machine that watches us what it sees: which thread of which recording or replay runs
 * user code on this CPU, and where instructions do not retire by themselves. docs/oracle.md.
 *
 * The watcher answers CPUID leaf 0x40000100 (hypervisors' range): EAX the leaf, EBX, EDX, ECX the
 * signature "SkelCrewOrcl". Then there are write-only MSRs, MSR_WITNESS_*. Anywhere else each call
 * is one branch that always goes the same way.
 *
 * A run is a recording or a replay, numbered from 1 in one boot, 0 when nobody watches; slot: the
 * thread's in its session. Context: any CPU, thread or interrupts off; not NMI.
 */
#ifndef ARCH_X86_WITNESS_H
#define ARCH_X86_WITNESS_H

#include <stdbool.h>
#include <stdint.h>

extern bool witness_present; /* fixed after witness_detect() */

void witness_detect(void); /* boot CPU, once */

void witness_write_running(uint32_t run, uint32_t slot);
void witness_write_nobody(void);

/* Interrupts off: the user instructions that this CPU runs from now on are this thread's. */
static inline void witness_running(uint32_t run, uint32_t slot)
{
    if (__builtin_expect(witness_present, false))
        witness_write_running(run, slot);
}

static inline void witness_nobody(void)
{
    if (__builtin_expect(witness_present, false))
        witness_write_nobody();
}

#define WITNESS_UNKNOWN_RUN UINT32_MAX /* a recording that was not made in this boot */

/* A run begins. replayed: the run that it replays, 0 for a recording. Returns its number. */
uint32_t witness_begin(uint32_t replayed);
void witness_end(uint32_t run, bool given_up);

/* The kernel carries out the thread's instruction at rip, which has not started natively, or has
 * faulted. Not for what always faults, like RDTSC: that is seen. */
void witness_emulated(uint32_t run, uint32_t slot, uint64_t rip);

/* The thread is no longer part of the run; this is where it stands. */
void witness_ended(uint32_t run, uint32_t slot, uint64_t rip);

#endif
