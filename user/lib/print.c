/* SPDX-License-Identifier: MIT */
/* printf: formats into the caller's stack, so threads share nothing, and writes once. */
#include "user/lib/print.h"

#include "user/lib/syscall.h"

#define PRINT_BUFFER_SIZE 512

/* A descriptor that takes nothing loses the text: there is nobody to tell. */
static void print_flush(struct format_sink *sink)
{
    size_t done = 0;

    while (done < sink->used) {
        long written = sys_write(1, sink->buffer + done, sink->used - done);
        if (written <= 0)
            break;
        done += (size_t)written;
    }
    sink->used = 0;
}

void printf(const char *format, ...)
{
    char buffer[PRINT_BUFFER_SIZE];
    struct format_sink sink = {.buffer = buffer, .size = sizeof(buffer), .flush = print_flush};
    va_list arguments;

    va_start(arguments, format);
    format_text(&sink, format, arguments);
    va_end(arguments);
    print_flush(&sink);
}

int print_signature(const char *program, unsigned long signature)
{
    printf("%s: signature 0x%016lx\n", program, signature);
    return 0;
}
