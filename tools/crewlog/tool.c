/* SPDX-License-Identifier: MIT */
/* Options and errors of the subcommands. */
#include "tools/crewlog/tool.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/log_format.h"

#define DEFAULT_TOP 10

static void complain(const char *format, va_list arguments)
{
    fflush(stdout);
    fputs("crewlog: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

void warn(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    complain(format, arguments);
    va_end(arguments);
}

void die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    complain(format, arguments);
    va_end(arguments);
    exit(STATUS_ERROR);
}

void output_open(const char *name)
{
    if (name && !freopen(name, "w", stdout))
        die("%s: %s", name, strerror(errno));
}

void *grow(void *memory, uint64_t count, uint64_t size)
{
    void *grown = count <= SIZE_MAX / 2 / size ? realloc(memory, (size_t)(count * size)) : NULL;
    if (!grown)
        die("out of memory");
    return grown;
}

/* --- options --- */

static bool in_list(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)) != NULL; at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == 0 || at[length] == ' '))
            return true;
    return false;
}

static uint32_t number_value(const char *option, const char *text, uint32_t least, uint32_t most)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || value < least || value > most)
        die("%s: `%s` is not a number from %u to %u", option, text, least, most);
    return (uint32_t)value;
}

/* Options with a value. Returns whether `name` is one. */
static bool take_value(struct options *options, const char *name, const char *value)
{
    bool known = true;
    if (!strcmp(name, "elf"))
        options->elf = value;
    else if (!strcmp(name, "o"))
        options->output = value;
    else if (!strcmp(name, "format"))
        options->format = value;
    else if (!strcmp(name, "thread"))
        options->thread = value ? number_value("--thread", value, 0, LOG_MAX_SLOTS - 1) : 0;
    else if (!strcmp(name, "top"))
        options->top = value ? number_value("--top", value, 1, 1000000) : 0;
    else
        known = false;
    if (known && !value)
        die("%s%s needs a value", strlen(name) > 1 ? "--" : "-", name);
    return known;
}

/* Returns how many arguments the option took. */
static unsigned take_option(struct options *options, char **argv, const char *command,
                            const char *allowed)
{
    const char *name = argv[0] + (argv[0][1] == '-' ? 2 : 1);
    if (!in_list(allowed, name))
        die("%s has no option `%s`; see: crewlog help", command, argv[0]);
    if (take_value(options, name, argv[1]))
        return 2;
    if (!strcmp(name, "json"))
        options->json = true;
    else if (!strcmp(name, "chrome"))
        options->chrome = true;
    else if (!strcmp(name, "core"))
        options->core = true;
    else
        options->force = true;
    return 1;
}

void options_parse(struct options *options, char **argv, const char *allowed, unsigned least_files,
                   unsigned most_files)
{
    const char *command = argv[0];
    bool only_files = false;
    *options = (struct options){.thread = NO_THREAD, .top = DEFAULT_TOP};
    for (unsigned i = 1; argv[i];) {
        if (!only_files && !strcmp(argv[i], "--")) {
            only_files = true;
            i++;
        } else if (!only_files && argv[i][0] == '-' && argv[i][1]) {
            i += take_option(options, argv + i, command, allowed);
        } else if (options->file_count == most_files) {
            die("%s: `%s` is one file too many", command, argv[i]);
        } else {
            options->files[options->file_count++] = argv[i++];
        }
    }
    if (options->file_count < least_files)
        die("%s needs %u file%s; see: crewlog help", command, least_files,
            least_files == 1 ? "" : "s");
}
