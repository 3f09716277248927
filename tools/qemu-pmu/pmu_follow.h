/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Following a vCPU from branch to branch, for its last branch records. Pure.
 *
 * The translated code notes each branch instruction as it starts (pmu_words.branch) while it is
 * told that branches are recorded (pmu_words.following). The next place where the vCPU is seen, the
 * start of a block or the point of an interrupt, tells whether it was taken and where to. A branch
 * that had started when recording was frozen is still recorded: it is the one whose event
 * overflowed.
 */
#ifndef TOOLS_QEMU_PMU_PMU_FOLLOW_H
#define TOOLS_QEMU_PMU_PMU_FOLLOW_H

#include "tools/qemu-pmu/pmu_model.h"
#include "tools/qemu-pmu/pmu_place.h"

/* What the code stores: never 0. length 0: the branch will be taken, though it leads to the next
 * instruction. */
static inline uint64_t pmu_pack_branch(uint64_t address, unsigned length, enum pmu_lbr_kind kind)
{
    return address << 7 | (uint64_t)length << 3 | kind;
}

/* LBRs are enabled, if perhaps frozen. */
bool pmu_lbr_is_enabled(const struct pmu *pmu);

/* After registers have changed, or the PMU has been settled. */
void pmu_follow(const struct pmu *pmu, struct pmu_words *words);

/* The vCPU is at a place, and about to execute what is there or to take an interrupt. */
void pmu_arrive(struct pmu *pmu, struct pmu_words *words, struct pmu_place place);

/* An interrupt or exception has led from a place to its handler. pmu_arrive() was called before.
 * debug: it was #DB. */
void pmu_deliver(struct pmu *pmu, struct pmu_words *words, struct pmu_place from,
                 struct pmu_place to, bool debug);

#endif
