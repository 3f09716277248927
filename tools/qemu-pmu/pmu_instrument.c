/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is added to the translated code so that it counts.
 *
 * Lazy: nothing is added before a guest enables a counter; then all code is thrown away once and
 * translated anew with what the enabled counters of all vCPUs need. A narrower set is adopted when
 * a counter is enabled and the last change is a while ago.
 *
 * A block of translated code belongs to one privilege level, so user and kernel mode count in words
 * of their own. A branch adds to its word when it is certain to retire, and calls when the word has
 * become 0; the interrupt raised then is taken before the next block, which is the branch's
 * successor. Not so exact: instructions are counted as they start, so one that faults counts, a rep
 * string instruction counts whenever QEMU enters it anew, and an interrupt from their counter waits
 * for the end of the block. The direction of a conditional branch takes a call each.
 *
 * QEMU can overlook a requested NMI: it serves another request first and runs on without looking
 * again. So each block asks, while an NMI is expected, whether it has been taken.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "tools/qemu-pmu/pmu_classify.h"
#include "tools/qemu-pmu/pmu_plugin.h"
#include "tools/qemu-pmu/pmu_qemu.h"

#define USER_WORDS 0x15555555u
#define KERNEL_WORDS 0x2aaaaaaau
_Static_assert(!(PMU_BRANCH_RECORDS & (USER_WORDS | KERNEL_WORDS)), "bits of sets");
_Static_assert(PMU_WORD(1, PMU_USER) & USER_WORDS, "bits of sets");
_Static_assert(PMU_WORD(1, PMU_KERNEL) & KERNEL_WORDS, "bits of sets");

#define NARROW_AFTER_SECONDS 1

static pthread_mutex_t instrument_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pmu_word_set instrumented; /* written under the lock */
static atomic_bool flush_pending;         /* set under the lock */
static time_t last_change;                /* lock */

/* --- when the translated code runs ----------------------------------------------------------- */

void instrument_settle(unsigned index)
{
    struct vcpu_words *words = machine_words(index);

    if (pmu_settle(&machine.vcpu[index].pmu, &words->pmu) && pmu_qemu_raise_lvtpc())
        words->nmi_expected = 1;
}

static void on_zero(unsigned index, void *unused)
{
    (void)unused;
    instrument_settle(index);
}

static void after_access(unsigned index, uint32_t info, uint64_t address, void *word)
{
    (void)info;
    (void)address;
    if (!*(uint64_t *)((char *)machine_words(index) + (uintptr_t)word))
        instrument_settle(index);
}

static void on_conditional(unsigned index, void *user_data)
{
    unsigned mode = (uintptr_t)user_data & 1;
    uint32_t condition = (uint32_t)((uintptr_t)user_data >> 1);
    struct pmu_words *words = &machine_words(index)->pmu;
    uint64_t rcx, flags = pmu_qemu_flags((uintptr_t)__builtin_return_address(0), &rcx);
    enum pmu_source source = pmu_is_taken(condition, flags, rcx) ? PMU_TAKEN : PMU_NOT_TAKEN;

    if (!++words->word[source][mode])
        instrument_settle(index);
}

static void on_expected_nmi(unsigned index, void *unused)
{
    (void)unused;
    machine.vcpu[index].nmis_late++; /* unless it has been taken: the call may not come back */
    if (pmu_qemu_insist_on_nmi((uintptr_t)__builtin_return_address(0)))
        return;
    machine.vcpu[index].nmis_late--;
    machine_words(index)->nmi_expected = 0;
}

/* --- translation ----------------------------------------------------------------------------- */

static qemu_plugin_u64 word_at(size_t offset)
{
    return (qemu_plugin_u64){machine.words, offset};
}

static size_t offset_of(enum pmu_source source, enum pmu_mode mode)
{
    return offsetof(struct vcpu_words, pmu.word) +
           sizeof(uint64_t) * ((size_t)source * PMU_MODES + mode);
}

static void count_at_start(struct qemu_plugin_insn *insn, size_t offset)
{
    qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_PLUGIN_INLINE_ADD_U64,
                                                        word_at(offset), 1);
    qemu_plugin_register_vcpu_insn_exec_cond_cb(insn, on_zero, QEMU_PLUGIN_CB_NO_REGS,
                                                QEMU_PLUGIN_COND_EQ, word_at(offset), 0, NULL);
}

static void count_after_access(struct qemu_plugin_insn *insn, enum qemu_plugin_mem_rw rw,
                               size_t offset)
{
    qemu_plugin_register_vcpu_mem_inline_per_vcpu(insn, rw, QEMU_PLUGIN_INLINE_ADD_U64,
                                                  word_at(offset), 1);
    qemu_plugin_register_vcpu_mem_cb(insn, after_access, QEMU_PLUGIN_CB_NO_REGS, rw,
                                     (void *)offset);
}

