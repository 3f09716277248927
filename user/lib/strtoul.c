/* SPDX-License-Identifier: MIT */
/* Text to number. */
#include "user/lib/string.h"

#include <limits.h>

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'Z')
        return c - 'A' + 10;
    return INT_MAX;
}

/* "0x" counts as a prefix only before a hexadecimal digit, else the number is the zero. */
static const char *skip_prefix(const char *text, int *base)
{
    int hex = text[0] == '0' && (text[1] | 0x20) == 'x' && digit_value(text[2]) < 16;

    if (hex && (*base == 0 || *base == 16)) {
        *base = 16;
        return text + 2;
    }
    if (*base == 0)
        *base = text[0] == '0' ? 8 : 10;
    return text;
}

unsigned long strtoul(const char *text, char **end, int base)
{
    const char *start = text;
    unsigned long value = 0;
    int overflow = 0;
    int digits = 0;

    while (*text == ' ' || (*text >= '\t' && *text <= '\r'))
        text++;
    int negative = *text == '-';
    if (*text == '-' || *text == '+')
        text++;
    text = skip_prefix(text, &base);
    for (; digit_value(*text) < base; text++, digits++) {
        unsigned long digit = (unsigned long)digit_value(*text);
        overflow |= value > (ULONG_MAX - digit) / (unsigned long)base;
        value = value * (unsigned long)base + digit;
    }
    if (end != NULL)
        *end = (char *)(digits > 0 ? text : start);
    if (overflow)
        return ULONG_MAX;
    return negative ? -value : value;
}
