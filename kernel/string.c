/* SPDX-License-Identifier: MIT */
/* ISO C's memory and string functions, and two of our own.
 *
 * The compiler may turn a loop into a call of the very function it stands in. So bulk copies are
 * string instructions, and the other loops hide their pointer from it (opaque()). DF is clear by
 * the ABI, and stays so: moves to higher addresses go backward without it. Any context.
 */
#include <stdbool.h>
#include <stdint.h>
#include "kernel/string.h"

#if !__STDC_HOSTED__

typedef uint64_t __attribute__((may_alias, aligned(1))) any_u64;

/* The pointer unchanged, but the compiler cannot know that. */
static inline const unsigned char *opaque(const unsigned char *pointer)
{
    __asm__("" : "+r"(pointer));
    return pointer;
}

static void copy_forward(void *to, const void *from, size_t length)
{
    size_t words = length / 8, rest = length % 8;

    __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(words)::"memory");
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(rest)::"memory");
}

void *memcpy(void *restrict to, const void *restrict from, size_t length)
{
    copy_forward(to, from, length);
    return to;
}

static void copy_backward(unsigned char *to, const unsigned char *from, size_t length)
{
    while (length >= 8) {
        length -= 8;
        *(any_u64 *)(to + length) = *(const any_u64 *)opaque(from + length);
    }
    while (length--)
        to[length] = *opaque(from + length);
}

void *memmove(void *to, const void *from, size_t length)
{
    if ((uintptr_t)to - (uintptr_t)from >= length)
        copy_forward(to, from, length);
    else
        copy_backward(to, from, length);
    return to;
}

void *memset(void *to, int byte, size_t length)
{
    void *result = to;
    uint64_t pattern = (unsigned char)byte * 0x0101010101010101ull;
    size_t words = length / 8, rest = length % 8;

    __asm__ volatile("rep stosq" : "+D"(to), "+c"(words) : "a"(pattern) : "memory");
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(rest) : "a"(pattern) : "memory");
    return result;
}

int memcmp(const void *left, const void *right, size_t length)
{
    const unsigned char *a = left, *b = right;

    while (length >= 8 && *(const any_u64 *)a == *(const any_u64 *)b) {
        a += 8;
        b += 8;
        length -= 8;
    }
    for (; length; length--, a++, b++)
        if (*a != *b)
            return *a - *b;
    return 0;
}

void *memchr(const void *from, int byte, size_t length)
{
    const unsigned char *at = from;

    for (; length; length--, at++)
        if (*at == (unsigned char)byte)
            return (void *)at;
    return NULL;
}

size_t strlen(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    while (*at)
        at = opaque(at + 1);
    return at - (const unsigned char *)text;
}

size_t strnlen(const char *text, size_t limit)
{
    const char *end = memchr(text, 0, limit);

    return end ? (size_t)(end - text) : limit;
}

int strcmp(const char *left, const char *right)
{
    return strncmp(left, right, SIZE_MAX);
}

int strncmp(const char *left, const char *right, size_t limit)
{
    const unsigned char *a = (const unsigned char *)left, *b = (const unsigned char *)right;

    for (; limit; limit--, a++, b++)
        if (*a != *b || !*a)
            return *a - *b;
    return 0;
}

char *strchr(const char *text, int byte)
{
    for (;; text++) {
        if (*text == (char)byte)
            return (char *)text;
        if (!*text)
            return NULL;
    }
}

char *strstr(const char *text, const char *part)
{
    size_t length = strlen(part);

    for (;; text++) {
        if (!strncmp(text, part, length))
            return (char *)text;
        if (!*text)
            return NULL;
    }
}

#endif

bool string_copy(char *to, const char *from, size_t size)
{
    size_t length = strlen(from);
    size_t part = length < size ? length : size - 1;

    if (!size)
        return false;
    memcpy(to, from, part);
    to[part] = '\0';
    return part == length;
}

/* -1: no digit of that base */
static int digit_value(char digit, unsigned base)
{
    int value = -1;

    if (digit >= '0' && digit <= '9')
        value = digit - '0';
    else if (digit >= 'a' && digit <= 'f')
        value = digit - 'a' + 10;
    else if (digit >= 'A' && digit <= 'F')
        value = digit - 'A' + 10;
    return value < (int)base ? value : -1;
}

static bool parse_digits(const char **text, unsigned base, unsigned long long *value)
{
    const char *first = *text;

    *value = 0;
    for (; digit_value(**text, base) >= 0; ++*text) {
        if (__builtin_mul_overflow(*value, base, value) ||
            __builtin_add_overflow(*value, digit_value(**text, base), value))
            return false;
    }
    return *text != first;
}

/* Steps over a suffix; 1 when there is none. */
static unsigned long long parse_suffix(const char **text)
{
    switch (**text) {
    case 'K':
        ++*text;
        return 1ull << 10;
    case 'M':
        ++*text;
        return 1ull << 20;
    case 'G':
        ++*text;
        return 1ull << 30;
    default:
        return 1;
    }
}

bool string_to_u64(const char *text, unsigned long long *value)
{
    bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    unsigned long long number;

    if (hexadecimal)
        text += 2;
    if (!parse_digits(&text, hexadecimal ? 16 : 10, &number))
        return false;
    if (__builtin_mul_overflow(number, parse_suffix(&text), &number) || *text)
        return false;
    *value = number;
    return true;
}
