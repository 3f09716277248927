/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Following a vCPU from branch to branch: pmu_follow.h. */
#include "tools/qemu-pmu/pmu_bits.h"
#include "tools/qemu-pmu/pmu_follow.h"

bool pmu_lbr_is_enabled(const struct pmu *pmu)
{
    if (pmu->lbr.form == PMU_LBR_ARCHITECTURAL)
        return pmu->lbr.select & LBR_CTL_ENABLE;
    return pmu->debug_control & DEBUGCTL_LBR;
}

static bool records(const struct pmu *pmu)
{
    return pmu_lbr_is_enabled(pmu) && !(pmu->global_status & GLOBAL_STATUS_LBR_FROZEN);
}

void pmu_follow(const struct pmu *pmu, struct pmu_words *words)
{
    bool recorded = records(pmu);

    if (recorded && !words->following)
        words->branch = 0; /* of an earlier time */
    if (recorded || !words->branch)
        words->following = recorded;
}

/* An instruction that is met again has faulted, or QEMU starts it anew, for a watchpoint or for
 * code that changes itself; jumps that read nothing do neither. */
static bool was_taken(uint64_t branch, uint64_t at)
{
    uint64_t from = (uint64_t)((int64_t)branch >> 7);

    switch (branch & 7) {
    case PMU_LBR_JCC:
        return at != from + (branch >> 3 & 0xf);
    case PMU_LBR_REL_JMP:
        return true;
    default:
        return at != from;
    }
}

void pmu_arrive(struct pmu *pmu, struct pmu_words *words, struct pmu_place place)
{
    uint64_t branch = words->branch;

    if (!words->following)
        return;
    words->branch = 0;
    if (branch && was_taken(branch, place.address))
        pmu_lbr_push(&pmu->lbr, branch & 7, (uint64_t)((int64_t)branch >> 7), place.address,
                     place.user);
    pmu_follow(pmu, words);
}

/* #DB is not recorded and ends recording (SDM vol. 3, "Monitoring Branches, Exceptions, and
 * Interrupts"; for IA32_LBR_CTL chapter 19). */
static void stop(struct pmu *pmu)
{
    pmu->debug_control &= ~DEBUGCTL_LBR;
    if (pmu->lbr.form == PMU_LBR_ARCHITECTURAL)
        pmu->lbr.select &= ~LBR_CTL_ENABLE;
}

void pmu_deliver(struct pmu *pmu, struct pmu_words *words, struct pmu_place from,
                 struct pmu_place to, bool debug)
{
    if (debug)
        stop(pmu);
    else if (words->following)
        pmu_lbr_push(&pmu->lbr, PMU_LBR_OTHER, from.address, to.address, to.user);
    pmu_follow(pmu, words);
}
