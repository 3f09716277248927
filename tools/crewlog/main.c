/* SPDX-License-Identifier: MIT */
/* crewlog: looks into recordings' files. docs/crewlog.md is its manual.
 *
 * Whatever it is given may be damaged or hostile: a named error, no crash, bounded memory.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tools/crewlog/tool.h"

static const struct command commands[] = {
    {"info", "FILE", "header, numbers, and whether the recording is whole", command_info},
    {"dump", "[--json] [--thread N] [--elf PROG] [--force] FILE",
     "every event as a line of text; as JSON all fields of all chunks", command_dump},
    {"verify", "FILE", "checks every checksum and rule; names the first offence by its offset",
     command_verify},
    {"stats", "[--json] [--top N] [--elf PROG] [--force] FILE",
     "which data is contended, and which code contends", command_stats},
    {"diff", "[--elf PROG] [--force] FILE FILE",
     "the first point at which the order of accesses differs in two recordings", command_diff},
    {"extract", "IMAGE [NAME -o FILE]", "lists the recordings on a disk, or takes one out",
     command_extract},
    {"timeline", "[--elf PROG] [--force] FILE [-o FILE.html]",
     "a page for a browser: threads, who owns which page, transfers", command_timeline},
    {"export", "--chrome FILE [-o FILE.json] | --core [--thread N] FILE -o FILE",
     "Chrome's trace format (for Perfetto); or the checkpoint as a core file for gdb",
     command_export},
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_help(FILE *out)
{
    fputs("usage: crewlog COMMAND …\n", out);
    for (unsigned i = 0; i < COMMANDS; i++)
        fprintf(out, "  %s %s\n      %s\n", commands[i].name, commands[i].arguments,
                commands[i].help);
    fputs(
        "\n"
        "FILE is a recording, or IMAGE:NAME for one that is on a disk's image.\n"
        "--elf PROG: the recorded program, for names and source lines (by addr2line). One that\n"
        "is not the recorded one is refused, except with --force.\n"
        "Exit status: 0 fine; 1 the recording is cut, damaged or not complete, or (diff) the two\n"
        "differ; 2 no recording, or wrong use.\n",
        out);
}

static enum status run(char **argv)
{
    if (!argv[0]) {
        print_help(stderr);
        return STATUS_ERROR;
    }
    if (!strcmp(argv[0], "help") || !strcmp(argv[0], "--help") || !strcmp(argv[0], "-h")) {
        print_help(stdout);
        return STATUS_FINE;
    }
    for (unsigned i = 0; i < COMMANDS; i++)
        if (!strcmp(argv[0], commands[i].name))
            return commands[i].run(argv);
    die("`%s` is not a command; see: crewlog help", argv[0]);
}

int main(int argc, char **argv)
{
    enum status status = run(argv + (argc > 0));
    if (fflush(stdout) != 0 || ferror(stdout))
        die("standard output: %s", strerror(errno));
    return (int)status;
}
