/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stack of last branch records of one vCPU: what is kept, and its registers. Pure.
 *
 * Whether it records at all is DEBUGCTL's and GLOBAL_STATUS's business (pmu_follow.h), but for the
 * architectural form, whose enable bit is its own. Sources: Intel SDM vol. 3, chapter 18 "Debug,
 * Branch Profile, TSC …" (last branch, interrupt and exception recording; the sections on Core,
 * Silvermont, Ivy Bridge, Haswell and Skylake) and chapter 19 "Last Branch Records"; vol. 4.
 */
#ifndef TOOLS_QEMU_PMU_PMU_LBR_H
#define TOOLS_QEMU_PMU_PMU_LBR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PMU_LBR_DEEPEST 32

/* FORM(NAME, option): whose registers these are. */
#define PMU_LBR_FORM_TABLE(FORM)                                                                   \
    FORM(NONE, "none")                                                                             \
    FORM(CORE, "4")                                                                                \
    FORM(SILVERMONT, "8")                                                                          \
    FORM(IVY_BRIDGE, "16")                                                                         \
    FORM(SKYLAKE, "32")                                                                            \
    FORM(ARCHITECTURAL, "arch")

enum pmu_lbr_form {
#define FORM(name, option) PMU_LBR_##name,
    PMU_LBR_FORM_TABLE(FORM)
#undef FORM
        PMU_LBR_FORMS,
};

/* What filters and LBR_INFO tell apart. */
enum pmu_lbr_kind {
    PMU_LBR_NO_BRANCH,
    PMU_LBR_JCC,
    PMU_LBR_REL_JMP,
    PMU_LBR_IND_JMP,
    PMU_LBR_REL_CALL,
    PMU_LBR_IND_CALL,
    PMU_LBR_RETURN,
    PMU_LBR_OTHER, /* far branches, interrupts, exceptions */
    PMU_LBR_KINDS,
};

/* As the registers hold it. */
struct pmu_lbr_record {
    uint64_t from, to, info;
};

struct pmu_lbr {
    enum pmu_lbr_form form;
    unsigned depth;
    unsigned top;    /* of record[]: the newest one */
    uint64_t select; /* MSR_LBR_SELECT, or IA32_LBR_CTL */
    struct pmu_lbr_record record[PMU_LBR_DEEPEST];
};

void pmu_lbr_reset(struct pmu_lbr *lbr, enum pmu_lbr_form form);

/* A branch was taken, which ends at CPL 0 or (user) above: kept unless it is filtered out. */
void pmu_lbr_push(struct pmu_lbr *lbr, enum pmu_lbr_kind kind, uint64_t from, uint64_t to,
                  bool user);

/* The age-th newest record; 0: the newest. */
const struct pmu_lbr_record *pmu_lbr_newest(const struct pmu_lbr *lbr, unsigned age);

/* All MSRs that are some form's: those that this form has not are refused. */
bool pmu_lbr_owns_msr(uint32_t msr);

/* False: #GP(0). */
bool pmu_lbr_read_msr(const struct pmu_lbr *lbr, uint32_t msr, uint64_t *value);
bool pmu_lbr_write_msr(struct pmu_lbr *lbr, uint32_t msr, uint64_t value);

unsigned pmu_lbr_format(enum pmu_lbr_form form);                   /* PERF_CAPABILITIES 5:0 */
void pmu_lbr_cpuid(enum pmu_lbr_form form, uint32_t registers[4]); /* leaf 1CH */

#endif