static void count_direction(struct qemu_plugin_insn *insn, uint32_t condition, enum pmu_mode mode)
{
    size_t offset = offsetof(struct vcpu_words, pmu.want_direction) + sizeof(uint64_t) * mode;

    qemu_plugin_register_vcpu_insn_exec_cond_cb(insn, on_conditional, QEMU_PLUGIN_CB_R_REGS,
                                                QEMU_PLUGIN_COND_NE, word_at(offset), 0,
                                                (void *)((uintptr_t)condition << 1 | mode));
}

static void instrument_branch(struct qemu_plugin_insn *insn, const struct pmu_branch *branch,
                              enum pmu_mode mode, pmu_word_set set)
{
    pmu_word_set directions = PMU_WORD(PMU_TAKEN, mode) | PMU_WORD(PMU_NOT_TAKEN, mode);
    size_t offset = offset_of(branch->source, mode);

    if (branch->source == PMU_CONDITIONAL && set & directions)
        count_direction(insn, branch->condition, mode);
    if (!(set & PMU_WORD(branch->source, mode)))
        return;
    switch (branch->certain) {
    case PMU_CERTAIN_BEFORE:
        count_at_start(insn, offset);
        break;
    case PMU_CERTAIN_READ:
        count_after_access(insn, QEMU_PLUGIN_MEM_R, offset);
        break;
    case PMU_CERTAIN_WRITE:
        count_after_access(insn, QEMU_PLUGIN_MEM_W, offset);
        break;
    }
}

static void instrument_instruction(struct qemu_plugin_insn *insn, enum pmu_mode mode,
                                   pmu_word_set set)
{
    struct pmu_branch branch;
    uint8_t bytes[16];
    size_t length = qemu_plugin_insn_data(insn, bytes, sizeof(bytes));

    if (set & PMU_WORD(PMU_INSTRUCTION, mode))
        count_at_start(insn, offset_of(PMU_INSTRUCTION, mode));
    if (pmu_classify(bytes, length, pmu_qemu_code_bits(), &branch))
        instrument_branch(insn, &branch, mode, set);
}

/* Before counting, so that the branch that makes a counter overflow has been noted by then. */
static void follow_block(struct qemu_plugin_tb *tb)
{
    instrument_lbr_block(tb);
    lbr_trace_block(tb);
}

void instrument_block(struct qemu_plugin_tb *tb)
{
    pmu_word_set set = atomic_load(&instrumented);
    size_t count = qemu_plugin_tb_n_insns(tb);
    enum pmu_mode mode;

    if (!set)
        return; /* the layout of the CPU's state may not even be known yet */
    if (set & PMU_BRANCH_RECORDS)
        follow_block(tb);
    mode = pmu_qemu_cpl() == 3 ? PMU_USER : PMU_KERNEL;
    if (mode == PMU_USER || set & KERNEL_WORDS)
        qemu_plugin_register_vcpu_tb_exec_cond_cb(
            tb, on_expected_nmi, QEMU_PLUGIN_CB_RW_REGS, QEMU_PLUGIN_COND_NE,
            word_at(offsetof(struct vcpu_words, nmi_expected)), 0, NULL);
    set &= mode == PMU_USER ? USER_WORDS : KERNEL_WORDS;
    for (size_t i = 0; i < count && set; i++)
        instrument_instruction(qemu_plugin_tb_get_insn(tb, i), mode, set);
}

/* --- what is instrumented -------------------------------------------------------------------- */

static time_t seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static pmu_word_set wanted_by_all(void)
{
    pmu_word_set all = 0;

    for (unsigned i = 0; i < machine.vcpus; i++)
        all |= machine.vcpu[i].wanted;
    return all;
}

/* Lock held. This vCPU has enabled something: it must not run code that does not count it. */
static void adopt(pmu_word_set all)
{
    pmu_word_set have = atomic_load(&instrumented);
    pmu_word_set missing = all & ~have;
    bool narrow = have != all && seconds() - last_change > NARROW_AFTER_SECONDS;

    if (missing & PMU_BRANCH_RECORDS)
        instrument_lbr_start();
    if (missing || narrow) {
        atomic_store(&instrumented, all);
        atomic_store(&flush_pending, true);
        last_change = seconds();
    }
    if (atomic_load(&flush_pending))
        pmu_qemu_flush(); /* also when another vCPU has asked for it: this one has to wait */
}

void instrument_update(unsigned index)
{
    struct vcpu *vcpu = &machine.vcpu[index];
    pmu_word_set wanted = pmu_wanted_words(&vcpu->pmu);
    pmu_word_set more;

    if (wanted == vcpu->wanted)
        return; /* nobody else writes it */
    pthread_mutex_lock(&instrument_lock);
    more = wanted & ~vcpu->wanted;
    vcpu->wanted = wanted;
    if (more)
        adopt(wanted_by_all());
    pthread_mutex_unlock(&instrument_lock);
}

void instrument_flushed(void)
{
    atomic_store(&flush_pending, false);
}
