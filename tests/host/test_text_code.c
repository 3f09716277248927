/* SPDX-License-Identifier: MIT */
/* The instructions that are patched into text: written, read back by the decoder, carried out on
 * a frame.
 */
#include <stddef.h>
#include "arch/x86/insn.h"
#include "arch/x86/text_patch.h"
#include "tests/host/tap.h"

#define HERE 0xffffffff80123456ull

static struct insn decode(const uint8_t *bytes, unsigned length)
{
    struct insn insn = {0};

    if (insn_decode(bytes, length, INSN_MODE_64, &insn) != 0)
        insn.length = 0;
    return insn;
}

static void test_nops(void)
{
    unsigned wrong = 0, moved = 0;

    for (unsigned length = 1; length <= TEXT_PATCH_MAX; length++) {
        uint8_t bytes[TEXT_PATCH_MAX];
        struct trap_frame frame = {.rax = 1, .rsp = 2}, before = frame;
        text_make_nop(bytes, length);
        struct insn insn = decode(bytes, length);
        wrong += insn.length != length || !(insn.opcode == 0x90 || insn.opcode == 0x1f);
        moved += !text_emulate(&frame, HERE, bytes, length);
        before.rip = HERE + length;
        moved += memcmp(&frame, &before, sizeof(frame)) != 0;
    }
    is_u64(wrong, 0, "NOPs of 1 to 8 bytes are one instruction each");
    is_u64(moved, 0, "and do nothing but go on behind");
}

static void check_near(const uint8_t *bytes, unsigned class, uint64_t to, const char *what)
{
    struct insn insn = decode(bytes, 5);
    uint64_t target = 0;

    ok(insn.length == 5 && insn.class == class && insn_branch_target(&insn, HERE + 5, &target) &&
           target == to,
       what);
}

static void test_jumps(void)
{
    uint8_t bytes[TEXT_PATCH_MAX];
    static const uint64_t targets[] = {HERE + 5, HERE - 0x12345, HERE + 0x7654321, HERE};

    for (unsigned i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        struct trap_frame frame = {.rip = 1};
        text_make_jump(bytes, 6, HERE, targets[i]);
        check_near(bytes, INSN_JMP, targets[i], "a jump goes where it should");
        ok(bytes[5] == TEXT_INT3, "with an int3 behind it");
        ok(text_emulate(&frame, HERE, bytes, 6) && frame.rip == targets[i],
           "and is carried out so");
    }
    struct trap_frame frame = {0};
    ok(text_emulate(&frame, HERE, (const uint8_t[]){0xeb, 0xfe}, 2) && frame.rip == HERE,
       "a short jump to itself");
}

static void test_calls(void)
{
    uint64_t stack[4] = {1, 2, 3, 4};
    struct trap_frame frame = {.rsp = (uint64_t)&stack[2]};
    uint8_t bytes[5];

    text_make_call(bytes, HERE, HERE - 0x1000);
    check_near(bytes, INSN_CALL, HERE - 0x1000, "a call goes where it should");
    ok(text_emulate(&frame, HERE, bytes, 5) && frame.rip == HERE - 0x1000, "and is carried out so");
    ok(frame.rsp == (uint64_t)&stack[1] && stack[1] == HERE + 5, "its return address is pushed");
    ok(stack[0] == 1 && stack[2] == 3 && stack[3] == 4, "and nothing else is written");
}

static void test_moves(void)
{
    static const uint64_t offsets[16] = {
        offsetof(struct trap_frame, rax), offsetof(struct trap_frame, rcx),
        offsetof(struct trap_frame, rdx), offsetof(struct trap_frame, rbx),
        offsetof(struct trap_frame, rsp), offsetof(struct trap_frame, rbp),
        offsetof(struct trap_frame, rsi), offsetof(struct trap_frame, rdi),
        offsetof(struct trap_frame, r8),  offsetof(struct trap_frame, r9),
        offsetof(struct trap_frame, r10), offsetof(struct trap_frame, r11),
        offsetof(struct trap_frame, r12), offsetof(struct trap_frame, r13),
        offsetof(struct trap_frame, r14), offsetof(struct trap_frame, r15)};
    unsigned wrong = 0;

    for (unsigned n = 0; n < 16; n++) {
        struct trap_frame frame, expected;
        uint8_t bytes[6];
        unsigned at = 0;
        memset(&frame, 0xee, sizeof(frame));
        expected = frame;
        if (n >= 8)
            bytes[at++] = 0x41;
        bytes[at++] = (uint8_t)(0xb8 + (n & 7));
        memcpy(bytes + at, (const uint8_t[]){0x01, 0x00, 0x00, 0x80}, 4);
        at += 4;
        expected.rip = HERE + at;
        *(uint64_t *)((char *)&expected + offsets[n]) = 0x80000001;
        wrong += !text_emulate(&frame, HERE, bytes, at);
        wrong += memcmp(&frame, &expected, sizeof(frame)) != 0;
    }
    is_u64(wrong, 0, "MOV of an immediate sets each of the 16 registers, upper half cleared");
}

static void test_others(void)
{
    static const struct {
        uint8_t bytes[8];
        unsigned length;
    } others[] = {
        {{0x0f, 0x0b}, 2},                   /* ud2 */
        {{0x0f, 0x1f, 0x44, 0x00, 0x00}, 4}, /* a NOP cut short */
        {{0xe9, 0, 0, 0, 0}, 4},             /* a jump cut short */
        {{0xe8, 0, 0, 0, 0, 0x90}, 6},       /* a call, and something behind it */
        {{0xb8, 1, 0, 0, 0, 0x90}, 6},       /* the same with MOV */
        {{0x48, 0xb8, 1, 0, 0, 0, 0, 0}, 8}, /* MOV of 64 bits */
        {{0xc3}, 1},                         /* ret */
        {{0xcc}, 1},                         /* int3 */
    };
    unsigned carried_out = 0;

    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct trap_frame frame = {.rip = 7};
        carried_out += text_emulate(&frame, HERE, others[i].bytes, others[i].length);
        carried_out += frame.rip != 7;
    }
    is_u64(carried_out, 0, "nothing else is carried out");
}

int main(void)
{
    test_nops();
    test_jumps();
    test_calls();
    test_moves();
    test_others();
    return done();
}
