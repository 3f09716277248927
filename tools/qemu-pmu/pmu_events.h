/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an event of the emulated PMU counts, in terms of what the instrumented code can tell apart.
 *
 * A source is a kind of occurrence that the translated guest code counts in one word for each
 * privilege mode. An event (unit mask and event number of IA32_PERFEVTSELx) is a sum of sources.
 * Pure; also compiled for the host's tests.
 */
#ifndef TOOLS_QEMU_PMU_PMU_EVENTS_H
#define TOOLS_QEMU_PMU_PMU_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

enum pmu_source {
    PMU_CONDITIONAL, /* Jcc, JCXZ, LOOPcc */
    PMU_TAKEN,       /* those that were taken … */
    PMU_NOT_TAKEN,   /* … and those that fell through: both dear, see pmu_instrument.c */
    PMU_JUMP,        /* near, direct or indirect */
    PMU_CALL,        /* near */
    PMU_RETURN,      /* near */
    PMU_FAR,         /* far transfers by an instruction: INT n, IRET, SYSCALL … */
    PMU_INSTRUCTION,
    PMU_SOURCES,
};

enum pmu_mode {
    PMU_USER, /* CPL 3 */
    PMU_KERNEL,
    PMU_MODES,
};

/* Sets of (source, mode), one bit each. */
typedef uint32_t pmu_word_set;
#define PMU_WORD(source, mode) (1u << ((source)*PMU_MODES + (mode)))
#define PMU_BRANCH_RECORDS (1u << 31) /* no word: branches must be followed (pmu_follow.h) */
_Static_assert(PMU_SOURCES *PMU_MODES < 31, "bits of sets");

/* Whose event numbers beside the architectural ones. */
enum pmu_event_table {
    PMU_EVENTS_SKYLAKE,    /* Nehalem … Comet Lake */
    PMU_EVENTS_ICELAKE,    /* Ice Lake and later, P-cores */
    PMU_EVENTS_SILVERMONT, /* Silvermont and later, E-cores */
};

/* The words that count the low 16 bits of `select` in the modes asked for; 0: no such event. */
pmu_word_set pmu_event_words(enum pmu_event_table table, uint16_t select, bool user, bool kernel);

#endif
