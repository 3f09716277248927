/* SPDX-License-Identifier: MIT */
/* Instruction decoder; insn.h says what it knows.
 *
 * A decoder reads forward only, through insn_take(), which knows both limits: 15 bytes for the CPU,
 * `available` for the caller. The first failure sticks in `status` and everything read after it is
 * 0, so the steps need no checks of their own. Pure, any context.
 */
#include "arch/x86/insn_internal.h"
#include "arch/x86/insn_table.h"

uint8_t insn_take(struct insn_decoder *d)
{
    if (d->status)
        return 0;
    if (d->position >= INSN_MAX_LENGTH)
        d->status = INSN_INVALID;
    else if (d->position >= d->available)
        d->status = INSN_TRUNCATED;
    else
        return d->bytes[d->position++];
    return 0;
}

/* The next byte, left where it is. */
static uint8_t peek(struct insn_decoder *d)
{
    uint8_t byte = insn_take(d);

    if (!d->status)
        d->position--;
    return byte;
}

/* --- prefixes --- */

static void note_segment(struct insn *out, enum insn_segment segment)
{
    if (out->mode != INSN_MODE_64 || segment >= INSN_SEGMENT_FS)
        out->prefixes.segment = segment;
}

static bool note_prefix(struct insn *out, uint8_t byte)
{
    struct insn_prefixes *prefixes = &out->prefixes;

    switch (byte) {
    case 0x26:
        note_segment(out, INSN_SEGMENT_ES);
        return true;
    case 0x2e:
        note_segment(out, INSN_SEGMENT_CS);
        return true;
    case 0x36:
        note_segment(out, INSN_SEGMENT_SS);
        return true;
    case 0x3e:
        note_segment(out, INSN_SEGMENT_DS);
        return true;
    case 0x64:
        note_segment(out, INSN_SEGMENT_FS);
        return true;
    case 0x65:
        note_segment(out, INSN_SEGMENT_GS);
        return true;
    case 0x66:
        prefixes->operand_size = true;
        return true;
    case 0x67:
        prefixes->address_size = true;
        return true;
    case 0xf0:
        prefixes->lock = true;
        return true;
    case 0xf2:
    case 0xf3:
        prefixes->repeat = byte;
        return true;
    default:
        return false;
    }
}

/* Returns the first byte that is no prefix. A REX counts only when nothing stands between it and
 * the opcode: every further prefix cancels it. */
static uint8_t decode_prefixes(struct insn_decoder *d)
{
    struct insn_prefixes *prefixes = &d->out->prefixes;

    for (;;) {
        uint8_t byte = insn_take(d);

        if (d->status)
            return 0;
        if (d->out->mode == INSN_MODE_64 && (byte & 0xf0) == 0x40)
            prefixes->rex = byte;
        else if (note_prefix(d->out, byte))
            prefixes->rex = 0;
        else
            return byte;
        prefixes->count++;
    }
}

static uint8_t address_size(const struct insn *out)
{
    bool other = out->prefixes.address_size;

    switch (out->mode) {
    case INSN_MODE_64:
        return other ? 4 : 8;
    case INSN_MODE_32:
        return other ? 2 : 4;
    default:
        return other ? 4 : 2;
    }
}

static uint8_t operand_size(const struct insn_decoder *d)
{
    bool other = d->out->prefixes.operand_size;

    if (d->out->mode == INSN_MODE_16)
        return other ? 4 : 2;
    if (d->out->mode == INSN_MODE_32)
        return other ? 2 : 4;
    if (d->rex_w || (d->attributes & ATTR_FORCE_64))
        return 8;
    if (other)
        return 2;
    return d->attributes & ATTR_DEFAULT_64 ? 8 : 4;
}

/* --- opcode --- */

/* Immediates of the maps that VEX, EVEX and XOP share. */
static uint8_t vector_attributes(uint8_t prefix, uint8_t map, uint8_t opcode)
{
    switch (map) {
    case 1:
        if (prefix != 0x62 && opcode == 0x77) /* VZEROUPPER, VZEROALL */
            return IMMEDIATE_NONE;
        if ((opcode & 0xfc) == 0x70 || opcode == 0xc2 || (opcode >= 0xc4 && opcode <= 0xc6))
            return ATTR_MODRM | IMMEDIATE_8;
        return ATTR_MODRM;
    case 3:
    case 8: /* XOP */
        return ATTR_MODRM | IMMEDIATE_8;
    case 7:
    case 10: /* XOP */
        return ATTR_MODRM | IMMEDIATE_32;
    default:
        return ATTR_MODRM;
    }
}

static void decode_vector_payload(struct insn_decoder *d, uint8_t prefix)
{
    uint8_t first = ~insn_take(d); /* R, X and B are stored inverted */

    d->rex_r = first & 0x80;
    if (prefix == 0xc5) {
        d->out->map = 1;
        return;
    }
    d->rex_x = first & 0x40;
    d->rex_b = first & 0x20;
    d->out->map = (uint8_t)~first & (prefix == 0x62 ? 0x07 : 0x1f);
    d->rex_w = insn_take(d) & 0x80;
    if (prefix == 0x62) {
        d->evex_r = first & 0x10;
        insn_take(d);
    }
}

