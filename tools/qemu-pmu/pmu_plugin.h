/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the plugin's files share: the vCPUs' PMUs, the words of the translated code, the hooks. */
#ifndef TOOLS_QEMU_PMU_PMU_PLUGIN_H
#define TOOLS_QEMU_PMU_PMU_PLUGIN_H

#include "tools/qemu-pmu/pmu_options.h"
#include "tools/qemu-pmu/qemu_abi.h"

/* The scoreboard's element: all that translated code touches. It moves when vCPUs are added. */
struct vcpu_words {
    struct pmu_words pmu;
    uint64_t nmi_expected; /* not 0: an NMI was requested and has not been seen to be taken */
};

/* Of the vCPU's own thread, but `wanted`. */
struct vcpu {
    struct pmu pmu;
    pmu_word_set wanted; /* instrument lock (pmu_instrument.c) */
    uint64_t nmis_late;  /* times that QEMU had overlooked one */
};

struct machine {
    struct pmu_options options;
    struct qemu_plugin_scoreboard *words;
    struct vcpu *vcpu;
    unsigned vcpus;
};
extern struct machine machine;

static inline struct vcpu_words *machine_words(unsigned index)
{
    return qemu_plugin_scoreboard_find(machine.words, index);
}

/* pmu_instrument.c */
void instrument_settle(unsigned index); /* settles the vCPU's PMU and raises what is due */
void instrument_block(struct qemu_plugin_tb *tb);
void instrument_update(unsigned index); /* after its registers were written */
void instrument_flushed(void);

/* pmu_helpers.c: takes RDMSR, WRMSR, CPUID and RDPMC over. */
void helpers_install(void);

#endif
