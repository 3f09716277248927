/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which source of events an instruction is, by the kernel's own instruction decoder. Pure. */
#include "arch/x86/insn.h"
#include "tools/qemu-pmu/pmu_classify.h"

static uint32_t pack_condition(const struct insn *insn)
{
    return insn->kind | (uint32_t)insn->condition << 8 | (uint32_t)insn->address_size << 16;
}

bool pmu_is_taken(uint32_t condition, uint64_t rflags, uint64_t rcx)
{
    struct insn insn = {
        .class = INSN_COND_BRANCH,
        .kind = condition & 0xff,
        .condition = condition >> 8 & 0xff,
        .address_size = condition >> 16 & 0xff,
    };

    return insn_condition(&insn, rflags, rcx);
}

static bool decode(const uint8_t *bytes, size_t length, unsigned bits, struct insn *insn)
{
    unsigned available = length < INSN_MAX_LENGTH ? (unsigned)length : INSN_MAX_LENGTH;

    return !insn_decode(bytes, available, (enum insn_mode)bits, insn);
}

bool pmu_classify(const uint8_t *bytes, size_t length, unsigned bits, struct pmu_branch *branch)
{
    struct insn insn;

    if (!decode(bytes, length, bits, &insn))
        return false;
    *branch = (struct pmu_branch){.certain = PMU_CERTAIN_BEFORE};
    switch (insn.class) {
    case INSN_COND_BRANCH:
        branch->source = PMU_CONDITIONAL;
        branch->condition = pack_condition(&insn);
        return true;
    case INSN_JMP:
        branch->source = PMU_JUMP;
        if (insn.operand.present && !insn.operand.is_register)
            branch->certain = PMU_CERTAIN_READ;
        return true;
    case INSN_CALL:
        branch->source = PMU_CALL;
        branch->certain = PMU_CERTAIN_WRITE;
        return true;
    case INSN_RET:
        branch->source = PMU_RETURN;
        branch->certain = PMU_CERTAIN_READ;
        return true;
    case INSN_FAR:
        branch->source = PMU_FAR;
        return true;
    }
    return false;
}

static enum pmu_lbr_kind lbr_kind(const struct insn *insn)
{
    switch (insn->class) {
    case INSN_COND_BRANCH:
        return PMU_LBR_JCC;
    case INSN_JMP:
        return insn->operand.present ? PMU_LBR_IND_JMP : PMU_LBR_REL_JMP;
    case INSN_CALL:
        return insn->operand.present ? PMU_LBR_IND_CALL : PMU_LBR_REL_CALL;
    case INSN_RET:
        return PMU_LBR_RETURN;
    case INSN_FAR:
        break;
    default:
        return PMU_LBR_NO_BRANCH;
    }
    switch (insn->kind) {
    case INSN_INT:
    case INSN_INT3:
    case INSN_INTO:
    case INSN_ICEBP:
        return PMU_LBR_NO_BRANCH;
    default:
        return PMU_LBR_OTHER;
    }
}

bool pmu_classify_for_lbr(const uint8_t *bytes, size_t length, unsigned bits,
                          struct pmu_lbr_branch *branch)
{
    struct insn insn;
    uint64_t offset;

    if (!decode(bytes, length, bits, &insn))
        return false;
    *branch = (struct pmu_lbr_branch){.kind = lbr_kind(&insn), .length = insn.length};
    if (branch->kind == PMU_LBR_JCC) {
        branch->to_next = insn_branch_target(&insn, 0, &offset) && !offset;
        branch->condition = pack_condition(&insn);
    }
    return branch->kind != PMU_LBR_NO_BRANCH;
}

/* CMPS and MOVS have two. */
static unsigned accesses_of_iteration(const struct insn *insn)
{
    return insn->opcode >= 0xa4 && insn->opcode <= 0xa7 ? 2 : 1;
}

static bool has_memory_operand(const struct insn *insn)
{
    return insn->operand.present && !insn->operand.is_register;
}

/* QEMU accesses these without telling: 80-bit and BCD numbers, environment and state of the x87,
 * FXSAVE, XSAVE and their kin; but for parts of some that cross a page, when the frames are not
 * neighbours. */
static bool is_untold(const struct insn *insn)
{
    unsigned reg = insn->reg & 7;

    if (!has_memory_operand(insn) || insn->prefixes.vector)
        return false;
    if (insn->map == 1)
        return (insn->opcode == 0xae && reg != 2 && reg != 3) || (insn->opcode == 0xc7 && reg > 1);
    switch (insn->map == 0 ? insn->opcode : 0) {
    case 0xd9:
    case 0xdd:
    case 0xdf:
        return reg == 4 || reg == 6;
    case 0xdb:
        return reg == 5 || reg == 7;
    }
    return false;
}

uint64_t pmu_classify_for_oracle(uint64_t address, const uint8_t *bytes, size_t length)
{
    struct insn insn;

    if (!decode(bytes, length, INSN_MODE_64, &insn))
        return oracle_pack(address, ORACLE_PLAIN, 0);
    switch (insn.class) {
    case INSN_COND_BRANCH:
        return oracle_pack(address, ORACLE_BRANCH, 0);
    case INSN_JMP:
        return oracle_pack(address, ORACLE_BRANCH, has_memory_operand(&insn));
    case INSN_CALL:
        return oracle_pack(address, ORACLE_BRANCH, 1 + has_memory_operand(&insn));
    case INSN_RET:
        return oracle_pack(address, ORACLE_BRANCH, 1);
    }
    if (insn.kind == INSN_REP_STRING)
        return oracle_pack(address, ORACLE_REP, accesses_of_iteration(&insn));
    if (insn.kind == INSN_PUSHF || insn.kind == INSN_MOV_SS || is_untold(&insn))
        return oracle_pack(address, ORACLE_QUIET, 0);
    return oracle_pack(address, ORACLE_PLAIN, 0);
}

unsigned pmu_match_0f(const uint8_t *bytes, size_t length, unsigned bits, uint8_t opcode)
{
    struct insn insn;

    if (!decode(bytes, length, bits, &insn) || insn.prefixes.vector || insn.map != 1)
        return 0;
    return insn.opcode == opcode ? insn.length : 0;
}
