/* SPDX-License-Identifier: MIT */
/* Memory and string functions with the meaning they have in ISO C. */
#ifndef USER_LIB_STRING_H
#define USER_LIB_STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t length);
void *memmove(void *to, const void *from, size_t length);
void *memset(void *to, int value, size_t length);
int memcmp(const void *left, const void *right, size_t length);

size_t strlen(const char *text);
int strcmp(const char *left, const char *right);
int strncmp(const char *left, const char *right, size_t limit);
char *strrchr(const char *text, int character);

/* base 0 (by prefix), or 2 to 36; ULONG_MAX on overflow. */
unsigned long strtoul(const char *text, char **end, int base);

#endif
