/* SPDX-License-Identifier: MIT */
/* Instructions under a dynamic probe: what they are, how they are copied and emulated.
 *
 * Calls are copied as PUSH of the original's return address (an address of the kernel image is the
 * sign extension of its low half, as PUSH imm32 pushes it) and a jump, so that no address of a copy
 * ever gets onto a stack. Source of opcodes and of what holds traps off: Intel SDM vol. 2, and
 * vol. 3, 6.8 "Enabling and Disabling Interrupts".
 */
#include "arch/x86/insn_probe.h"

#define OPCODE_PUSH_IMM32 0x68
#define OPCODE_JMP_REL32 0xe9
#define OPCODE_JMP_REL8 0xeb
#define PUSH_LENGTH 5
#define MODRM_REG_MASK 0x38
#define MODRM_REG_JMP (4 << 3) /* FF /4 */
#define RSP_NUMBER 4

static const char *const refusal_texts[] = {
#define R(name, text) text,
    INSN_PROBE_REFUSALS(R)
#undef R
};

const char *insn_probe_refusal_text(enum insn_probe_refusal refusal)
{
    return (unsigned)refusal < sizeof(refusal_texts) / sizeof(refusal_texts[0])
               ? refusal_texts[refusal]
               : "?";
}

/* --- what it is --- */

static bool is_legacy(const struct insn *insn, unsigned map, unsigned opcode)
{
    return !insn->prefixes.vector && insn->map == map && insn->opcode == opcode;
}

static bool is_direct(const struct insn *insn)
{
    return insn->class != INSN_OTHER && !insn->has_modrm && insn->class != INSN_RET;
}

static bool is_loop(const struct insn *insn)
{
    return insn->class == INSN_COND_BRANCH && insn->kind != INSN_JCC;
}

/* 90 with or without 66 or F3 (REX.B makes it an XCHG), 0F 1F. */
static bool is_nop(const struct insn *insn)
{
    if (is_legacy(insn, 0, 0x90))
        return !(insn->prefixes.rex & 1);
    return is_legacy(insn, 1, 0x1f);
}

static bool is_cli(const struct insn *insn)
{
    return is_legacy(insn, 0, 0xfa);
}

static bool is_swapgs_or_mwait(const struct insn *insn, bool swapgs)
{
    if (!is_legacy(insn, 1, 0x01) || !insn->operand.is_register)
        return false;
    return (insn->reg & 7) == (swapgs ? 7 : 1) && (insn->operand.rm & 7) == (swapgs ? 0 : 1);
}

/* What changes how the CPU goes on: descriptor tables, control and debug registers, MSRs, caches.
 * It is stepped, so that no interrupt comes before its effect is complete where it belongs. */
static bool is_system(const struct insn *insn)
{
    if (insn->prefixes.vector || insn->map != 1)
        return false;
    switch (insn->opcode) {
    case 0x00 ... 0x01:
    case 0x06:
    case 0x08 ... 0x09:
    case 0x20 ... 0x23:
    case 0x30:
    case 0x32:
        return true;
    }
    return false;
}

static enum insn_probe_refusal refuse_transfer(const struct insn *insn)
{
    if (insn->class == INSN_FAR)
        return INSN_PROBE_FAR;
    if (insn->length_varies || (insn->class != INSN_OTHER && insn->prefixes.operand_size))
        return INSN_PROBE_LENGTH;
    if (insn->class == INSN_CALL && insn->has_modrm &&
        (insn->operand.is_register ? insn->operand.rm == RSP_NUMBER
                                   : insn->operand.base == RSP_NUMBER))
        return INSN_PROBE_RSP;
    return INSN_PROBE_NONE;
}

