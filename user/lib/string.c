/* SPDX-License-Identifier: MIT */
/* String functions. */
#include "user/lib/string.h"

size_t strlen(const char *text)
{
    size_t length = 0;

    while (text[length] != '\0') {
        length++;
        __asm__ volatile("" ::: "memory"); /* or the loop becomes a call of strlen */
    }
    return length;
}

int strncmp(const char *left, const char *right, size_t limit)
{
    for (size_t i = 0; i < limit; i++) {
        if (left[i] != right[i])
            return (unsigned char)left[i] - (unsigned char)right[i];
        if (left[i] == '\0')
            return 0;
    }
    return 0;
}

int strcmp(const char *left, const char *right)
{
    return strncmp(left, right, (size_t)-1);
}

char *strrchr(const char *text, int character)
{
    const char *found = NULL;

    for (;; text++) {
        if (*text == (char)character)
            found = text;
        if (*text == '\0')
            return (char *)found;
    }
}
