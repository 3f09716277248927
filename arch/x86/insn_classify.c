/* SPDX-License-Identifier: MIT */
/* What a decoded instruction is: its class, its kind, its condition.
 *
 * Pure, any context. insn.c calls insn_classify as its last step. Only the legacy maps hold
 * instructions with a class or a kind; VEX, EVEX and XOP have none.
 */
#include "arch/x86/insn_internal.h"

static void set(struct insn *insn, enum insn_class class, enum insn_kind kind)
{
    insn->class = class;
    insn->kind = kind;
}

static void set_jcc(struct insn *insn)
{
    set(insn, INSN_COND_BRANCH, INSN_JCC);
    insn->condition = insn->opcode & 0x0f;
}

static void classify_group_5(struct insn *insn) /* FF */
{
    switch (insn->reg & 7) {
    case 2:
        insn->class = INSN_CALL;
        break;
    case 3:
        set(insn, INSN_FAR, INSN_FAR_CALL);
        break;
    case 4:
        insn->class = INSN_JMP;
        break;
    case 5:
        set(insn, INSN_FAR, INSN_FAR_JMP);
        break;
    }
}

/* C2…CF, E0…EB and FF: everything of the one-byte map that transfers control, but Jcc. */
static void classify_transfer(struct insn *insn)
{
    switch (insn->opcode) {
    case 0x9a:
        set(insn, INSN_FAR, INSN_FAR_CALL);
        break;
    case 0xc2:
    case 0xc3:
        insn->class = INSN_RET;
        break;
    case 0xca:
    case 0xcb:
        set(insn, INSN_FAR, INSN_FAR_RET);
        break;
    case 0xcc:
        set(insn, INSN_FAR, INSN_INT3);
        break;
    case 0xcd:
        insn->immediate &= 0xff;
        set(insn, INSN_FAR, insn->immediate == 3 ? INSN_INT3 : INSN_INT);
        break;
    case 0xce:
        set(insn, INSN_FAR, INSN_INTO);
        break;
    case 0xcf:
        set(insn, INSN_FAR, INSN_IRET);
        break;
    case 0xe0:
        set(insn, INSN_COND_BRANCH, INSN_LOOPNE);
        break;
    case 0xe1:
        set(insn, INSN_COND_BRANCH, INSN_LOOPE);
        break;
    case 0xe2:
        set(insn, INSN_COND_BRANCH, INSN_LOOP);
        break;
    case 0xe3:
        set(insn, INSN_COND_BRANCH, INSN_JCXZ);
        break;
    case 0xe8:
        insn->class = INSN_CALL;
        break;
    case 0xe9:
    case 0xeb:
        insn->class = INSN_JMP;
        break;
    case 0xea:
        set(insn, INSN_FAR, INSN_FAR_JMP);
        break;
    case 0xf1:
        set(insn, INSN_FAR, INSN_ICEBP);
        break;
    case 0xff:
        classify_group_5(insn);
        break;
    }
}

static void classify_one_byte(struct insn *insn)
{
    switch (insn->opcode) {
    case 0x17:
        insn->kind = INSN_POP_SS;
        break;
    case 0x6c ... 0x6f: /* INS, OUTS */
    case 0xa4 ... 0xa7: /* MOVS, CMPS */
    case 0xaa ... 0xaf: /* STOS, LODS, SCAS */
        insn->kind = insn->prefixes.repeat ? INSN_REP_STRING : INSN_PLAIN;
        break;
    case 0x70 ... 0x7f:
        set_jcc(insn);
        break;
    case 0x8e:
        insn->kind = (insn->reg & 7) == INSN_SEGMENT_SS ? INSN_MOV_SS : INSN_PLAIN;
        break;
    case 0x9c:
        insn->kind = INSN_PUSHF;
        break;
    case 0x9d:
        insn->kind = INSN_POPF;
        break;
    case 0xc7:
        if ((insn->reg & 7) == 7 && insn->operand.is_register && (insn->operand.rm & 7) == 0)
            insn->kind = INSN_XBEGIN;
        break;
    default:
        classify_transfer(insn);
    }
}

/* 0F 01 with a register form is a group of its own, one instruction per ModRM byte. */
static enum insn_kind group_7_kind(const struct insn *insn)
{
    unsigned group = insn->reg & 7, rm = insn->operand.rm & 7;

    if (group == 4)
        return INSN_DESCRIPTOR; /* SMSW */
    if (!insn->operand.is_register)
        return group < 2 ? INSN_DESCRIPTOR : INSN_PLAIN; /* SGDT, SIDT */
    if (group != 7 || insn->prefixes.repeat)
        return INSN_PLAIN;
    switch (rm) {
    case 1:
        return INSN_RDTSCP;
    case 2:
        return INSN_MONITORX;
    case 3:
        return INSN_MWAITX;
    case 5:
        return INSN_RDPRU;
    default:
        return INSN_PLAIN;
    }
}

static enum insn_kind group_9_kind(const struct insn *insn) /* 0F C7 */
{
    unsigned group = insn->reg & 7;
    bool f3 = insn->prefixes.repeat == 0xf3;

    if (!insn->operand.is_register)
        return INSN_PLAIN;
    if (group == 6 && !f3)
        return INSN_RDRAND;
    if (group == 7)
        return f3 ? INSN_RDPID : INSN_RDSEED;
    return INSN_PLAIN;
}

static enum insn_kind group_15_kind(const struct insn *insn) /* 0F AE */
{
    if (!insn->operand.is_register || (insn->reg & 7) != 6)
        return INSN_PLAIN;
    if (insn->prefixes.repeat)
        return insn->prefixes.repeat == 0xf2 ? INSN_UMWAIT : INSN_UMONITOR;
    return insn->prefixes.operand_size ? INSN_TPAUSE : INSN_PLAIN; /* MFENCE */
}

static void classify_0f(struct insn *insn)
{
    switch (insn->opcode) {
    case 0x00: /* SLDT, STR */
        insn->kind = (insn->reg & 7) < 2 ? INSN_DESCRIPTOR : INSN_PLAIN;
        break;
    case 0x01:
        insn->kind = group_7_kind(insn);
        break;
    case 0x05:
        set(insn, INSN_FAR, INSN_SYSCALL);
        break;
    case 0x07:
        set(insn, INSN_FAR, INSN_SYSRET);
        break;
    case 0x31:
        insn->kind = INSN_RDTSC;
        break;
    case 0x33:
        insn->kind = INSN_RDPMC;
        break;
    case 0x34:
        set(insn, INSN_FAR, INSN_SYSENTER);
        break;
    case 0x35:
        set(insn, INSN_FAR, INSN_SYSEXIT);
        break;
    case 0x80 ... 0x8f:
        set_jcc(insn);
        break;
    case 0xa2:
        insn->kind = INSN_CPUID;
        break;
    case 0xae:
        insn->kind = group_15_kind(insn);
        break;
    case 0xc7:
        insn->kind = group_9_kind(insn);
        break;
    }
}

void insn_classify(struct insn *insn)
{
    set(insn, INSN_OTHER, INSN_PLAIN);
    if (insn->prefixes.vector)
        return;
    if (insn->map == 0)
        classify_one_byte(insn);
    else if (insn->map == 1)
        classify_0f(insn);
}
