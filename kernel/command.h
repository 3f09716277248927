/* SPDX-License-Identifier: MIT */
/* Shell commands: a table that every layer adds to. */
#ifndef KERNEL_COMMAND_H
#define KERNEL_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#define COMMAND_MAX_WORDS 32
#define COMMAND_LINE_MAX 1024 /* with its terminating 0 */

/* Runs on the shell's thread; may block. 0 or a negative error, which the shell prints with
 * err_text(); the exit status of a scripted run is 0 only if every command returned 0. */
typedef int command_function(int count, char **words);

struct command {
    const char *name;
    const char *arguments; /* for help: "PROG [ARGS]" */
    const char *help;      /* one line */
    command_function *function;
    struct command *next; /* the table's */
};

void command_register(struct command *command); /* static storage; boot or later */

/* All commands in the order of their names: the first for NULL; NULL after the last. */
const struct command *command_next(const struct command *command);
const struct command *command_find(const char *name);

/* One line "cmd args; cmd args". Words are split at blanks, quotes "…" keep blanks. Returns the
 * first error; goes on with the next command only when the one before succeeded. */
int command_run_line(const char *line);

/* Commands that failed since boot, unknown ones included. */
uint32_t command_failures(void);

/* Splits off the first command of *rest in place: its words, COMMAND_MAX_WORDS at most, go to
 * words; *rest becomes what follows its `;`, NULL at the end. Returns the number of words (0 for an
 * empty command) or one of the codes below. A `"` switches quoting, which keeps blanks and `;`;
 * \" and \\ stand for the character. */
int command_split(char **rest, char **words);
#define COMMAND_TOO_MANY_WORDS (-1)
#define COMMAND_OPEN_QUOTE (-2)

void shell_register_commands(void); /* help, echo, poweroff, panic, history … (kernel/shell.c) */

/* The interactive shell on the console: prompt, line editing (left, right, home, end, ^A ^E ^K ^U
 * ^W ^L ^C, backspace, delete), history (up, down), completion of command names by tab. Returns
 * never. */
_Noreturn void shell_run(void);

#endif
