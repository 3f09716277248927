/* SPDX-License-Identifier: MIT */
/* Reading numbers from the command line. */
#include "user/lib/argument.h"

#include <stddef.h>

#include "user/lib/print.h"
#include "user/lib/string.h"
#include "user/lib/syscall.h"

const char *argument_program(int argc, char **argv)
{
    if (argc < 1)
        return "program";
    const char *slash = strrchr(argv[0], '/');
    return slash != NULL ? slash + 1 : argv[0];
}

unsigned long argument_number(int argc, char **argv, const struct argument *argument)
{
    if (argument->index >= argc)
        return argument->fallback;
    const char *text = argv[argument->index];
    char *end;
    unsigned long value = strtoul(text, &end, 0);
    if (end == text || *end != '\0' || *text == '-' || value < argument->low ||
        value > argument->high) {
        printf("%s: %s must be a number from %lu to %lu, not \"%s\"\n",
               argument_program(argc, argv), argument->meaning, argument->low, argument->high,
               text);
        sys_exit_group(2);
    }
    return value;
}