static enum insn_probe_refusal refuse(const struct insn *insn)
{
    if (is_legacy(insn, 0, 0xfb))
        return INSN_PROBE_STI;
    if (is_legacy(insn, 0, 0xf4) || is_swapgs_or_mwait(insn, false))
        return INSN_PROBE_HALT;
    if (is_swapgs_or_mwait(insn, true))
        return INSN_PROBE_SWAPGS;
    if (insn->kind == INSN_MOV_SS || insn->kind == INSN_POP_SS)
        return INSN_PROBE_SS;
    if (insn->kind == INSN_XBEGIN)
        return INSN_PROBE_XBEGIN;
    if (insn->operand.rip_relative && insn->address_size != 8)
        return INSN_PROBE_ADDRESS_SIZE;
    return refuse_transfer(insn);
}

static enum insn_probe_way find_way(const struct insn *insn)
{
    if (is_nop(insn) || is_cli(insn) || (is_direct(insn) && insn->class != INSN_CALL))
        return INSN_PROBE_EMULATED;
    return is_system(insn) ? INSN_PROBE_STEPPED : INSN_PROBE_BOOSTED;
}

void insn_probe_classify(const uint8_t *bytes, unsigned available, struct insn_probe *out)
{
    *out = (struct insn_probe){.way = INSN_PROBE_REFUSED, .refusal = INSN_PROBE_UNDECODABLE};
    if (insn_decode(bytes, available, INSN_MODE_64, &out->insn) != 0)
        return;
    for (unsigned i = 0; i < out->insn.length; i++)
        out->bytes[i] = bytes[i];
    out->refusal = refuse(&out->insn);
    if (out->refusal != INSN_PROBE_NONE)
        return;
    out->way = find_way(&out->insn);
    out->can_step = out->insn.class == INSN_OTHER;
}

/* --- copies --- */

static bool fits(int64_t value)
{
    return value == (int32_t)value;
}

static void put32(uint8_t *out, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        out[i] = (uint8_t)(value >> (8 * i));
}

/* `length` bytes of an instruction at `from`, whose last four are the distance to `target`. */
static unsigned end_with_distance(uint8_t *out, unsigned length, uint64_t from, uint64_t target)
{
    int64_t distance = (int64_t)(target - (from + length));

    if (!fits(distance))
        return 0;
    put32(out + length - 4, (uint32_t)distance);
    return length;
}

bool insn_probe_make_jump(uint64_t from, uint64_t target, uint8_t out[INSN_PROBE_JUMP_LENGTH])
{
    out[0] = OPCODE_JMP_REL32;
    return end_with_distance(out, INSN_PROBE_JUMP_LENGTH, from, target) != 0;
}

static unsigned copy_plain(const struct insn_probe *probe, uint64_t from, uint64_t to, uint8_t *out)
{
    const struct insn *insn = &probe->insn;

    for (unsigned i = 0; i < insn->length; i++)
        out[i] = probe->bytes[i];
    if (insn->operand.rip_relative) {
        int64_t displacement = insn->operand.displacement + (int64_t)(from - to);
        if (!fits(displacement))
            return 0;
        put32(out + insn->displacement_offset, (uint32_t)displacement);
    }
    return insn->length;
}

/* The short branch, with its prefix, over a jump over a jump. */
static unsigned copy_loop(const struct insn_probe *probe, uint64_t target, uint64_t to,
                          uint8_t *out)
{
    unsigned length = 0;

    if (probe->insn.address_size == 4)
        out[length++] = 0x67;
    out[length++] = probe->insn.opcode;
    out[length++] = 2;
    out[length++] = OPCODE_JMP_REL8;
    out[length++] = INSN_PROBE_JUMP_LENGTH;
    return insn_probe_make_jump(to + length, target, out + length) ? length + INSN_PROBE_JUMP_LENGTH
                                                                   : 0;
}