/* VEX, EVEX and XOP after their first byte. A legacy prefix that they contain is #UD before them.
 */
static void decode_vector(struct insn_decoder *d, uint8_t prefix)
{
    struct insn *out = d->out;
    const struct insn_prefixes *prefixes = &out->prefixes;
    uint8_t first_map = prefix == 0x8f ? 8 : 1;
    uint8_t last_map = prefix == 0x8f ? 10 : 7;

    out->prefixes.vector = prefix;
    decode_vector_payload(d, prefix);
    out->opcode_offset = d->position;
    out->opcode = insn_take(d);
    if (out->mode != INSN_MODE_64)
        d->rex_w = d->rex_r = d->rex_x = d->rex_b = d->evex_r = false;
    if (d->status)
        return;
    if (prefixes->rex || prefixes->operand_size || prefixes->lock || prefixes->repeat ||
        out->map < first_map || out->map > last_map)
        d->status = INSN_INVALID;
    d->attributes = vector_attributes(prefix, out->map, out->opcode);
}

/* Is this byte, where an opcode is due, the start of VEX, EVEX or XOP? Outside 64-bit mode LES, LDS
 * and BOUND are told by their memory operand; POP by its ModRM.reg of 0. */
static bool starts_vector(struct insn_decoder *d, uint8_t byte)
{
    switch (byte) {
    case 0xc4:
    case 0xc5:
    case 0x62:
        return d->out->mode == INSN_MODE_64 || (peek(d) & 0xc0) == 0xc0;
    case 0x8f:
        return (peek(d) & 0x1f) >= 8;
    default:
        return false;
    }
}

static uint8_t map_0f_attributes(const struct insn *out)
{
    /* EXTRQ and INSERTQ with two immediates stand beside VMREAD. */
    if (out->opcode == 0x78 && (out->prefixes.operand_size || out->prefixes.repeat == 0xf2))
        return ATTR_MODRM | IMMEDIATE_8_8;
    return insn_0f_map[out->opcode];
}

static void decode_0f(struct insn_decoder *d)
{
    struct insn *out = d->out;

    out->map = 1;
    out->opcode = insn_take(d);
    if (out->opcode == 0x38 || out->opcode == 0x3a) {
        out->map = out->opcode == 0x38 ? 2 : 3;
        out->opcode = insn_take(d);
        d->attributes = out->map == 2 ? ATTR_MODRM : ATTR_MODRM | IMMEDIATE_8;
    } else {
        d->attributes = map_0f_attributes(out);
    }
}

static void decode_opcode(struct insn_decoder *d)
{
    struct insn *out = d->out;
    uint8_t byte = decode_prefixes(d);
    uint8_t rex = out->prefixes.rex;

    if (d->status)
        return;
    out->opcode_offset = d->position - 1;
    if (starts_vector(d, byte)) {
        decode_vector(d, byte);
        return;
    }
    d->rex_w = rex & 8;
    d->rex_r = rex & 4;
    d->rex_x = rex & 2;
    d->rex_b = rex & 1;
    if (byte == 0x0f) {
        decode_0f(d);
    } else {
        out->opcode = byte;
        d->attributes = insn_one_byte_map[byte];
    }
    if (d->status)
        return;
    if (d->attributes == ATTR_UNDEFINED ||
        (out->mode == INSN_MODE_64 && (d->attributes & ATTR_NOT_64)))
        d->status = INSN_INVALID;
}

/* Groups in which ModRM.reg changes what the opcode's table says. */
static void adjust_for_group(struct insn_decoder *d)
{
    unsigned group = d->out->reg & 7;

    if (d->out->map != 0 || d->out->prefixes.vector)
        return;
    if (d->out->opcode == 0xf6 && group < 2)
        d->attributes |= IMMEDIATE_8;
    if (d->out->opcode == 0xf7 && group < 2)
        d->attributes |= IMMEDIATE_Z;
    if (d->out->opcode != 0xff)
        return;
    if (group == 2 || group == 4)
        d->attributes |= ATTR_FORCE_64;
    if (group == 6)
        d->attributes |= ATTR_DEFAULT_64;
    if (group == 7 || ((group == 3 || group == 5) && d->out->operand.is_register))
        d->status = INSN_INVALID;
}

int insn_decode(const uint8_t *bytes, unsigned available, enum insn_mode mode, struct insn *out)
{
    struct insn_decoder d = {.bytes = bytes, .available = available, .out = out};

    *out = (struct insn){.mode = mode};
    out->prefixes.segment = INSN_SEGMENT_NONE;
    out->operand.base = out->operand.index = INSN_NO_REGISTER;
    out->operand.scale = 1;
    decode_opcode(&d);
    out->address_size = address_size(out);
    if (d.attributes & ATTR_MODRM)
        insn_decode_modrm(&d);
    adjust_for_group(&d);
    out->operand_size = operand_size(&d);
    insn_decode_immediate(&d);
    if (d.status)
        return d.status;
    out->length = d.position;
    out->length_varies = (d.attributes & ATTR_IMMEDIATE) == IMMEDIATE_RELATIVE &&
                         mode == INSN_MODE_64 && out->prefixes.operand_size && !d.rex_w;
    insn_classify(out);
    return 0;
}
