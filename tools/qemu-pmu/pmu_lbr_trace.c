/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A second opinion on last branch records, for tests: the option lbr-trace.
 *
 * It shares nothing with what makes the records (pmu_follow.h). Every instruction of instrumented
 * code is watched, and one that does not follow the one before it in memory is a step: from there,
 * to here, with the two words that the stack holds here, in one of which an interrupt's handler
 * finds where it came from. Whether a step is a branch, an interrupt, or both, is not looked at.
 *
 * The file has what the guest would read of the records, and the latest steps, at every read of the
 * pointer to the newest record and at the first instruction of every handler, newest first:
 *
 * - `records CPU COUNT`, and as many lines `record FROM TO`;
 * - `steps COUNT all` or `… some`, and as many lines `step FROM NEXT TO WORD WORD KIND`. NEXT
 * follows FROM in memory. KIND is `anywhere` for a call, a return or an indirect jump: these can
 * lead to NEXT, too, which is a step then; else `-`. All: since registers of the records were
 * written.
 */
#include <inttypes.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/qemu-pmu/pmu_bits.h"
#include "tools/qemu-pmu/pmu_plugin.h"
#include "tools/qemu-pmu/pmu_qemu.h"

#define KEPT_STEPS (PMU_LBR_DEEPEST + 8)

struct step {
    uint64_t from, next, to, stack[2];
    bool anywhere;
};

/* Of the vCPU's own thread. */
struct trace {
    uint64_t last; /* the instruction that has started, packed; 0: none */
    struct step step[KEPT_STEPS];
    uint64_t steps; /* since registers were written */
    bool handler;   /* the next instruction is a handler's first */
};

static struct trace *traces;
static FILE *file; /* file_lock */
static pthread_mutex_t file_lock = PTHREAD_MUTEX_INITIALIZER;

/* --- the file -------------------------------------------------------------------------------- */

static void write_records(unsigned index, const struct pmu_lbr *lbr)
{
    fprintf(file, "records %u %u\n", index, lbr->depth);
    for (unsigned age = 0; age < lbr->depth; age++) {
        const struct pmu_lbr_record *record = pmu_lbr_newest(lbr, age);

        fprintf(file, "record %016" PRIx64 " %016" PRIx64 "\n", record->from, record->to);
    }
}

static void write_steps(const struct trace *trace)
{
    uint64_t count = trace->steps < KEPT_STEPS ? trace->steps : KEPT_STEPS;

    fprintf(file, "steps %" PRIu64 " %s\n", count, count < KEPT_STEPS ? "all" : "some");
    for (uint64_t age = 0; age < count; age++) {
        const struct step *step = &trace->step[(trace->steps - 1 - age) % KEPT_STEPS];

        fprintf(file, "step %016" PRIx64 " %016" PRIx64 " %016" PRIx64, step->from, step->next,
                step->to);
        fprintf(file, " %016" PRIx64 " %016" PRIx64 " %s\n", step->stack[0], step->stack[1],
                step->anywhere ? "anywhere" : "-");
    }
}

static void snapshot(unsigned index)
{
    if (!machine_words(index)->pmu.following)
        return;
    pthread_mutex_lock(&file_lock);
    if (file) {
        write_records(index, &machine.vcpu[index].pmu.lbr);
        write_steps(&traces[index]);
    }
    pthread_mutex_unlock(&file_lock);
}

/* --- what the guest does --------------------------------------------------------------------- */

/* An instruction as one number, for QEMU to hand back. */
#define ADDRESS_BITS 56
#define LENGTH(packed) ((packed) >> ADDRESS_BITS & 0xf)
#define GOES_ANYWHERE (1ull << 63)

static uint64_t address_of(uint64_t packed)
{
    return (uint64_t)((int64_t)(packed << (64 - ADDRESS_BITS)) >> (64 - ADDRESS_BITS));
}

