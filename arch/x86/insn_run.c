/* SPDX-License-Identifier: MIT */
/* Where instructions begin, where branches lead, and which runs of instructions one jump can
 * replace.
 *
 * A run is replaced only if nothing enters it but at its first byte. Branches of all code are
 * known, since all of the text is swept. What jumps indirectly has its target from somewhere: a
 * word in data, or an immediate or address relative to RIP in code; all of those that are addresses
 * of text count as targets. Return addresses into a run do not exist, since it contains no call.
 */
#include "arch/x86/insn_probe.h"

static bool in_text(const struct text_map *map, uint64_t address)
{
    return address - map->start < map->size;
}

static void set_bit(uint8_t *bitmap, size_t bit)
{
    bitmap[bit / 8] |= (uint8_t)(1u << bit % 8);
}

static bool test_bit(const uint8_t *bitmap, size_t bit)
{
    return bitmap[bit / 8] >> bit % 8 & 1;
}

static void add_target(struct text_map *map, uint64_t address)
{
    if (in_text(map, address))
        set_bit(map->targets, address - map->start);
}

static void add_targets(struct text_map *map, const struct insn *insn, uint64_t next)
{
    uint64_t target;

    if (insn_branch_target(insn, next, &target))
        add_target(map, target);
    else if (insn->immediate_size >= 4)
        add_target(map, (uint64_t)insn->immediate);
    if (insn->operand.rip_relative)
        add_target(map, next + (uint64_t)insn->operand.displacement);
}

void text_map_sweep(struct text_map *map, const uint8_t *text, size_t offset, size_t end)
{
    struct insn insn;

    while (offset < end) {
        size_t left = end - offset;
        unsigned available = left < INSN_MAX_LENGTH ? (unsigned)left : INSN_MAX_LENGTH;
        if (insn_decode(text + offset, available, INSN_MODE_64, &insn) != 0)
            return;
        set_bit(map->starts, offset);
        offset += insn.length;
        add_targets(map, &insn, map->start + offset);
    }
}

void text_map_add_data(struct text_map *map, const uint8_t *data, size_t size)
{
    uint64_t word;

    for (size_t i = 0; i + sizeof(word) <= size; i++) {
        __builtin_memcpy(&word, data + i, sizeof(word));
        add_target(map, word);
    }
}

bool text_map_is_start(const struct text_map *map, uint64_t address)
{
    return in_text(map, address) && test_bit(map->starts, address - map->start);
}

bool text_map_is_target(const struct text_map *map, uint64_t address)
{
    return in_text(map, address) && test_bit(map->targets, address - map->start);
}

/* The next instruction of a run, of which at most `left` bytes belong to the function. */
static enum insn_probe_refusal check_member(const uint8_t *bytes, uint64_t left,
                                            struct insn_probe *out)
{
    if (left == 0)
        return INSN_PROBE_JUMP_END;
    insn_probe_classify(bytes, left < INSN_MAX_LENGTH ? (unsigned)left : INSN_MAX_LENGTH, out);
    if (out->way == INSN_PROBE_REFUSED)
        return out->refusal;
    if (out->insn.class == INSN_CALL)
        return INSN_PROBE_JUMP_CALL;
    return out->way == INSN_PROBE_STEPPED ? INSN_PROBE_JUMP_STEP : INSN_PROBE_NONE;
}

enum insn_probe_refusal insn_probe_find_run(const struct text_map *map, const uint8_t *bytes,
                                            uint64_t address, uint64_t end,
                                            struct insn_probe_run *out)
{
    out->from = address;
    out->count = out->length = 0;
    while (out->length < INSN_PROBE_JUMP_LENGTH) {
        struct insn_probe *next = &out->probes[out->count];
        uint64_t at = address + out->length;
        enum insn_probe_refusal refusal =
            check_member(bytes + out->length, end > at ? end - at : 0, next);
        if (refusal != INSN_PROBE_NONE)
            return refusal;
        out->count++;
        out->length += next->insn.length;
    }
    for (unsigned i = 1; i < out->length; i++)
        if (text_map_is_target(map, address + i))
            return INSN_PROBE_JUMP_TARGET;
    return INSN_PROBE_NONE;
}

enum insn_probe_refusal insn_probe_copy_run(struct insn_probe_run *run, uint64_t to, uint8_t *out,
                                            size_t size)
{
    uint64_t from = run->from;
    unsigned length = 0;

    for (unsigned i = 0; i < run->count; i++) {
        if (length + INSN_PROBE_COPY_MAX + INSN_PROBE_JUMP_LENGTH > size)
            return INSN_PROBE_JUMP_SIZE;
        run->offsets[i] = (uint8_t)length;
        unsigned copied = insn_probe_relocate(&run->probes[i], from, to + length, out + length);
        if (copied == 0)
            return INSN_PROBE_REACH;
        length += copied;
        from += run->probes[i].insn.length;
    }
    if (!insn_probe_make_jump(to + length, from, out + length))
        return INSN_PROBE_REACH;
    run->copy_length = (uint8_t)(length + INSN_PROBE_JUMP_LENGTH);
    return INSN_PROBE_NONE;
}

uint64_t insn_probe_resolve_run(const struct insn_probe_run *run, unsigned offset, int64_t *rsp)
{
    uint64_t from = run->from;
    unsigned i = 0;

    *rsp = 0;
    if (offset >= run->copy_length - (unsigned)INSN_PROBE_JUMP_LENGTH)
        return from + run->length;
    while (i + 1 < run->count && run->offsets[i + 1] <= offset)
        from += run->probes[i++].insn.length;
    return insn_probe_resolve(&run->probes[i], from, offset - run->offsets[i], rsp);
}
