/* SPDX-License-Identifier: MIT */
/* Formatted text into a buffer: the part of ISO C's vsnprintf that printf.h lists.
 *
 * Beyond that list: %i, `*` as width or precision, precision of integers, the length hh. A
 * conversion that it does not know is copied as it stands and takes no argument. Pure, any
 * context, NMI too.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include "kernel/printf.h"
#include "kernel/string.h"

#define DIGITS_MAX 20 /* of 2^64 - 1 in decimal */

struct sink {
    char *out;
    size_t size;   /* of out, the final 0 included */
    size_t length; /* what the whole text has so far */
};

enum length { LENGTH_INT, LENGTH_CHAR, LENGTH_SHORT, LENGTH_LONG, LENGTH_LONG_LONG, LENGTH_SIZE };

struct spec {
    bool zero, left, plus;
    int width;
    int precision; /* -1: none */
    enum length length;
    char conversion;
};

static void put(struct sink *sink, char byte)
{
    if (sink->length + 1 < sink->size)
        sink->out[sink->length] = byte;
    sink->length++;
}

static void put_repeated(struct sink *sink, char byte, int count)
{
    for (; count > 0; count--)
        put(sink, byte);
}

static void put_bytes(struct sink *sink, const char *text, int length)
{
    for (int i = 0; i < length; i++)
        put(sink, text[i]);
}

static void put_padded(struct sink *sink, const struct spec *spec, const char *text, int length)
{
    int padding = spec->width - length;

    if (!spec->left)
        put_repeated(sink, ' ', padding);
    put_bytes(sink, text, length);
    if (spec->left)
        put_repeated(sink, ' ', padding);
}

/* prefix ("-", "+", "0x" or ""), zeros, digits; padded as the spec says. */
static void put_number(struct sink *sink, const struct spec *spec, const char *prefix,
                       uint64_t value, unsigned base)
{
    const char *symbols = spec->conversion == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    char digits[DIGITS_MAX], *first = digits + DIGITS_MAX;
    int count, zeros, padding, prefix_length = strlen(prefix);

    for (; value; value /= base)
        *--first = symbols[value % base];
    count = digits + DIGITS_MAX - first;
    zeros = (spec->precision < 0 ? 1 : spec->precision) - count;
    zeros = zeros > 0 ? zeros : 0;
    padding = spec->width - prefix_length - zeros - count;
    if (spec->zero && !spec->left && spec->precision < 0 && padding > 0) {
        zeros += padding;
        padding = 0;
    }
    if (!spec->left)
        put_repeated(sink, ' ', padding);
    put_bytes(sink, prefix, prefix_length);
    put_repeated(sink, '0', zeros);
    put_bytes(sink, first, count);
    if (spec->left)
        put_repeated(sink, ' ', padding);
}

static void put_signed(struct sink *sink, const struct spec *spec, int64_t value)
{
    const char *sign = value < 0 ? "-" : spec->plus ? "+" : "";

    put_number(sink, spec, sign, value < 0 ? -(uint64_t)value : (uint64_t)value, 10);
}

static void put_string(struct sink *sink, const struct spec *spec, const char *text)
{
    size_t limit = spec->precision < 0 ? INT_MAX : (size_t)spec->precision;

    if (!text)
        text = "(null)";
    put_padded(sink, spec, text, strnlen(text, limit));
}

static int64_t signed_argument(enum length length, va_list *arguments)
{
    switch (length) {
    case LENGTH_CHAR:
        return (signed char)va_arg(*arguments, int);
    case LENGTH_SHORT:
        return (short)va_arg(*arguments, int);
    case LENGTH_LONG:
        return va_arg(*arguments, long);
    case LENGTH_LONG_LONG:
        return va_arg(*arguments, long long);
    case LENGTH_SIZE:
        return (int64_t)va_arg(*arguments, size_t);
    default:
        return va_arg(*arguments, int);
    }
}

