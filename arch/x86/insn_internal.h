/* SPDX-License-Identifier: MIT */
/* What the files of the instruction decoder share; everyone else includes insn.h only.
 *
 * A decoder reads forward only, through insn_take(), which knows both limits: 15 bytes for the
 * CPU, `available` for the caller. The first failure sticks in `status` and all that is read
 * after it is 0, so the steps need no checks of their own.
 */
#ifndef ARCH_X86_INSN_INTERNAL_H
#define ARCH_X86_INSN_INTERNAL_H

#include "arch/x86/insn.h"

struct insn_decoder {
    const uint8_t *bytes;
    unsigned available;
    unsigned position;
    int status;                      /* 0, INSN_TRUNCATED or INSN_INVALID */
    uint8_t attributes;              /* of the opcode, insn_table.h */
    uint8_t modrm;                   /* 0 when there is none */
    bool rex_w, rex_r, rex_x, rex_b; /* from REX, VEX, EVEX or XOP */
    bool evex_r;                     /* bit 4 of ModRM.reg */
    struct insn *out;
};

uint8_t insn_take(struct insn_decoder *d);

/* insn_operand.c */
void insn_decode_modrm(struct insn_decoder *d);
void insn_decode_immediate(struct insn_decoder *d);

/* insn_classify.c: class, kind and condition of an instruction decoded in all else */
void insn_classify(struct insn *insn);

#endif
