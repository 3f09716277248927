/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One vCPU's emulated PMU: registers, counters, overflow. Pure; also compiled for the host's tests.
 *
 * The translated guest code adds to words, one for each (source, mode), and calls when a word
 * becomes 0. pmu_settle() folds what the words counted into the counters and sees to it that each
 * word becomes 0 no later than the next thing that must not be missed. Whoever reads or changes
 * registers settles before (so that they are up to date) and after (so that the words fit them).
 *
 * All calls are for one vCPU, from its own thread, or while it is stopped.
 */
#ifndef TOOLS_QEMU_PMU_PMU_MODEL_H
#define TOOLS_QEMU_PMU_PMU_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/qemu-pmu/pmu_events.h"
#include "tools/qemu-pmu/pmu_lbr.h"

#define PMU_PROGRAMMABLE 4
#define PMU_FIXED 3
#define PMU_COUNTERS (PMU_PROGRAMMABLE + PMU_FIXED)
#define PMU_WIDTH 48
#define PMU_COUNTER_MASK ((1ull << PMU_WIDTH) - 1)

/* What an unlucky machine does: a kernel must find out and refuse. BROKEN(NAME, option) */
#define PMU_BROKEN_TABLE(BROKEN)                                                                   \
    BROKEN(NOT, "not")                                                                             \
    BROKEN(ZERO, "zero")             /* counters read as 0 and never count */                      \
    BROKEN(STUCK, "stuck")           /* counters keep what was written to them */                  \
    BROKEN(OVERCOUNT, "overcount")   /* one too many in every hundred */                           \
    BROKEN(UNDERCOUNT, "undercount") /* one too few in every hundred */                            \
    BROKEN(NONMI, "nonmi")           /* overflows show in GLOBAL_STATUS, but never interrupt */    \
    BROKEN(LOSTNMI, "lostnmi")       /* every eighth interrupt is lost */                          \
    BROKEN(NOSTATUS, "nostatus")     /* overflows interrupt, but never show in GLOBAL_STATUS */    \
    BROKEN(ANYMODE, "anymode")       /* the USR and OS bits are ignored: everything counts */

enum pmu_broken {
#define BROKEN(name, option) PMU_BROKEN_##name,
    PMU_BROKEN_TABLE(BROKEN)
#undef BROKEN
        PMU_BROKEN_COUNT,
};

struct pmu_config {
    unsigned version; /* of architectural performance monitoring: 2, 3 or 4 */
    enum pmu_event_table events;
    enum pmu_broken broken;
    uint64_t skid;    /* events from an overflow to its interrupt … */
    bool random_skid; /* … or a random number of them up to `skid` */
    uint64_t seed;
    enum pmu_lbr_form lbr;
};

/* What the translated code touches. */
struct pmu_words {
    uint64_t word[PMU_SOURCES][PMU_MODES];
    uint64_t want_direction[PMU_MODES]; /* not 0: PMU_TAKEN or PMU_NOT_TAKEN is being counted */
    uint64_t following; /* not 0: branches are recorded, or were when `branch` started */
    uint64_t branch;    /* pmu_pack_branch() of the branch under way; 0: none */
};

struct pmu_counter {
    uint64_t value;
    pmu_word_set words; /* what it counts as things are; 0: it stands */
    uint64_t select;    /* IA32_PERFEVTSELx; unused for fixed ones */
    uint64_t late;      /* events until the interrupt of an overflow that has happened; 0: none */
    unsigned residue;
};

struct pmu {
    const struct pmu_config *config;
    struct pmu_counter counter[PMU_COUNTERS]; /* the programmable ones first */
    uint64_t fixed_control;
    uint64_t global_control;
    uint64_t global_status;
    uint64_t debug_control;
    struct pmu_lbr lbr;
    bool interrupt_due;
    uint64_t random;
    pmu_word_set armed;                      /* the words in use; the others hold anything */
    uint64_t folded[PMU_SOURCES][PMU_MODES]; /* the values up to which they have been counted */
    bool changed;                            /* the words must be armed anew */
    uint64_t interrupts, overflows, settled;
};

/* Power-up or RESET. INIT leaves the PMU as it is (SDM vol. 3, table 10-1). index: any number,
 * makes random skids differ between vCPUs. The words must then be settled. */
void pmu_reset(struct pmu *pmu, const struct pmu_config *config, unsigned index);

/* True: the interrupt of LVTPC must be raised now. */
bool pmu_settle(struct pmu *pmu, struct pmu_words *words);

/* The words that the counters need while they are enabled, GLOBAL_CTRL and freezes aside: what the
 * code must be instrumented for. */
pmu_word_set pmu_wanted_words(const struct pmu *pmu);

/* pmu_registers.c. False: the CPU raises #GP(0). */
bool pmu_owns_msr(const struct pmu *pmu, uint32_t msr);
bool pmu_read_msr(const struct pmu *pmu, uint32_t msr, uint64_t *value);
bool pmu_write_msr(struct pmu *pmu, uint32_t msr, uint64_t value);
bool pmu_read_counter(const struct pmu *pmu, uint32_t ecx, uint64_t *value); /* RDPMC */

/* CPUID.0AH: EAX, EBX, ECX, EDX. */
void pmu_cpuid(const struct pmu_config *config, uint32_t registers[4]);

/* pmu_model.c, for pmu_registers.c */
uint64_t pmu_counter_value(const struct pmu *pmu, unsigned index);
void pmu_registers_changed(struct pmu *pmu);

#endif
