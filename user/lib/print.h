/* SPDX-License-Identifier: MIT */
/* Output to file descriptor 1. */
#ifndef USER_LIB_PRINT_H
#define USER_LIB_PRINT_H

#include <stdarg.h>
#include <stddef.h>

/* Receives formatted text; flush is called whenever the buffer is full, and it empties it. */
struct format_sink {
    char *buffer;
    size_t size;
    size_t used;
    void (*flush)(struct format_sink *sink);
};

/* Conversions %d %i %u %x %p %s %c %% with width, `-`, `0`, and the lengths l, ll, z. */
void format_text(struct format_sink *sink, const char *format, va_list arguments);

/* One write() a call as long as the text fits 512 bytes, so lines of threads do not mix. */
void printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints "NAME: signature 0x…", the last line of each demo; returns 0, its exit status. */
int print_signature(const char *program, unsigned long signature);

#endif
