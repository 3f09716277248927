/* SPDX-License-Identifier: MIT */
/* What follows each opcode byte; private to the decoder. Source: Intel SDM vol. 2,
 * appendix A; AMD APM vol. 3, appendix A.
 *
 * Rows of 16 opcodes. The high nibble of an entry names the immediate, the low one is flags.
 */
#ifndef ARCH_X86_INSN_TABLE_H
#define ARCH_X86_INSN_TABLE_H

#include <stdint.h>

#define ATTR_MODRM 0x01
#define ATTR_NOT_64 0x02     /* #UD in 64-bit mode */
#define ATTR_DEFAULT_64 0x04 /* operand size 8 in 64-bit mode, 2 with 66 */
#define ATTR_FORCE_64 0x08   /* operand size 8 in 64-bit mode, whatever the prefixes */

#define ATTR_IMMEDIATE 0xf0
#define IMMEDIATE_NONE 0x00
#define IMMEDIATE_8 0x10
#define IMMEDIATE_16 0x20
#define IMMEDIATE_Z 0x30        /* 2 or 4 bytes, by operand size */
#define IMMEDIATE_V 0x40        /* 2, 4 or 8 bytes, by operand size */
#define IMMEDIATE_ENTER 0x50    /* 2 + 1 */
#define IMMEDIATE_ADDRESS 0x60  /* an address of address size: MOV A0…A3 */
#define IMMEDIATE_FAR 0x70      /* Z + selector */
#define IMMEDIATE_RELATIVE 0x80 /* displacement of a near branch: Z */
#define IMMEDIATE_32 0x90
#define IMMEDIATE_8_8 0xa0
#define ATTR_UNDEFINED 0xf0 /* #UD in every mode; also fills the places of prefixes and escapes */

/* clang-format off */
#define o_ 0
#define xx ATTR_UNDEFINED
#define MR ATTR_MODRM
#define I1 IMMEDIATE_8
#define IZ IMMEDIATE_Z
#define IV IMMEDIATE_V
#define AD IMMEDIATE_ADDRESS
#define n6 ATTR_NOT_64
#define d6 ATTR_DEFAULT_64
#define f6 ATTR_FORCE_64
#define M1 (MR | I1)
#define MZ (MR | IZ)
#define Mn (MR | n6)
#define Md (MR | d6)
#define N1 (MR | I1 | n6)
#define J1 (I1 | f6)
#define JZ (IMMEDIATE_RELATIVE | f6)
#define Fn (IMMEDIATE_FAR | n6)
#define P1 (I1 | d6)
#define PZ (IZ | d6)
#define An (I1 | n6)
#define R2 (IMMEDIATE_16 | f6)
#define I2 IMMEDIATE_16
#define EN (IMMEDIATE_ENTER | d6)

static const uint8_t insn_one_byte_map[256] = {
    /*       0   1   2   3   4   5   6   7   8   9   A   B   C   D   E   F */
    /* 0 */ MR, MR, MR, MR, I1, IZ, n6, n6, MR, MR, MR, MR, I1, IZ, n6, xx,
    /* 1 */ MR, MR, MR, MR, I1, IZ, n6, n6, MR, MR, MR, MR, I1, IZ, n6, n6,
    /* 2 */ MR, MR, MR, MR, I1, IZ, xx, n6, MR, MR, MR, MR, I1, IZ, xx, n6,
    /* 3 */ MR, MR, MR, MR, I1, IZ, xx, n6, MR, MR, MR, MR, I1, IZ, xx, n6,
    /* 4 */ n6, n6, n6, n6, n6, n6, n6, n6, n6, n6, n6, n6, n6, n6, n6, n6,
    /* 5 */ d6, d6, d6, d6, d6, d6, d6, d6, d6, d6, d6, d6, d6, d6, d6, d6,
    /* 6 */ n6, n6, Mn, MR, xx, xx, xx, xx, PZ, MZ, P1, M1, o_, o_, o_, o_,
    /* 7 */ J1, J1, J1, J1, J1, J1, J1, J1, J1, J1, J1, J1, J1, J1, J1, J1,
    /* 8 */ M1, MZ, N1, M1, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, Md,
    /* 9 */ o_, o_, o_, o_, o_, o_, o_, o_, o_, o_, Fn, o_, d6, d6, o_, o_,
    /* A */ AD, AD, AD, AD, o_, o_, o_, o_, I1, IZ, o_, o_, o_, o_, o_, o_,
    /* B */ I1, I1, I1, I1, I1, I1, I1, I1, IV, IV, IV, IV, IV, IV, IV, IV,
    /* C */ M1, M1, R2, f6, Mn, Mn, M1, MZ, EN, d6, I2, o_, o_, I1, n6, o_,
    /* D */ MR, MR, MR, MR, An, An, n6, o_, MR, MR, MR, MR, MR, MR, MR, MR,
    /* E */ J1, J1, J1, J1, I1, I1, I1, I1, JZ, JZ, Fn, J1, o_, o_, o_, o_,
    /* F */ xx, o_, xx, xx, o_, o_, MR, MR, o_, o_, o_, o_, o_, o_, MR, MR,
};

static const uint8_t insn_0f_map[256] = {
    /*       0   1   2   3   4   5   6   7   8   9   A   B   C   D   E   F */
    /* 0 */ MR, MR, MR, MR, xx, o_, o_, o_, o_, o_, xx, o_, xx, MR, o_, M1,
    /* 1 */ MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR,
    /* 2 */ MR, MR, MR, MR, xx, xx, xx, xx, MR, MR, MR, MR, MR, MR, MR, MR,
    /* 3 */ o_, o_, o_, o_, o_, o_, xx, o_, xx, xx, xx, xx, xx, xx, xx, xx,
    /* 4 */ MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR,
    /* 5 */ MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR,
    /* 6 */ MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR,
    /* 7 */ M1, M1, M1, M1, MR, MR, MR, o_, MR, MR, MR, MR, MR, MR, MR, MR,
    /* 8 */ JZ, JZ, JZ, JZ, JZ, JZ, JZ, JZ, JZ, JZ, JZ, JZ, JZ, JZ, JZ, JZ,
    /* 9 */ MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR,
    /* A */ d6, d6, o_, MR, M1, MR, MR, MR, d6, d6, o_, MR, M1, MR, MR, MR,
    /* B */ MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, M1, MR, MR, MR, MR, MR,
    /* C */ MR, MR, M1, MR, M1, M1, M1, MR, o_, o_, o_, o_, o_, o_, o_, o_,
    /* D */ MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR,
    /* E */ MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR,
    /* F */ MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR, MR,
};
/* clang-format on */

#undef o_
#undef xx
#undef MR
#undef I1
#undef IZ
#undef IV
#undef AD
#undef n6
#undef d6
#undef f6
#undef M1
#undef MZ
#undef Mn
#undef Md
#undef N1
#undef J1
#undef JZ
#undef Fn
#undef P1
#undef PZ
#undef An
#undef R2
#undef I2
#undef EN

#endif
