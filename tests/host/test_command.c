/* SPDX-License-Identifier: MIT */
/* The command table, splitting into words, and what a line does when a command fails. */
#include <stdlib.h>

#include "kernel/command.h"
#include "kernel/err.h"
#include "kernel/spinlock.h"
#include "tests/host/capture.h"
#include "tests/host/random.h"
#include "tests/host/tap.h"

/* --- what command.c needs of the kernel --- */

static unsigned locks_taken, locks_released;

void spin_lock(struct spinlock *lock)
{
    lock->word++;
    locks_taken++;
}

void spin_unlock(struct spinlock *lock)
{
    lock->word--;
    locks_released++;
}

unsigned spin_locks_held(void)
{
    return locks_taken - locks_released;
}

/* --- commands that note what they got --- */

static char noted[4096];

static int note(int count, char **words)
{
    for (int i = 0; i < count; i++) {
        strcat(noted, i ? "|" : "<");
        strcat(noted, words[i]);
    }
    strcat(noted, ">");
    return 0;
}

static int fail_usage(int count, char **words)
{
    note(count, words);
    return ERR_USAGE;
}

static int nested(int count, char **words)
{
    (void)count;
    return command_run_line(words[1]);
}

static struct command commands[] = {
    {"note", "[WORDS]", "notes", note, NULL},
    {"bad", "", "fails", fail_usage, NULL},
    {"zeta", "", "last", note, NULL},
    {"alpha", "", "first", note, NULL},
    {"nested", "LINE", "runs a line", nested, NULL},
};

static void test_table(void)
{
    char names[128] = "";

    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        command_register(&commands[i]);
    for (const struct command *at = NULL; (at = command_next(at)) != NULL;) {
        strcat(names, at->name);
        strcat(names, " ");
    }
    is_string(names, "alpha bad nested note zeta ", "the table is sorted by name");
    ok(command_find("zeta") == &commands[2] && !command_find("zet") && !command_find("zetaa"),
       "found by the whole name only");
    ok(locks_taken == 5 && locks_released == 5, "each registration took and released the lock");
}

static void expect_run(const char *line, int result, const char *calls)
{
    noted[0] = 0;
    capture_reset();
    ok(command_run_line(line) == result, "'%s' returns %d", line, result);
    is_string(noted, calls, "'%s' calls", line);
    ok((result == 0) == (captured[0] == 0), "'%s' prints: %s", line, captured);
}

static void test_lines(void)
{
    expect_run("", 0, "");
    expect_run(" \t ", 0, "");
    expect_run(";;  ; ", 0, "");
    expect_run("note", 0, "<note>");
    expect_run("  note a  b\tc ", 0, "<note|a|b|c>");
    expect_run("note a;note b", 0, "<note|a><note|b>");
    expect_run("note a ; ; note b;", 0, "<note|a><note|b>");
    expect_run("note \"a b\" \"\"", 0, "<note|a b|>");
    expect_run("note \"a;b\";note c", 0, "<note|a;b><note|c>");
    expect_run("note x\"a b\"y", 0, "<note|xa by>");
    expect_run("note \\\"a\\\\ \"q\\\"q\"", 0, "<note|\"a\\|q\"q>");
    expect_run("note a\\n", 0, "<note|a\\n>");
    expect_run("nested \"note a; note b\"", 0, "<note|a><note|b>");
}

static void test_failures(void)
{
    uint32_t before = command_failures();

    is_u64(before, 0, "nothing failed so far");
    expect_run("note 1; bad 2; note 3", ERR_USAGE, "<note|1><bad|2>");
    ok(strstr(captured, "error: bad: ") && strstr(captured, err_text(ERR_USAGE)),
       "the error is named: %s", captured);
    expect_run("note 1; nosuch 2; note 3", ERR_USAGE, "<note|1>");
    ok(strstr(captured, "error: nosuch: unknown command"), "so is the unknown: %s", captured);
    expect_run("note \"a", ERR_USAGE, "");
    ok(strstr(captured, "quote"), "and the open quote: %s", captured);
    is_u64(command_failures(), 3, "all of them count");
}

static void test_limits(void)
{
    char line[2 * COMMAND_LINE_MAX] = "note";

    for (int i = 1; i < COMMAND_MAX_WORDS; i++)
        strcat(line, " w");
    noted[0] = 0;
    ok(command_run_line(line) == 0, "as many words as there can be");
    strcat(line, " w");
    expect_run(line, ERR_USAGE, "");
    ok(strstr(captured, "error: note: too many words"), "one more is refused: %s", captured);

    memset(line, ' ', sizeof line);
    memcpy(line, "note", 4);
    line[COMMAND_LINE_MAX - 1] = 0;
    expect_run(line, 0, "<note>");
    line[COMMAND_LINE_MAX - 1] = ' ';
    line[COMMAND_LINE_MAX] = 0;
    expect_run(line, ERR_USAGE, "");
}

/* Splits any text within a block of just its size; words must be terminated within it, too. */
static void test_any_text(void)
{
    static const char alphabet[] = "ab \"\\;\t";
    uint64_t random = 0x5eed;
    char *words[COMMAND_MAX_WORDS];

    for (int round = 0; round < 20000; round++) {
        size_t length = random_below(&random, 24), total = 0;
        char *text = malloc(length + 1), *rest = text;
        for (size_t i = 0; i < length; i++)
            text[i] = alphabet[random_below(&random, sizeof alphabet - 1)];
        text[length] = 0;
        while (rest) {
            int count = command_split(&rest, words);
            if (count < 0)
                break;
            for (int i = 0; i < count; i++)
                total += strlen(words[i]);
        }
        if (total > length)
            ok(false, "more came out of the text than was in it");
        free(text);
    }
    ok(true, "20000 lines of any text stay within their bounds");
}

int main(void)
{
    test_table();
    test_lines();
    test_failures();
    test_limits();
    test_any_text();
    return done();
}
