/* SPDX-License-Identifier: MIT */
/* The few instructions that are patched in: how they are written, and what they do.
 *
 * Encodings: Intel SDM vol. 2, NOP (table 4-12: recommended multi-byte sequences), JMP, CALL, MOV.
 * The emulation is part of the entry of #BP.
 */
#include "arch/x86/layout.h"
#include "arch/x86/text_patch.h"
#include "kernel/panic.h"

#define OPCODE_NOP 0x90
#define OPCODE_JMP_SHORT 0xeb
#define OPCODE_JMP 0xe9
#define OPCODE_CALL 0xe8
#define OPCODE_MOV_IMMEDIATE 0xb8 /* + register, 32 bits */
#define REX_B 0x41
#define NEAR_LENGTH 5 /* opcode, rel32 */

static const uint8_t nops[TEXT_PATCH_MAX][TEXT_PATCH_MAX] = {
    {0x90},
    {0x66, 0x90},
    {0x0f, 0x1f, 0x00},
    {0x0f, 0x1f, 0x40, 0x00},
    {0x0f, 0x1f, 0x44, 0x00, 0x00},
    {0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},
    {0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00},
    {0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
};

/* --- writing them --- */

void text_make_nop(uint8_t *bytes, unsigned length)
{
    kassert(length >= 1 && length <= TEXT_PATCH_MAX);
    for (unsigned i = 0; i < length; i++)
        bytes[i] = nops[length - 1][i];
}

static void make_near(uint8_t *bytes, uint8_t opcode, uint64_t from, uint64_t to)
{
    int64_t distance = (int64_t)(to - (from + NEAR_LENGTH));
    int32_t relative = (int32_t)distance;

    kassert(relative == distance);
    bytes[0] = opcode;
    __builtin_memcpy(bytes + 1, &relative, sizeof(relative));
}

void text_make_jump(uint8_t *bytes, unsigned length, uint64_t from, uint64_t to)
{
    kassert(length >= NEAR_LENGTH && length <= TEXT_PATCH_MAX);
    make_near(bytes, OPCODE_JMP, from, to);
    for (unsigned i = NEAR_LENGTH; i < length; i++)
        bytes[i] = TEXT_INT3; /* nobody comes here */
}

void text_make_call(uint8_t *bytes, uint64_t from, uint64_t to)
{
    make_near(bytes, OPCODE_CALL, from, to);
}

/* --- carrying them out --- */

static NOPROBE bool is_nop(const uint8_t *bytes, unsigned length)
{
    bool same = true, single = true;

    for (unsigned i = 0; i < length; i++) {
        same = same && bytes[i] == nops[length - 1][i];
        single = single && bytes[i] == OPCODE_NOP;
    }
    return same || single;
}

static NOPROBE int32_t read_s32(const uint8_t *bytes)
{
    int32_t value;

    __builtin_memcpy(&value, bytes, sizeof(value));
    return value;
}

static NOPROBE uint64_t *frame_register(struct trap_frame *frame, unsigned number)
{
    switch (number) {
    case 0:
        return &frame->rax;
    case 1:
        return &frame->rcx;
    case 2:
        return &frame->rdx;
    case 3:
        return &frame->rbx;
    case 4:
        return &frame->rsp;
    case 5:
        return &frame->rbp;
    case 6:
        return &frame->rsi;
    case 7:
        return &frame->rdi;
    }
    return &frame->r8 - (number - 8); /* r15 … r8 go upwards */
}

/* MOV of 32 bits clears the upper half. */
static NOPROBE bool emulate_mov(struct trap_frame *frame, const uint8_t *bytes, unsigned length)
{
    unsigned rex = length == 6 && bytes[0] == REX_B, opcode = bytes[rex];

    if (length != 5 + rex || (opcode & 0xf8) != OPCODE_MOV_IMMEDIATE)
        return false;
    *frame_register(frame, (opcode & 7) + 8 * rex) = (uint32_t)read_s32(bytes + 1 + rex);
    return true;
}

NOPROBE void text_push(struct trap_frame *frame, uint64_t value)
{
    frame->rsp -= sizeof(value);
    *(uint64_t *)frame->rsp = value;
}

NOPROBE bool text_emulate(struct trap_frame *frame, uint64_t address, const uint8_t *bytes,
                          unsigned length)
{
    uint64_t next = address + length;

    if (length >= NEAR_LENGTH && bytes[0] == OPCODE_JMP) {
        next = address + NEAR_LENGTH + (uint64_t)(int64_t)read_s32(bytes + 1);
    } else if (length >= 2 && bytes[0] == OPCODE_JMP_SHORT) {
        next = address + 2 + (uint64_t)(int64_t)(int8_t)bytes[1];
    } else if (length == NEAR_LENGTH && bytes[0] == OPCODE_CALL) {
        text_push(frame, next);
        next += (uint64_t)(int64_t)read_s32(bytes + 1);
    } else if (!is_nop(bytes, length) && !emulate_mov(frame, bytes, length)) {
        return false;
    }
    frame->rip = next;
    return true;
}
