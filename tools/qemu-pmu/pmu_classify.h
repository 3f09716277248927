/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which source of events an instruction is. Pure. The only file that knows the kernel's decoder
 * (arch/x86/insn.h) is pmu_classify.c.
 */
#ifndef TOOLS_QEMU_PMU_PMU_CLASSIFY_H
#define TOOLS_QEMU_PMU_PMU_CLASSIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/qemu-pmu/pmu_events.h"
#include "tools/qemu-pmu/pmu_lbr.h"
#include "tools/qemu-pmu/pmu_oracle_thread.h"

/* When it is certain that the instruction retires. */
enum pmu_certain {
    PMU_CERTAIN_BEFORE, /* when it starts */
    PMU_CERTAIN_READ,   /* when its memory has been read: RET, JMP through memory */
    PMU_CERTAIN_WRITE,  /* when its memory has been written: CALL */
};

struct pmu_branch {
    enum pmu_source source; /* PMU_CONDITIONAL … PMU_FAR */
    enum pmu_certain certain;
    uint32_t condition; /* PMU_CONDITIONAL: for pmu_is_taken() */
};

/* bits: 16, 32 or 64. False: it is no branch. */
bool pmu_classify(const uint8_t *bytes, size_t length, unsigned bits, struct pmu_branch *branch);

bool pmu_is_taken(uint32_t condition, uint64_t rflags, uint64_t rcx);

/* A branch that last branch records may hold; INT n and its kin are interrupts there. */
struct pmu_lbr_branch {
    enum pmu_lbr_kind kind;
    unsigned length;
    bool to_next;       /* a conditional one to the instruction after it: */
    uint32_t condition; /* for pmu_is_taken() */
};
bool pmu_classify_for_lbr(const uint8_t *bytes, size_t length, unsigned bits,
                          struct pmu_lbr_branch *branch);

/* The instruction at address, of 64-bit user code, as the oracle wants it: oracle_pack(). */
uint64_t pmu_classify_for_oracle(uint64_t address, const uint8_t *bytes, size_t length);

/* The length of the instruction if it is the one with this opcode after 0F, else 0. */
unsigned pmu_match_0f(const uint8_t *bytes, size_t length, unsigned bits, uint8_t opcode);

#endif