static uint64_t unsigned_argument(enum length length, va_list *arguments)
{
    switch (length) {
    case LENGTH_CHAR:
        return (unsigned char)va_arg(*arguments, unsigned);
    case LENGTH_SHORT:
        return (unsigned short)va_arg(*arguments, unsigned);
    case LENGTH_LONG:
        return va_arg(*arguments, unsigned long);
    case LENGTH_LONG_LONG:
        return va_arg(*arguments, unsigned long long);
    case LENGTH_SIZE:
        return va_arg(*arguments, size_t);
    default:
        return va_arg(*arguments, unsigned);
    }
}

/* --- the format string --- */

static const char *parse_flags(const char *format, struct spec *spec)
{
    for (;; format++) {
        if (*format == '0')
            spec->zero = true;
        else if (*format == '-')
            spec->left = true;
        else if (*format == '+')
            spec->plus = true;
        else
            return format;
    }
}

static const char *parse_number(const char *format, int *number, va_list *arguments)
{
    if (*format == '*') {
        *number = va_arg(*arguments, int);
        return format + 1;
    }
    for (*number = 0; *format >= '0' && *format <= '9'; format++)
        if (*number < INT_MAX / 16)
            *number = *number * 10 + (*format - '0');
    return format;
}

static const char *parse_length(const char *format, enum length *length)
{
    char letter = *format;

    *length = LENGTH_INT;
    if (letter == 'z')
        *length = LENGTH_SIZE;
    else if (letter == 'l')
        *length = format[1] == 'l' ? LENGTH_LONG_LONG : LENGTH_LONG;
    else if (letter == 'h')
        *length = format[1] == 'h' ? LENGTH_CHAR : LENGTH_SHORT;
    else
        return format;
    return format + (*length == LENGTH_LONG_LONG || *length == LENGTH_CHAR ? 2 : 1);
}

/* From behind the % to behind the conversion's letter. */
static const char *parse_spec(const char *format, struct spec *spec, va_list *arguments)
{
    *spec = (struct spec){.precision = -1};
    format = parse_flags(format, spec);
    format = parse_number(format, &spec->width, arguments);
    if (spec->width < 0) { /* of a `*` */
        spec->left = true;
        spec->width = spec->width == INT_MIN ? 0 : -spec->width;
    }
    if (*format == '.') {
        format = parse_number(format + 1, &spec->precision, arguments);
        if (spec->precision < 0)
            spec->precision = -1;
    }
    format = parse_length(format, &spec->length);
    spec->conversion = *format;
    return *format ? format + 1 : format;
}

/* False: no conversion that there is. */
static bool put_conversion(struct sink *sink, const struct spec *spec, va_list *arguments)
{
    char byte;

    switch (spec->conversion) {
    case 'd':
    case 'i':
        put_signed(sink, spec, signed_argument(spec->length, arguments));
        return true;
    case 'u':
        put_number(sink, spec, "", unsigned_argument(spec->length, arguments), 10);
        return true;
    case 'x':
    case 'X':
        put_number(sink, spec, "", unsigned_argument(spec->length, arguments), 16);
        return true;
    case 'p':
        put_number(sink, spec, "0x", (uintptr_t)va_arg(*arguments, void *), 16);
        return true;
    case 'c':
        byte = (char)va_arg(*arguments, int);
        put_padded(sink, spec, &byte, 1);
        return true;
    case 's':
        put_string(sink, spec, va_arg(*arguments, const char *));
        return true;
    case '%':
        put(sink, '%');
        return true;
    default:
        return false;
    }
}

int format_text_va(char *out, size_t size, const char *format, va_list arguments)
{
    struct sink sink = {out, size, 0};
    va_list rest;

    va_copy(rest, arguments);
    while (*format) {
        const char *start = format;
        struct spec spec;

        if (*format++ != '%') {
            put(&sink, *start);
            continue;
        }
        format = parse_spec(format, &spec, &rest);
        if (!put_conversion(&sink, &spec, &rest))
            put_bytes(&sink, start, format - start);
    }
    va_end(rest);
    if (size)
        out[sink.length < size ? sink.length : size - 1] = '\0';
    return sink.length;
}

int format_text(char *out, size_t size, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = format_text_va(out, size, format, arguments);
    va_end(arguments);
    return length;
}
