/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The oracle's picture of one thread: a running hash of the instructions that retired, and of what
 * they loaded and stored. Pure.
 *
 * QEMU tells when an instruction starts, and of each access that was carried out. An instruction
 * that has started need not retire: it may fault after its first access, or QEMU itself may start
 * it anew, and it comes again, perhaps with other values. So it stays pending, on top of the hash
 * of what has retired, until the thread is seen somewhere else. Only a branch can get to where it
 * stands: it has retired once it has made all its accesses. A `rep` instruction gets on by
 * iterations: each counts when it has made all of its.
 */
#ifndef TOOLS_QEMU_PMU_PMU_ORACLE_THREAD_H
#define TOOLS_QEMU_PMU_PMU_ORACLE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

enum oracle_shape {
    ORACLE_PLAIN,
    ORACLE_QUIET,  /* the kernel may carry it out instead, or QEMU does not tell: no accesses */
    ORACLE_BRANCH, /* may lead to itself; with so many accesses */
    ORACLE_REP,    /* with so many accesses an iteration */
};

#define ORACLE_USER_END (1ull << 47)

/* An instruction as one number, for QEMU to hand back. address < ORACLE_USER_END. */
static inline uint64_t oracle_pack(uint64_t address, enum oracle_shape shape, unsigned accesses)
{
    return 1ull << 63 | (uint64_t)accesses << 52 | (uint64_t)shape << 48 | address;
}

struct oracle_thread {
    uint64_t step;
    /* Called for every step-th instruction that has retired; address: where it stood. */
    void (*chunk)(struct oracle_thread *thread, uint64_t address);

    uint64_t count, hash; /* of what has retired */

    uint64_t pending;   /* the instruction that has started, packed; 0: none */
    uint64_t kept;      /* hash to start from when it comes again: after whole iterations */
    uint64_t tentative; /* hash with all that it has done */
    unsigned accesses;  /* of it, or of this iteration */
    bool iterated;      /* a `rep` with whole iterations */
};

void oracle_thread_init(struct oracle_thread *thread, uint64_t step);

/* An instruction starts. */
void oracle_thread_starts(struct oracle_thread *thread, uint64_t packed);

/* It has loaded or stored 1 << size_shift bytes. */
void oracle_thread_access(struct oracle_thread *thread, uint64_t address, unsigned size_shift,
                          bool store, uint64_t low, uint64_t high);

/* The kernel has carried the (quiet) instruction at address out. */
void oracle_thread_emulated(struct oracle_thread *thread, uint64_t address);

/* It has ended, and stands at address. */
void oracle_thread_ended(struct oracle_thread *thread, uint64_t address);

#endif
