/* SPDX-License-Identifier: MIT */
/* What the subcommands of crewlog share: their table, options, errors, exit statuses. */
#ifndef TOOLS_CREWLOG_TOOL_H
#define TOOLS_CREWLOG_TOOL_H

#include <stdbool.h>
#include <stdint.h>

/* Exit statuses. */
enum status {
    STATUS_FINE = 0,
    STATUS_INCOMPLETE = 1, /* the recording is cut, damaged or not complete; diff: they differ */
    STATUS_ERROR = 2,      /* no recording at all, or crewlog was used wrongly */
};

/* --- options: an argument `allowed` is a list of their names, as "json elf" --- */

#define MAX_FILES 2
#define NO_THREAD UINT32_MAX

struct options {
    const char *files[MAX_FILES];
    unsigned file_count;
    bool json, force, chrome, core;
    const char *elf;    /* NULL: none */
    const char *output; /* -o; NULL: none */
    const char *format; /* NULL: none */
    uint32_t thread;    /* NO_THREAD: all */
    uint32_t top;       /* rows of a table */
};

/* Ends the program with a message when they are wrong. argv[0] is the subcommand. */
void options_parse(struct options *options, char **argv, const char *allowed, unsigned least_files,
                   unsigned most_files);

/* --- the subcommands --- */

struct command {
    const char *name;
    const char *arguments;
    const char *help;
    enum status (*run)(char **argv); /* argv[0] is the name */
};

enum status command_info(char **argv);
enum status command_dump(char **argv);
enum status command_verify(char **argv);
enum status command_stats(char **argv);
enum status command_diff(char **argv);
enum status command_extract(char **argv);
enum status command_timeline(char **argv);
enum status command_export(char **argv);

/* --- errors --- */

/* Both print "crewlog: …" on standard error. */
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));
void warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Standard output goes to that file from now on. NULL: it stays what it is. */
void output_open(const char *name);

/* realloc of count * size bytes that cannot fail. */
void *grow(void *memory, uint64_t count, uint64_t size);

#endif
