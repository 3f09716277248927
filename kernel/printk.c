/* SPDX-License-Identifier: MIT */
/* printk: formatted text to the console as one unit.
 *
 * Context: any but NMI (the console's lock), there only after console_enter_panic().
 */
#include "kernel/printf.h"

#include "kernel/console.h"
#include "kernel/string.h"

#define PRINTK_MAX 1024

static const char cut_mark[] = "...\n";

void printk(const char *format, ...)
{
    char text[PRINTK_MAX];
    va_list arguments;

    va_start(arguments, format);
    int length = format_text_va(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    if ((size_t)length >= sizeof text) {
        length = sizeof text - 1;
        memcpy(text + sizeof text - sizeof cut_mark, cut_mark, sizeof cut_mark);
    }
    console_write(text, (size_t)length);
}
