/* SPDX-License-Identifier: MIT */
/* Following a function's code as the CPU would with its markers off.
 *
 * What the walk reaches is hot. It takes both ways of a conditional branch, but for the one that
 * tests the immediate of a marker, of which it takes the way for 0.
 */
#include "kernel/marker_footprint.h"

#include "arch/x86/insn.h"
#include "kernel/err.h"
#include "kernel/marker.h"
#include "kernel/printf.h"
#include "kernel/string.h"
#include "kernel/symbols.h"

#define FUNCTION_MAX 1024
#define BRANCHES_MAX 64
#define FLAGS_OF_ZERO 0x44 /* ZF, PF: what `test` of a 0 leaves */
#define TRAMPOLINE_MAX 16

struct walk {
    const uint8_t *code;
    uint32_t length;
    bool hot[FUNCTION_MAX]; /* a hot instruction begins there */
    uint32_t later[BRANCHES_MAX];
    uint32_t later_count;
    bool tests_zero; /* the next conditional branch is about a marker's immediate */
    struct footprint *out;
};

static const struct marker_place *place_at(uint64_t address)
{
    const struct marker_place *end = marker_places_end;
    for (const struct marker_place *place = marker_places_start; place != end; place++)
        if (place->address == address)
            return place;
    return NULL;
}

/* NOP, 66 NOP, 0F 1F. */
static bool is_nop(const struct insn *insn)
{
    return (insn->map == 0 && insn->opcode == 0x90 && !(insn->prefixes.rex & 1)) ||
           (insn->map == 1 && insn->opcode == 0x1f);
}

static bool is_padding(const struct insn *insn, uint64_t address)
{
    return insn->kind == INSN_INT3 || (is_nop(insn) && !place_at(address));
}

/* PUSH, POP, XCHG with RAX, MOV of an immediate: the register is in the opcode. */
static bool names_register_in_opcode(const struct insn *insn)
{
    return insn->map == 0 && ((insn->opcode >= 0x50 && insn->opcode < 0x60) ||
                              (insn->opcode > 0x90 && insn->opcode < 0x98) ||
                              (insn->opcode >= 0xb0 && insn->opcode < 0xc0));
}

/* ModRM.reg is a part of the opcode: shifts, groups 1 to 5, MOV of an immediate, SETcc. */
static bool reg_is_opcode(const struct insn *insn)
{
    uint8_t opcode = insn->opcode;
    if (insn->map == 1)
        return opcode >= 0x90 && opcode < 0xa0;
    return (opcode >= 0x80 && opcode <= 0x83) || opcode == 0x8f || opcode == 0xc0 ||
           opcode == 0xc1 || opcode == 0xc6 || opcode == 0xc7 ||
           (opcode >= 0xd0 && opcode <= 0xd3) || opcode == 0xf6 || opcode == 0xf7 ||
           opcode == 0xfe || opcode == 0xff;
}

static uint32_t registers_of(const struct insn *insn)
{
    const struct insn_operand *operand = &insn->operand;
    uint32_t bits = 0;
    if (is_nop(insn))
        return 0;
    if (names_register_in_opcode(insn))
        bits |= 1u << ((insn->opcode & 7) + (insn->prefixes.rex & 1 ? 8 : 0));
    if (insn->has_modrm && !reg_is_opcode(insn))
        bits |= 1u << (insn->reg & 15);
    if (operand->present && operand->is_register)
        bits |= 1u << (operand->rm & 15);
    if (operand->present && !operand->is_register && operand->base != INSN_NO_REGISTER)
        bits |= 1u << operand->base;
    if (operand->present && !operand->is_register && operand->index != INSN_NO_REGISTER)
        bits |= 1u << operand->index;
    return bits;
}

static int decode(const struct walk *walk, uint32_t at, struct insn *insn)
{
    return insn_decode(walk->code + at, walk->length - at, INSN_MODE_64, insn) ? ERR_FAILED : 0;
}

static int add_later(struct walk *walk, uint64_t target)
{
    uint64_t offset = target - (uint64_t)walk->code;
    if (offset >= walk->length) /* a tail call */
        return 0;
    if (walk->later_count == BRANCHES_MAX)
        return ERR_FAILED;
    walk->later[walk->later_count++] = (uint32_t)offset;
    return 0;
}

