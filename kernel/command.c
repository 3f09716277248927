/* SPDX-License-Identifier: MIT */
/* The table of shell commands and the execution of command lines.
 *
 * The table is a list sorted by name that only grows: written under table_lock (LOCK_COMMAND),
 * read without.
 * Context: threads; commands run without any lock. Also compiled for the host tests.
 */
#include "kernel/command.h"

#include <stddef.h>
#include <stdint.h>

#include "kernel/err.h"
#include "kernel/panic.h"
#include "kernel/printf.h"
#include "kernel/spinlock.h"
#include "kernel/string.h"

static struct spinlock table_lock = SPINLOCK_INIT(LOCK_COMMAND, "commands");
static struct command *table; /* and the `next` of each: atomic, set under table_lock */
static uint32_t failures;     /* atomic */

/* --- the table --- */

void command_register(struct command *command)
{
    struct command **link = &table;

    spin_lock(&table_lock);
    while (*link && strcmp((*link)->name, command->name) < 0)
        link = &(*link)->next;
    bool duplicate = *link && strcmp((*link)->name, command->name) == 0;
    if (!duplicate) {
        command->next = *link;
        __atomic_store_n(link, command, __ATOMIC_RELEASE);
    }
    spin_unlock(&table_lock);
    if (duplicate)
        panic("command \"%s\" registered twice", command->name);
}

const struct command *command_next(const struct command *command)
{
    return __atomic_load_n(command ? &command->next : &table, __ATOMIC_ACQUIRE);
}

const struct command *command_find(const char *name)
{
    const struct command *command = NULL;

    while ((command = command_next(command)) != NULL)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

/* --- splitting --- */

static bool is_blank(char character)
{
    return character == ' ' || character == '\t' || character == '\n' || character == '\r';
}

/* Moves one word from *from to *to, without its quotes; false when a quote is not closed. *to never
 * overtakes *from. */
static bool take_word(char **from, char **to)
{
    bool quoted = false;

    for (; **from && (quoted || (**from != ';' && !is_blank(**from))); ++*from) {
        if (**from == '"') {
            quoted = !quoted;
            continue;
        }
        if (**from == '\\' && ((*from)[1] == '"' || (*from)[1] == '\\'))
            ++*from;
        *(*to)++ = **from;
    }
    return !quoted;
}

int command_split(char **rest, char **words)
{
    char *from = *rest;
    int count = 0;

    for (;;) {
        while (is_blank(*from))
            from++;
        char end = *from;
        if (end != 0 && end != ';') {
            if (count == COMMAND_MAX_WORDS)
                return COMMAND_TOO_MANY_WORDS;
            char *to = words[count++] = from;
            if (!take_word(&from, &to))
                return COMMAND_OPEN_QUOTE;
            end = *from; /* `to` may stand there */
            *to = 0;
        }
        if (end == 0 || end == ';') {
            *rest = end ? from + 1 : NULL;
            return count;
        }
        from++;
    }
}

/* --- running --- */

uint32_t command_failures(void)
{
    return __atomic_load_n(&failures, __ATOMIC_RELAXED);
}

static int fail(int error, const char *what, const char *why)
{
    __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);
    printk("error: %s: %s\n", what, why);
    return error;
}

static int run_words(int count, char **words)
{
    const struct command *command = command_find(words[0]);

    if (!command)
        return fail(ERR_USAGE, words[0], "unknown command; \"help\" lists them all");
    int result = command->function(count, words);
    if (spin_locks_held() != 0)
        panic("command \"%s\" returned with %u spinlocks held, expected none", command->name,
              spin_locks_held());
    return result == 0 ? 0 : fail(result, words[0], err_text(result));
}

int command_run_line(const char *line)
{
    char text[COMMAND_LINE_MAX];
    char *words[COMMAND_MAX_WORDS];
    char *rest = text;
    int result = 0;

    if (!string_copy(text, line, sizeof text))
        return fail(ERR_USAGE, "line", "longer than a command line can be");
    while (rest && result == 0) {
        int count = command_split(&rest, words);
        if (count == COMMAND_TOO_MANY_WORDS)
            result = fail(ERR_USAGE, words[0], "too many words");
        else if (count == COMMAND_OPEN_QUOTE)
            result = fail(ERR_USAGE, "line", "a quote is not closed");
        else if (count > 0)
            result = run_words(count, words);
    }
    return result;
}
