/* SPDX-License-Identifier: MIT */
/* What each kind of marker patches, and where its arguments are. Context: any. */
#include "arch/x86/marker_site.h"

#include <stddef.h>

#include "arch/x86/text_patch.h"
#include "kernel/panic.h"
#include "kernel/string.h"

#define OPCODE_NOP 0x90
#define IMMEDIATE_SIZE 4

/* MOV of an immediate, as the compiler has chosen its register: the last bytes are the immediate.
 */
static void make_immediate(const struct marker_place *place, bool on, uint8_t *bytes)
{
    uint8_t *immediate = bytes + place->length - IMMEDIATE_SIZE;

    memcpy(bytes, (const void *)place->address, place->length);
    memset(immediate, 0, IMMEDIATE_SIZE);
    immediate[0] = on;
}

static void make_bytes(const struct marker_place *place, bool on, uint8_t *bytes)
{
    switch ((enum marker_kind)place->kind) {
    case MARKER_IMMEDIATE:
        make_immediate(place, on, bytes);
        return;
    case MARKER_INT3:
        bytes[0] = on ? TEXT_INT3 : OPCODE_NOP;
        return;
    case MARKER_NOP_JMP:
    case MARKER_FRAME_JUMP:
        if (on)
            text_make_jump(bytes, place->length, place->address, place->target);
        else
            text_make_nop(bytes, place->length);
        return;
    case MARKER_CALL_STUB:
    case MARKER_BOOT_CALL:
        if (on)
            text_make_call(bytes, place->address, place->target);
        else
            text_make_nop(bytes, place->length);
        return;
    case MARKER_KINDS:
        break;
    }
    panic("marker at 0x%llx: unknown kind %u", (unsigned long long)place->address, place->kind);
}

void marker_place_patch(const struct marker_place *place, bool on, struct text_patch *patch)
{
    *patch = (struct text_patch){.address = place->address, .length = place->length};
    make_bytes(place, !on, patch->old_bytes);
    make_bytes(place, on, patch->new_bytes);
}

/* --- operands --- */

static const struct {
    char name[4];
    uint8_t offset;
} registers_by_name[] = {
#define REGISTER(name)                                                                             \
    {                                                                                              \
#name, offsetof(struct trap_frame, name)                                                   \
    }
    REGISTER(rax), REGISTER(rbx), REGISTER(rcx), REGISTER(rdx), REGISTER(rsi),
    REGISTER(rdi), REGISTER(rbp), REGISTER(r8),  REGISTER(r9),  REGISTER(r10),
    REGISTER(r11), REGISTER(r12), REGISTER(r13), REGISTER(r14), REGISTER(r15),
#undef REGISTER
};

static const char *word_end(const char *text)
{
    while (*text != ' ' && *text != '\0')
        text++;
    return text;
}

static uint64_t register_value(const char *name, size_t length, const struct trap_frame *registers)
{
    for (unsigned i = 0; i < sizeof(registers_by_name) / sizeof(registers_by_name[0]); i++) {
        const char *known = registers_by_name[i].name;
        if (strnlen(known, sizeof(registers_by_name[i].name)) == length &&
            memcmp(known, name, length) == 0)
            return *(const uint64_t *)((const char *)registers + registers_by_name[i].offset);
    }
    panic("marker: no register has the name %s", name);
}

static uint64_t decimal_value(const char *text)
{
    bool negative = *text == '-';
    uint64_t value = 0;

    for (text += negative; *text >= '0' && *text <= '9'; text++)
        value = value * 10 + (uint64_t)(*text - '0');
    return negative ? 0 - value : value;
}

uint64_t marker_place_operand(const struct marker_place *place, unsigned index,
                              const struct trap_frame *registers)
{
    const char *text = place->operands;

    for (; index > 0; index--)
        text = word_end(text) + 1;
    if (*text == '%')
        return register_value(text + 1, (size_t)(word_end(text) - text) - 1, registers);
    return decimal_value(text + (*text == '$'));
}
