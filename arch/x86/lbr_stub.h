/* SPDX-License-Identifier: MIT */
/* The stubs that save the branch history of an exception, and where they save it.
 *
 * A stub is generated for one vector on one CPU, so it needs no register to find its memory: all
 * addresses in it are constants, of memory that every address space maps. That is what makes it
 * right from ring 3, with the user's GS, and on every stack. It is a straight line: pushes five
 * registers below the CPU's frame, decides by arithmetic where to save, copies all records, pops,
 * jumps to the usual entry. Nothing in it can fault.
 *
 * An area has a ring of slots and one further slot, for an exception inside of a handler of its own
 * vector on the same CPU: it leaves the ring alone and is counted. Who is inside of whom follows
 * from the stack alone, as for NMI (docs/lbr.md):
 *
 *   vector with an IST stack   the interrupted RSP lies on that stack, in ring 0
 *   any other                  the newest history's frame lies above this one on the stack of the
 *                              current thread, and still holds the RIP that it was pushed with
 *
 * Pure: emitting needs nothing of the machine, and is tested on the host.
 */
#ifndef ARCH_X86_LBR_STUB_H
#define ARCH_X86_LBR_STUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/x86/lbr.h"

#define LBR_SLOTS 4 /* a power of two */

/* Written by a stub, in this order. */
struct lbr_slot {
    uint64_t rip, cs, rsp; /* of what was interrupted: as in the CPU's frame */
    uint64_t frame;        /* where the CPU put its frame: address of RIP there */
    uint64_t root;         /* CR3 */
    uint64_t time;         /* TSC */
    uint64_t nmis_before;  /* arrivals of NMIs on this CPU, before and … */
    uint64_t top;          /* MSR with the newest entry's number, or 0 */
    struct {
        uint64_t from, to, info;
    } entries[LBR_MAX_DEPTH]; /* by MSR number, not by age */
    uint64_t nmis_after;      /* … after the records were read */
    uint64_t stub;            /* fixed: where the stub begins, which the own record points to */
};

/* Owner CPU writes. Readers on other CPUs see the header change before the records do. */
struct lbr_area {
    uint64_t frame, rip; /* of the newest history in the ring */
    uint64_t arrivals;   /* exceptions */
    uint64_t nested;     /* of them inside of another one */
    struct lbr_slot slots[LBR_SLOTS + 1];
};

struct lbr_stub {
    const struct lbr_machine *machine;
    bool has_error;        /* the CPU pushes an error code */
    bool records_again;    /* #DB: the CPU has turned recording off */
    uint64_t ist_stack;    /* lowest address; 0: none */
    uint64_t stack_top;    /* address of a word: the top of the current thread's stack */
    uint64_t area;         /* address of the struct lbr_area */
    uint64_t nmi_arrivals; /* address of the word in the area of NMI */
    uint64_t entry;        /* the usual entry */
};

#define LBR_STUB_MAX 3072 /* bytes */

/* Writes the stub that is to run at address `at` to out[0 … LBR_STUB_MAX); its length. 0: the entry
 * is too far away for a direct jump. */
size_t lbr_stub_emit(const struct lbr_stub *stub, uint64_t at, uint8_t *out);

#endif
