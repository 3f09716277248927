/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the plugin's files share: the vCPUs' PMUs, the words of the translated code, the hooks. */
#ifndef TOOLS_QEMU_PMU_PMU_PLUGIN_H
#define TOOLS_QEMU_PMU_PMU_PLUGIN_H

#include "tools/qemu-pmu/pmu_options.h"
#include "tools/qemu-pmu/qemu_abi.h"

/* The scoreboard's element: all that translated code touches. It moves when vCPUs are added. QEMU
 * puts the elements side by side at any address: `apart` keeps two vCPUs' words out of one cache
 * line, and out of the pair of lines that some CPUs fetch together. */
struct vcpu_words {
    struct pmu_words pmu;
    uint64_t nmi_expected; /* not 0: an NMI was requested and has not been seen to be taken */
    uint64_t watched;      /* not 0: vcpu.watched is set */
    uint8_t apart[128];
};

/* Of the vCPU's own thread, but `wanted`. */
struct vcpu {
    struct pmu pmu;
    pmu_word_set wanted;           /* instrument lock (pmu_instrument.c) */
    uint64_t nmis_late;            /* times that QEMU had overlooked one */
    struct oracle_thread *watched; /* whose user instructions these are; NULL: nobody's */
    uint64_t oracle_subject;       /* what the next message is about */
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

/* pmu_instrument_lbr.c: for last branch records. */
void instrument_lbr_block(struct qemu_plugin_tb *tb);
void instrument_lbr_start(void); /* before the first of these blocks */

/* pmu_lbr_trace.c: a witness for the tests of those, for the file that lbr-trace names. */
bool lbr_trace_open(void);
void lbr_trace_close(void);
void lbr_trace_block(struct qemu_plugin_tb *tb); /* after instrument_lbr_block() */
void lbr_trace_delivered(unsigned index);
void lbr_trace_read(unsigned index, uint32_t msr);
void lbr_trace_written(unsigned index, uint32_t msr);

/* pmu_oracle.c: what threads execute, for the file that the option oracle names. */
bool oracle_open(void);
void oracle_close(void);
void oracle_block(struct qemu_plugin_tb *tb);
bool oracle_owns_msr(uint32_t msr);
void oracle_write_msr(unsigned index, uint32_t msr, uint64_t value);
void oracle_cpuid(uint32_t registers[4]); /* CPUID_ORACLE */

/* pmu_helpers.c: takes RDMSR, WRMSR, CPUID and RDPMC over. */
void helpers_install(void);

#endif
