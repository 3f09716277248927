/* SPDX-License-Identifier: MIT */
/* Lines of objdump -d -w --insn-width=16, for tests of the decoder and what is made of it. */
#ifndef TESTS_HOST_OBJDUMP_H
#define TESTS_HOST_OBJDUMP_H

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct line {
    uint64_t address;
    uint8_t bytes[24];
    unsigned length;
    char text[200]; /* mnemonic and operands */
};

/* "  4011a0:\t48 89 e5             \tmov    %rsp,%rbp"; false for every other line. */
static inline bool parse_line(const char *text, struct line *out)
{
    char *end;

    out->address = strtoull(text, &end, 16);
    if (end == text || end[0] != ':' || end[1] != '\t')
        return false;
    text = end + 2;
    for (out->length = 0; isxdigit(text[0]) && isxdigit(text[1]); text += 3) {
        if (out->length == sizeof out->bytes)
            return false;
        out->bytes[out->length++] = strtoul(text, NULL, 16);
        if (text[2] != ' ')
            return false;
    }
    while (*text == ' ')
        text++;
    if (*text != '\t' || !out->length)
        return false;
    snprintf(out->text, sizeof out->text, "%s", text + 1);
    out->text[strcspn(out->text, "\n")] = '\0';
    return true;
}

#endif
