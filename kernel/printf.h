/* SPDX-License-Identifier: MIT */
/* Formatted text. %d %u %x %X %c %s %p %% with width, precision for %s, flags `0` `-` `+`,
 * lengths h l ll z; %s of NULL prints "(null)". Nothing else (the compiler checks calls).
 *
 * printk() writes to the console as one unit: no other CPU's text gets in between. Any context but
 * NMI; never blocks.
 */
#ifndef KERNEL_PRINTF_H
#define KERNEL_PRINTF_H

#include <stdarg.h>
#include <stddef.h>

/* As in ISO C: returns the length the whole text has, writes at most size - 1 bytes and a 0. */
int format_text(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int format_text_va(char *out, size_t size, const char *format, va_list arguments);

/* At most 1023 bytes a call; longer text ends in "...\n". */
void printk(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
