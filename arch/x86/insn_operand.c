/* SPDX-License-Identifier: MIT */
/* What follows the opcode: ModRM, SIB, displacement, immediates. Pure, any context. */
#include "arch/x86/insn_internal.h"
#include "arch/x86/insn_table.h"

static uint64_t take_unsigned(struct insn_decoder *d, unsigned size)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)insn_take(d) << (8 * i);
    return value;
}

static int64_t take_signed(struct insn_decoder *d, unsigned size)
{
    uint64_t value = take_unsigned(d, size);

    switch (size) {
    case 1:
        return (int8_t)value;
    case 2:
        return (int16_t)value;
    case 4:
        return (int32_t)value;
    default:
        return (int64_t)value;
    }
}

/* --- ModRM --- */

static void take_displacement(struct insn_decoder *d, unsigned size)
{
    d->out->displacement_offset = d->position;
    d->out->displacement_size = size;
    d->out->operand.displacement = take_signed(d, size);
}

static void decode_memory_16(struct insn_decoder *d)
{
    enum { BX = 3, BP = 5, SI = 6, DI = 7 };
    static const int8_t bases[8] = {BX, BX, BP, BP, SI, DI, BP, BX};
    static const int8_t indices[8] = {SI, DI, SI, DI, -1, -1, -1, -1};
    struct insn_operand *operand = &d->out->operand;
    unsigned mod = d->modrm >> 6, rm = d->modrm & 7;

    if (mod == 0 && rm == 6) {
        take_displacement(d, 2);
        return;
    }
    operand->base = bases[rm];
    operand->index = indices[rm];
    if (mod)
        take_displacement(d, mod);
}

static void decode_sib(struct insn_decoder *d)
{
    struct insn_operand *operand = &d->out->operand;
    uint8_t sib = insn_take(d);
    unsigned index = ((sib >> 3) & 7) | (d->rex_x ? 8 : 0);

    operand->scale = 1u << (sib >> 6);
    if (index != 4)
        operand->index = index;
    if ((sib & 7) != 5 || d->modrm >> 6)
        operand->base = (sib & 7) | (d->rex_b ? 8 : 0);
}

static void decode_memory(struct insn_decoder *d)
{
    struct insn_operand *operand = &d->out->operand;
    unsigned mod = d->modrm >> 6, rm = d->modrm & 7;

    if (rm == 4)
        decode_sib(d);
    else if (mod || rm != 5)
        operand->base = rm | (d->rex_b ? 8 : 0);
    else
        operand->rip_relative = d->out->mode == INSN_MODE_64;
    if (mod == 1)
        take_displacement(d, 1);
    else if (mod == 2 || operand->base == INSN_NO_REGISTER)
        take_displacement(d, 4);
}

/* Gathers and scatters (their index is a vector), AMX tiles, and EVEX' scaled displacements. */
static bool address_is_known(const struct insn *out)
{
    uint8_t opcode = out->opcode;

    if (!out->prefixes.vector)
        return true;
    if (out->prefixes.vector == 0x62 && out->displacement_size == 1)
        return false;
    return out->map != 2 || !((opcode & 0xfc) == 0x90 || (opcode & 0xfc) == 0xa0 ||
                              opcode == 0xc6 || opcode == 0xc7 || opcode == 0x4b);
}

/* MOV to and from control and debug registers read ModRM as a register whatever its mod says. */
static bool is_register_form(const struct insn_decoder *d)
{
    bool control = d->out->map == 1 && !d->out->prefixes.vector && (d->out->opcode & 0xfc) == 0x20;

    return d->modrm >> 6 == 3 || control;
}

void insn_decode_modrm(struct insn_decoder *d)
{
    struct insn *out = d->out;
    struct insn_operand *operand = &out->operand;

    d->modrm = insn_take(d);
    out->has_modrm = true;
    out->reg = ((d->modrm >> 3) & 7) | (d->rex_r ? 8 : 0) | (d->evex_r ? 16 : 0);
    operand->present = true;
    if (is_register_form(d)) {
        operand->is_register = true;
        operand->rm = (d->modrm & 7) | (d->rex_b ? 8 : 0);
        if (out->prefixes.vector == 0x62 && d->rex_x)
            operand->rm |= 16;
        return;
    }
    if (out->address_size == 2)
        decode_memory_16(d);
    else
        decode_memory(d);
    operand->address_known = address_is_known(out);
}

/* --- immediates --- */

static unsigned size_of_z(const struct insn_decoder *d)
{
    return d->out->operand_size == 2 ? 2 : 4;
}

static void take_immediate(struct insn_decoder *d, unsigned first, unsigned second)
{
    d->out->immediate_offset = d->position;
    d->out->immediate_size = first + second;
    d->out->immediate = take_signed(d, first);
    take_unsigned(d, second);
}

static void take_absolute_address(struct insn_decoder *d)
{
    struct insn_operand *operand = &d->out->operand;

    operand->present = operand->address_known = true;
    d->out->displacement_offset = d->position;
    d->out->displacement_size = d->out->address_size;
    operand->displacement = (int64_t)take_unsigned(d, d->out->address_size);
}

void insn_decode_immediate(struct insn_decoder *d)
{
    switch (d->attributes & ATTR_IMMEDIATE) {
    case IMMEDIATE_8:
        take_immediate(d, 1, 0);
        break;
    case IMMEDIATE_16:
        take_immediate(d, 2, 0);
        break;
    case IMMEDIATE_32:
        take_immediate(d, 4, 0);
        break;
    case IMMEDIATE_Z:
    case IMMEDIATE_RELATIVE:
        take_immediate(d, size_of_z(d), 0);
        break;
    case IMMEDIATE_V:
        take_immediate(d, d->out->operand_size, 0);
        break;
    case IMMEDIATE_ENTER:
        take_immediate(d, 2, 1);
        break;
    case IMMEDIATE_FAR:
        take_immediate(d, size_of_z(d), 2);
        break;
    case IMMEDIATE_8_8:
        take_immediate(d, 1, 1);
        break;
    case IMMEDIATE_ADDRESS:
        take_absolute_address(d);
        break;
    }
}
