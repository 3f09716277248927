/* SPDX-License-Identifier: MIT */
/* What is done with a decoded instruction: addresses, conditions, targets, the loader's scan.
 *
 * Pure, any context.
 */
#include "arch/x86/insn.h"

#define FLAG_CF 0
#define FLAG_PF 2
#define FLAG_ZF 6
#define FLAG_SF 7
#define FLAG_OF 11

static const struct {
    const char *name;
    bool untrappable;
} kinds[INSN_KIND_COUNT] = {
#define K(name, text, untrappable) {text, untrappable},
    INSN_KIND_TABLE(K)
#undef K
};

const char *insn_kind_name(enum insn_kind kind)
{
    return (unsigned)kind < INSN_KIND_COUNT ? kinds[kind].name : "?";
}

bool insn_is_untrappable(enum insn_kind kind)
{
    return (unsigned)kind < INSN_KIND_COUNT && kinds[kind].untrappable;
}

/* Bit n: with n in ModRM.reg the group's instruction writes its operand. */
static unsigned group_writes(uint8_t opcode)
{
    switch (opcode) {
    case 0x80:
    case 0x81:
    case 0x83: /* ADD OR ADC SBB AND SUB XOR, CMP */
        return 0x7f;
    case 0xc0:
    case 0xc1:
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3: /* rotates and shifts */
        return 0xff;
    case 0xf6:
    case 0xf7: /* NOT, NEG */
        return 1u << 2 | 1u << 3;
    case 0xfe:
    case 0xff: /* INC, DEC */
        return 1u << 0 | 1u << 1;
    default:
        return 0;
    }
}

static bool one_byte_writes(const struct insn *insn)
{
    uint8_t opcode = insn->opcode;
    if (opcode == 0x86 || opcode == 0x87) /* XCHG */
        return true;
    if (opcode < 0x38) /* ADD … XOR: 00, 01, 08, 09 … */
        return (opcode & 6) == 0;
    return group_writes(opcode) >> (insn->reg & 7) & 1;
}

static bool two_byte_writes(const struct insn *insn)
{
    switch (insn->opcode) {
    case 0xa4:
    case 0xa5:
    case 0xac:
    case 0xad: /* SHLD, SHRD */
    case 0xab:
    case 0xb3:
    case 0xbb: /* BTS, BTR, BTC */
    case 0xb0:
    case 0xb1:
    case 0xc0:
    case 0xc1: /* CMPXCHG, XADD */
        return insn->prefixes.repeat == 0;
    case 0xba: /* BT, then BTS, BTR, BTC */
        return (insn->reg & 7) >= 5;
    case 0xc7: /* CMPXCHG8B, CMPXCHG16B */
        return (insn->reg & 7) == 1;
    default:
        return false;
    }
}

bool insn_writes_operand(const struct insn *insn)
{
    if (!insn->operand.present || insn->operand.is_register || insn->prefixes.vector)
        return false;
    if (insn->prefixes.lock)
        return true;
    return insn->map == 0 ? one_byte_writes(insn) : insn->map == 1 && two_byte_writes(insn);
}

static uint64_t truncate_to(uint64_t value, unsigned size)
{
    return size >= 8 ? value : value & ((1ull << (8 * size)) - 1);
}

uint64_t insn_effective_address(const struct insn *insn, const uint64_t gpr[16], uint64_t next_rip,
                                uint64_t fs_base, uint64_t gs_base)
{
    const struct insn_operand *operand = &insn->operand;
    uint64_t address = operand->displacement;

    if (operand->base != INSN_NO_REGISTER)
        address += gpr[operand->base & 15];
    if (operand->index != INSN_NO_REGISTER)
        address += gpr[operand->index & 15] * operand->scale;
    if (operand->rip_relative)
        address += next_rip;
    address = truncate_to(address, insn->address_size);
    if (insn->prefixes.segment == INSN_SEGMENT_FS)
        address += fs_base;
    if (insn->prefixes.segment == INSN_SEGMENT_GS)
        address += gs_base;
    return insn->mode == INSN_MODE_64 ? address : truncate_to(address, 4);
}

static bool flag(uint64_t rflags, unsigned bit)
{
    return rflags >> bit & 1;
}

static bool condition_holds(unsigned condition, uint64_t rflags)
{
    bool less = flag(rflags, FLAG_SF) != flag(rflags, FLAG_OF);
    bool result = false;

    switch (condition >> 1) {
    case 0:
        result = flag(rflags, FLAG_OF);
        break;
    case 1:
        result = flag(rflags, FLAG_CF);
        break;
    case 2:
        result = flag(rflags, FLAG_ZF);
        break;
    case 3:
        result = flag(rflags, FLAG_CF) || flag(rflags, FLAG_ZF);
        break;
    case 4:
        result = flag(rflags, FLAG_SF);
        break;
    case 5:
        result = flag(rflags, FLAG_PF);
        break;
    case 6:
        result = less;
        break;
    case 7:
        result = less || flag(rflags, FLAG_ZF);
        break;
    }
    return result != (condition & 1);
}

bool insn_condition(const struct insn *insn, uint64_t rflags, uint64_t rcx)
{
    bool zero = flag(rflags, FLAG_ZF);
    bool goes_on = truncate_to(rcx - 1, insn->address_size) != 0;

    switch (insn->kind) {
    case INSN_JCC:
        return condition_holds(insn->condition, rflags);
    case INSN_JCXZ:
        return truncate_to(rcx, insn->address_size) == 0;
    case INSN_LOOP:
        return goes_on;
    case INSN_LOOPE:
        return goes_on && zero;
    case INSN_LOOPNE:
        return goes_on && !zero;
    default:
        return false;
    }
}

bool insn_branch_target(const struct insn *insn, uint64_t next_rip, uint64_t *target)
{
    bool transfers =
        insn->class == INSN_COND_BRANCH || insn->class == INSN_JMP || insn->class == INSN_CALL;

    if (!(transfers && !insn->has_modrm) && insn->kind != INSN_XBEGIN)
        return false;
    *target = next_rip + insn->immediate;
    if (insn->mode != INSN_MODE_64)
        *target = truncate_to(*target, insn->operand_size == 2 ? 2 : 4);
    return true;
}

size_t insn_scan(const uint8_t *bytes, size_t length, insn_scan_function *found, void *context)
{
    size_t count = 0;
    struct insn insn;

    for (size_t offset = 0; offset < length;) {
        size_t left = length - offset;
        unsigned available = left < INSN_MAX_LENGTH ? left : INSN_MAX_LENGTH;

        if (insn_decode(bytes + offset, available, INSN_MODE_64, &insn)) {
            offset++;
            continue;
        }
        if (insn_is_untrappable(insn.kind)) {
            count++;
            if (found)
                found(context, offset, &insn);
        }
        offset += insn.length;
    }
    return count;
}