/* Calls, returns and indirect jumps: they can lead to the instruction after them. By opcode, apart
 * from the decoder that the records are made with. */
static bool goes_anywhere(const uint8_t *bytes, size_t length)
{
    size_t at = 0;

    while (at + 1 < length && (bytes[at] == 0x66 || bytes[at] == 0xf2 || bytes[at] == 0xf3 ||
                               bytes[at] == 0x2e || bytes[at] == 0x3e || bytes[at] >> 4 == 4))
        at++;
    switch (bytes[at]) {
    case 0xc2: /* RET … */
    case 0xc3:
    case 0xca:
    case 0xcb:
    case 0xcf: /* IRET */
    case 0xe8: /* CALL */
        return true;
    case 0x0f:
        return at + 1 < length && bytes[at + 1] == 0x07; /* SYSRET */
    case 0xff:
        return at + 1 < length && (bytes[at + 1] >> 3 & 7) - 2u < 4;
    }
    return false;
}

static void on_instruction(unsigned index, void *packed)
{
    traces[index].last = (uintptr_t)packed;
}

static void on_first_instruction(unsigned index, void *packed)
{
    struct trace *trace = &traces[index];
    uint64_t from = address_of(trace->last), next = from + LENGTH(trace->last);
    struct step step = {
        .from = from,
        .next = next,
        .to = address_of((uintptr_t)packed),
        .anywhere = trace->last & GOES_ANYWHERE,
    };

    if (trace->last && (step.to != next || step.anywhere) && step.to != from) {
        pmu_qemu_read_stack(step.stack, sizeof(step.stack));
        trace->step[trace->steps++ % KEPT_STEPS] = step;
    }
    if (trace->handler)
        snapshot(index);
    trace->handler = false;
    on_instruction(index, packed);
}

static uint64_t pack(struct qemu_plugin_insn *insn)
{
    uint8_t bytes[16];
    uint64_t length = qemu_plugin_insn_data(insn, bytes, sizeof(bytes));
    uint64_t address = qemu_plugin_insn_vaddr(insn) & ((1ull << ADDRESS_BITS) - 1);

    return address | length << ADDRESS_BITS | (goes_anywhere(bytes, length) ? GOES_ANYWHERE : 0);
}

void lbr_trace_block(struct qemu_plugin_tb *tb)
{
    size_t count = qemu_plugin_tb_n_insns(tb);

    for (size_t i = 0; i < count && traces; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

        qemu_plugin_register_vcpu_insn_exec_cb(insn, i ? on_instruction : on_first_instruction,
                                               i ? QEMU_PLUGIN_CB_NO_REGS : QEMU_PLUGIN_CB_R_REGS,
                                               (void *)(uintptr_t)pack(insn));
    }
}

void lbr_trace_delivered(unsigned index)
{
    if (traces)
        traces[index].handler = true;
}

void lbr_trace_read(unsigned index, uint32_t msr)
{
    if (traces && (msr == MSR_LBR_TOS || msr == MSR_ARCH_LBR_FROM0))
        snapshot(index);
}

void lbr_trace_written(unsigned index, uint32_t msr)
{
    if (traces && (msr == MSR_DEBUGCTL || pmu_lbr_owns_msr(msr)))
        traces[index].steps = traces[index].last = 0;
}

/* --- begin and end of QEMU ------------------------------------------------------------------- */

bool lbr_trace_open(void)
{
    const char *name = machine.options.lbr_trace;

    if (!name)
        return true;
    file = fopen(name, "w");
    traces = calloc(machine.vcpus, sizeof(*traces));
    if (!file || !traces)
        pmu_message("error: lbr-trace=%s: %s", name, strerror(errno));
    return file && traces;
}

void lbr_trace_close(void)
{
    pthread_mutex_lock(&file_lock);
    if (file && (ferror(file) || fclose(file)))
        pmu_message("error: lbr-trace: %s", strerror(errno));
    file = NULL;
    pthread_mutex_unlock(&file_lock);
}
