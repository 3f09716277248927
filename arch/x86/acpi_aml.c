/* SPDX-License-Identifier: MIT */
/* The one thing that is wanted from AML: the values that \_S5 has for the power registers.
 *
 * No interpreter: the package is looked for by its name, in the encoding in which every compiler
 * leaves it. Pure, hostile input (see acpi_tables.h). Source: ACPI Specification 6.5, 20.2.
 */
#include "arch/x86/acpi_tables.h"

#include "kernel/string.h"

#define AML_ONE 0x01 /* Zero and One are opcodes themselves */
#define AML_NAME 0x08
#define AML_BYTE 0x0a
#define AML_WORD 0x0b
#define AML_DWORD 0x0c
#define AML_PACKAGE 0x12
#define AML_ROOT '\\'
#define SLEEP_TYPE_MAX 7u

struct cursor {
    const uint8_t *at, *end;
};

static bool cursor_take(struct cursor *cursor, uint8_t *byte)
{
    if (cursor->at == cursor->end)
        return false;
    *byte = *cursor->at++;
    return true;
}

/* One integer constant. */
static bool aml_integer(struct cursor *cursor, uint32_t *value)
{
    uint8_t opcode, byte;
    if (!cursor_take(cursor, &opcode))
        return false;
    unsigned size = opcode == AML_BYTE ? 1 : opcode == AML_WORD ? 2 : opcode == AML_DWORD ? 4 : 0;
    if (size == 0) {
        *value = opcode;
        return opcode <= AML_ONE;
    }
    *value = 0;
    for (unsigned i = 0; i < size; i++) {
        if (!cursor_take(cursor, &byte))
            return false;
        *value |= (uint32_t)byte << (8 * i);
    }
    return true;
}

/* Opcode, length, number of elements. The length's top bits count its further bytes; its value does
 * not matter here. */
static bool aml_package(struct cursor *cursor, uint8_t *elements)
{
    uint8_t opcode, length, skipped;
    if (!cursor_take(cursor, &opcode) || opcode != AML_PACKAGE || !cursor_take(cursor, &length))
        return false;
    for (unsigned i = 0; i < length >> 6; i++) {
        if (!cursor_take(cursor, &skipped))
            return false;
    }
    return cursor_take(cursor, elements);
}

static bool aml_sleep_types(struct cursor cursor, uint16_t *type_a, uint16_t *type_b)
{
    uint8_t elements;
    uint32_t a, b;
    if (!aml_package(&cursor, &elements) || elements == 0 || !aml_integer(&cursor, &a))
        return false;
    if (elements == 1) { /* old firmware: both values in one number */
        b = a >> 8;
        a &= 0xff;
    } else if (!aml_integer(&cursor, &b)) {
        return false;
    }
    if (a > SLEEP_TYPE_MAX || b > SLEEP_TYPE_MAX)
        return false;
    *type_a = (uint16_t)a;
    *type_b = (uint16_t)b;
    return true;
}

bool acpi_find_s5(const uint8_t *aml, size_t length, uint16_t *type_a, uint16_t *type_b)
{
    for (size_t i = 1; i + 4 <= length; i++) {
        if (memcmp(aml + i, "_S5_", 4) != 0)
            continue;
        bool named = aml[i - 1] == AML_NAME;
        bool named_at_root = i >= 2 && aml[i - 1] == AML_ROOT && aml[i - 2] == AML_NAME;
        struct cursor behind = {aml + i + 4, aml + length};
        if ((named || named_at_root) && aml_sleep_types(behind, type_a, type_b))
            return true;
    }
    return false;
}