/* A branch at `at`; *next: where the walk goes on, or the length when it does not. */
static int follow(struct walk *walk, const struct insn *insn, uint32_t *next)
{
    uint64_t target;
    bool direct = insn_branch_target(insn, (uint64_t)walk->code + *next, &target);
    if (insn->class == INSN_COND_BRANCH && walk->tests_zero) {
        walk->tests_zero = false;
        if (!insn_condition(insn, FLAGS_OF_ZERO, 1))
            return 0;
        *next = walk->length;
        return add_later(walk, target);
    }
    if (insn->class == INSN_COND_BRANCH)
        return add_later(walk, target);
    if (insn->class == INSN_JMP || insn->class == INSN_RET)
        *next = walk->length;
    return insn->class == INSN_JMP && direct ? add_later(walk, target) : 0;
}

static int walk_from(struct walk *walk, uint32_t at)
{
    struct insn insn;
    while (at < walk->length && !walk->hot[at]) {
        uint64_t address = (uint64_t)walk->code + at;
        const struct marker_place *place = place_at(address);
        int error = decode(walk, at, &insn);
        if (error)
            return error;
        walk->hot[at] = true;
        if (!is_padding(&insn, address)) {
            walk->out->hot_bytes += insn.length;
            walk->out->hot_instructions++;
            walk->out->registers |= registers_of(&insn);
        }
        if (place && place->kind == MARKER_IMMEDIATE)
            walk->tests_zero = true;
        at += insn.length;
        error = follow(walk, &insn, &at);
        if (error)
            return error;
    }
    return 0;
}

/* To its jump, inclusive. */
static uint32_t trampoline_bytes(const struct marker_place *place)
{
    uint32_t at = 0;
    struct insn insn = {0};
    while (at < TRAMPOLINE_MAX && insn.class != INSN_JMP) {
        if (insn_decode((const uint8_t *)place->target + at, TRAMPOLINE_MAX, INSN_MODE_64, &insn))
            break;
        at += insn.length;
    }
    return at;
}

static int count_cold(struct walk *walk)
{
    struct insn insn;
    for (uint32_t at = 0; at < walk->length; at += insn.length) {
        uint64_t address = (uint64_t)walk->code + at;
        const struct marker_place *place = place_at(address);
        int error = decode(walk, at, &insn);
        if (error)
            return error;
        if (!walk->hot[at] && !is_padding(&insn, address))
            walk->out->cold_bytes += insn.length;
        if (place && place->kind == MARKER_FRAME_JUMP)
            walk->out->cold_bytes += trampoline_bytes(place);
    }
    return 0;
}

static uint32_t function_length(uint64_t function)
{
    const char *name, *other;
    uint64_t offset;
    uint32_t length = 1;
    if (!symbol_find(function, &name, &offset) || offset != 0)
        return 0;
    while (length < FUNCTION_MAX && symbol_find(function + length, &other, &offset) &&
           offset == length)
        length++;
    return length;
}

int footprint_read(uint64_t function, struct footprint *out)
{
    static struct walk walk; /* the shell's thread only */
    walk = (struct walk){
        .code = (const uint8_t *)function, .length = function_length(function), .out = out};
    *out = (struct footprint){0};
    if (walk.length == 0)
        return ERR_NOT_FOUND;
    int error = walk.length == FUNCTION_MAX ? ERR_FAILED : walk_from(&walk, 0);
    while (!error && walk.later_count > 0)
        error = walk_from(&walk, walk.later[--walk.later_count]);
    return error ? error : count_cold(&walk);
}

const char *footprint_registers(char *out, unsigned size, uint32_t registers)
{
    static const char names[16][4] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                      "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
    size_t used = 0;
    string_copy(out, "none", size);
    for (unsigned i = 0; i < 16; i++)
        if (registers >> i & 1 && used < size)
            used += (size_t)format_text(out + used, size - used, "%s%s", used ? " " : "", names[i]);
    return out;
}
