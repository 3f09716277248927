/* SPDX-License-Identifier: MIT */
/* The formatting of printf. */
#include "user/lib/print.h"

#include <stdbool.h>
#include <stdint.h>

#include "user/lib/string.h"

struct conversion {
    unsigned width;
    bool left;
    bool zero;
    bool wide; /* l, ll or z: a 64-bit argument */
    char kind;
};

static void sink_put(struct format_sink *sink, char c)
{
    if (sink->used == sink->size)
        sink->flush(sink);
    sink->buffer[sink->used++] = c;
}

static void sink_fill(struct format_sink *sink, char c, unsigned count)
{
    while (count-- > 0)
        sink_put(sink, c);
}

/* prefix (a sign or "0x") comes before padding zeros and after padding blanks. */
static void put_field(struct format_sink *sink, const struct conversion *how, const char *prefix,
                      const char *text, size_t length)
{
    size_t taken = length + strlen(prefix);
    unsigned padding = how->width > taken ? how->width - (unsigned)taken : 0;
    bool zero = how->zero && !how->left;

    if (!how->left && !zero)
        sink_fill(sink, ' ', padding);
    while (*prefix != '\0')
        sink_put(sink, *prefix++);
    if (zero)
        sink_fill(sink, '0', padding);
    for (size_t i = 0; i < length; i++)
        sink_put(sink, text[i]);
    if (how->left)
        sink_fill(sink, ' ', padding);
}

static void put_number(struct format_sink *sink, const struct conversion *how, const char *prefix,
                       uint64_t value)
{
    char digits[20];
    size_t used = sizeof(digits);
    unsigned base = how->kind == 'x' || how->kind == 'p' ? 16 : 10;

    do {
        digits[--used] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value != 0);
    put_field(sink, how, prefix, digits + used, sizeof(digits) - used);
}

static const char *parse_conversion(const char *format, struct conversion *how)
{
    *how = (struct conversion){0};
    for (; *format == '-' || *format == '0'; format++) {
        if (*format == '-')
            how->left = true;
        else
            how->zero = true;
    }
    for (; *format >= '0' && *format <= '9'; format++)
        how->width = how->width * 10 + (unsigned)(*format - '0');
    for (; *format == 'l' || *format == 'z'; format++)
        how->wide = true;
    how->kind = *format;
    return *format == '\0' ? format : format + 1;
}

static int64_t take_signed(bool wide, va_list *arguments)
{
    return wide ? va_arg(*arguments, long) : va_arg(*arguments, int);
}

static uint64_t take_unsigned(bool wide, va_list *arguments)
{
    return wide ? va_arg(*arguments, unsigned long) : va_arg(*arguments, unsigned);
}

static void put_signed(struct format_sink *sink, struct conversion *how, int64_t value)
{
    bool negative = value < 0;

    put_number(sink, how, negative ? "-" : "", negative ? -(uint64_t)value : (uint64_t)value);
}

static void put_conversion(struct format_sink *sink, struct conversion *how, va_list *arguments)
{
    const char *text;
    char character;

    switch (how->kind) {
    case 'd':
    case 'i':
        put_signed(sink, how, take_signed(how->wide, arguments));
        break;
    case 'u':
    case 'x':
        put_number(sink, how, "", take_unsigned(how->wide, arguments));
        break;
    case 'p':
        put_number(sink, how, "0x", take_unsigned(true, arguments));
        break;
    case 's':
        text = va_arg(*arguments, const char *);
        text = text != NULL ? text : "(null)";
        put_field(sink, how, "", text, strlen(text));
        break;
    case 'c':
        character = (char)va_arg(*arguments, int);
        put_field(sink, how, "", &character, 1);
        break;
    default: /* %% and, visibly, whatever is not supported */
        if (how->kind != '%')
            sink_put(sink, '%');
        if (how->kind != '\0')
            sink_put(sink, how->kind);
    }
}

void format_text(struct format_sink *sink, const char *format, va_list arguments)
{
    va_list rest;

    va_copy(rest, arguments); /* a va_list parameter has no address of the right type */
    while (*format != '\0') {
        struct conversion how;
        if (*format != '%') {
            sink_put(sink, *format++);
            continue;
        }
        format = parse_conversion(format + 1, &how);
        put_conversion(sink, &how, &rest);
    }
    va_end(rest);
}
