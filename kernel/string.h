/* SPDX-License-Identifier: MIT */
/* The C library's memory and string functions that the kernel uses; semantics as in ISO C.
 *
 * Also compiled for the host tests, where libc's own declarations are used instead.
 */
#ifndef KERNEL_STRING_H
#define KERNEL_STRING_H

#include <stddef.h>

#if __STDC_HOSTED__
#include <string.h>
#else
void *memcpy(void *restrict to, const void *restrict from, size_t length);
void *memmove(void *to, const void *from, size_t length);
void *memset(void *to, int byte, size_t length);
int memcmp(const void *left, const void *right, size_t length);
void *memchr(const void *from, int byte, size_t length);
size_t strlen(const char *text);
size_t strnlen(const char *text, size_t limit);
int strcmp(const char *left, const char *right);
int strncmp(const char *left, const char *right, size_t limit);
char *strchr(const char *text, int byte);
char *strstr(const char *text, const char *part);
#endif

/* Copies at most size - 1 bytes and always terminates; true when all of `from` fitted. */
_Bool string_copy(char *to, const char *from, size_t size);

/* Whole string as a number, base 10 or 0x…, with an optional suffix K, M or G (powers of 1024). */
_Bool string_to_u64(const char *text, unsigned long long *value);

#endif
