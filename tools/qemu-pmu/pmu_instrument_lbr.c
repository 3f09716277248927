/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is added to the translated code so that branches can be followed (pmu_follow.h).
 *
 * Each branch instruction stores a word; each block calls at its start, where last branch records
 * are enabled. INT n and its kin are seen as they are delivered.
 */
#include "tools/qemu-pmu/pmu_classify.h"
#include "tools/qemu-pmu/pmu_follow.h"
#include "tools/qemu-pmu/pmu_plugin.h"
#include "tools/qemu-pmu/pmu_qemu.h"

static qemu_plugin_u64 word_at(size_t offset)
{
    return (qemu_plugin_u64){machine.words, offsetof(struct vcpu_words, pmu) + offset};
}

/* --- when the translated code runs ----------------------------------------------------------- */

static void on_block(unsigned index, void *packed)
{
    struct pmu_place place = {
        .address = (uint64_t)((intptr_t)packed >> 1),
        .user = (uintptr_t)packed & 1,
    };

    pmu_arrive(&machine.vcpu[index].pmu, &machine_words(index)->pmu, place);
}

/* A conditional branch to the next instruction: whether it is taken does not show afterwards. */
static void on_branch_to_next(unsigned index, void *condition)
{
    struct pmu_words *words = &machine_words(index)->pmu;
    uint64_t rcx, flags = pmu_qemu_flags((uintptr_t)__builtin_return_address(0), &rcx);

    if (!pmu_is_taken((uint32_t)(uintptr_t)condition, flags, rcx))
        words->branch = 0;
}

static bool before_delivery(unsigned index, struct pmu_place from)
{
    struct pmu *pmu = &machine.vcpu[index].pmu;

    if (!pmu_lbr_is_enabled(pmu) && !machine_words(index)->pmu.following)
        return false;
    pmu_arrive(pmu, &machine_words(index)->pmu, from);
    return true;
}

static void after_delivery(unsigned index, struct pmu_place from, struct pmu_place to, bool debug)
{
    pmu_deliver(&machine.vcpu[index].pmu, &machine_words(index)->pmu, from, to, debug);
    lbr_trace_delivered(index);
}

/* --- translation ----------------------------------------------------------------------------- */

static void note_branch(struct qemu_plugin_insn *insn)
{
    struct pmu_lbr_branch branch;
    uint8_t bytes[16];
    size_t length = qemu_plugin_insn_data(insn, bytes, sizeof(bytes));
    uint64_t address = qemu_plugin_insn_vaddr(insn);

    if (!pmu_classify_for_lbr(bytes, length, pmu_qemu_code_bits(), &branch))
        return;
    qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
        insn, QEMU_PLUGIN_INLINE_STORE_U64, word_at(offsetof(struct pmu_words, branch)),
        pmu_pack_branch(address, branch.to_next ? 0 : branch.length, branch.kind));
    if (branch.to_next)
        qemu_plugin_register_vcpu_insn_exec_cond_cb(
            insn, on_branch_to_next, QEMU_PLUGIN_CB_R_REGS, QEMU_PLUGIN_COND_NE,
            word_at(offsetof(struct pmu_words, following)), 0, (void *)(uintptr_t)branch.condition);
}

void instrument_lbr_block(struct qemu_plugin_tb *tb)
{
    size_t count = qemu_plugin_tb_n_insns(tb);
    uint64_t address = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0));

    qemu_plugin_register_vcpu_tb_exec_cond_cb(
        tb, on_block, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_COND_NE,
        word_at(offsetof(struct pmu_words, following)), 0,
        (void *)(uintptr_t)(address << 1 | (pmu_qemu_cpl() != 0)));
    note_branch(qemu_plugin_tb_get_insn(tb, count - 1));
}

void instrument_lbr_start(void)
{
    static const struct pmu_delivery_callbacks callbacks = {before_delivery, after_delivery};

    pmu_qemu_watch_deliveries(&callbacks);
}
