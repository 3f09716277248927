/* SPDX-License-Identifier: MIT */
/* Instructions written as hexadecimal text, for the tests of the decoder. */
#ifndef TESTS_HOST_INSN_HEX_H
#define TESTS_HOST_INSN_HEX_H

#include <stdlib.h>
#include "arch/x86/insn.h"

/* Hexadecimal text as bytes in a block of exactly their number. */
static inline uint8_t *bytes_of(const char *hex, unsigned *size)
{
    uint8_t *bytes = malloc(32);
    char *end;

    for (*size = 0;; hex = end) {
        unsigned long byte = strtoul(hex, &end, 16);

        if (end == hex)
            break;
        bytes[(*size)++] = byte;
    }
    return realloc(bytes, *size ? *size : 1);
}

/* All of the text must be one valid instruction; if it is not, insn->length becomes 0. */
static inline void decode_hex(const char *hex, enum insn_mode mode, struct insn *insn)
{
    unsigned size;
    uint8_t *bytes = bytes_of(hex, &size);
    int error = insn_decode(bytes, size, mode, insn);

    free(bytes);
    if (error || insn->length != size)
        *insn = (struct insn){.length = 0};
}

#endif
