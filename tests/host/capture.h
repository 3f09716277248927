/* SPDX-License-Identifier: MIT */
/* printk() for kernel files in host tests: what they print is collected, to be looked at. Its line
 * ends become `/`, so that it can stand in a test point's description. */
#ifndef TESTS_HOST_CAPTURE_H
#define TESTS_HOST_CAPTURE_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kernel/printf.h"

static char captured[8192];

static inline void capture_reset(void)
{
    captured[0] = 0;
}

void printk(const char *format, ...)
{
    size_t used = strlen(captured);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(captured + used, sizeof captured - used, format, arguments);
    va_end(arguments);
    for (char *at = captured; (at = strchr(at, '\n')) != NULL;)
        *at = '/';
}

#endif