static unsigned copy_direct(const struct insn_probe *probe, uint64_t from, uint64_t to,
                            uint8_t *out)
{
    uint64_t target;

    if (!insn_branch_target(&probe->insn, from + probe->insn.length, &target))
        return 0;
    if (is_loop(&probe->insn))
        return copy_loop(probe, target, to, out);
    if (probe->insn.kind != INSN_JCC)
        return insn_probe_make_jump(to, target, out) ? INSN_PROBE_JUMP_LENGTH : 0;
    out[0] = 0x0f;
    out[1] = 0x80 | probe->insn.condition;
    return end_with_distance(out, 6, to, target);
}

static unsigned copy_call(const struct insn_probe *probe, uint64_t from, uint64_t to, uint8_t *out)
{
    uint64_t back = from + probe->insn.length;
    unsigned length;

    if (!fits((int64_t)back))
        return 0;
    out[0] = OPCODE_PUSH_IMM32;
    put32(out + 1, (uint32_t)back);
    if (is_direct(&probe->insn)) {
        length = copy_direct(probe, from, to + PUSH_LENGTH, out + PUSH_LENGTH);
    } else {
        uint8_t *modrm = out + PUSH_LENGTH + probe->insn.opcode_offset + 1;
        length = copy_plain(probe, from, to + PUSH_LENGTH, out + PUSH_LENGTH);
        *modrm = (uint8_t)((*modrm & ~MODRM_REG_MASK) | MODRM_REG_JMP);
    }
    return length ? PUSH_LENGTH + length : 0;
}

unsigned insn_probe_relocate(const struct insn_probe *probe, uint64_t from, uint64_t to,
                             uint8_t out[INSN_PROBE_COPY_MAX])
{
    if (probe->insn.class == INSN_CALL)
        return copy_call(probe, from, to, out);
    return is_direct(&probe->insn) ? copy_direct(probe, from, to, out)
                                   : copy_plain(probe, from, to, out);
}

uint64_t insn_probe_resolve(const struct insn_probe *probe, uint64_t from, unsigned offset,
                            int64_t *rsp)
{
    uint64_t next = from + probe->insn.length, target;

    *rsp = 0;
    if (offset == 0)
        return from;
    if (probe->insn.class == INSN_CALL) {
        *rsp = 8;
        return from;
    }
    if (is_loop(&probe->insn) && insn_branch_target(&probe->insn, next, &target) &&
        offset == (probe->insn.address_size == 4 ? 5 : 4))
        return target;
    return next;
}

/* --- emulation --- */

static bool branch_is_taken(const struct insn *insn, struct trap_frame *frame)
{
    if (insn->class == INSN_JMP)
        return true;
    bool taken = insn_condition(insn, frame->rflags, frame->rcx);
    if (insn->kind != INSN_JCC && insn->kind != INSN_JCXZ) {
        frame->rcx--;
        if (insn->address_size == 4)
            frame->rcx &= 0xffffffff;
    }
    return taken;
}

void insn_probe_emulate(const struct insn_probe *probe, struct trap_frame *frame)
{
    uint64_t next = frame->rip + probe->insn.length, target;

    if (is_cli(&probe->insn))
        frame->rflags &= ~RFLAGS_IF;
    else if (insn_branch_target(&probe->insn, next, &target) &&
             branch_is_taken(&probe->insn, frame))
        next = target;
    frame->rip = next;
}

/* Who sets the flags itself, keeps them; the image that PUSHF stored is that of the original. */
void insn_probe_finish_step(const struct insn_probe *probe, struct trap_frame *frame,
                            uint64_t *stack, bool enabled)
{
    uint64_t interrupts = enabled ? RFLAGS_IF : 0;

    if (probe->insn.kind == INSN_POPF || is_cli(&probe->insn)) {
        frame->rflags &= ~RFLAGS_TF;
        return;
    }
    if (probe->insn.kind == INSN_PUSHF)
        *stack = (*stack & ~(RFLAGS_TF | RFLAGS_IF)) | interrupts;
    frame->rflags = (frame->rflags & ~(RFLAGS_TF | RFLAGS_IF)) | interrupts;
}
