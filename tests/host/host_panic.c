/* SPDX-License-Identifier: MIT */
/* panic() and kassert() for kernel files in host tests: a message and abort(). */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "kernel/panic.h"

_Noreturn void panic_at(const char *file, int line, const char *format, ...)
{
    va_list arguments;

    fflush(stdout);
    fprintf(stderr, "panic at %s:%d: ", file, line);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    abort();
}
