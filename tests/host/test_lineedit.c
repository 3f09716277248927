/* SPDX-License-Identifier: MIT */
/* The line editor against a terminal and against a plain model of a line.
 *
 * The terminal interprets what the editor writes, as strictly as a screen would; after each byte
 * its last row must show prompt and line with the cursor in its place.
 */
#include <stdlib.h>

#include "kernel/lineedit.h"
#include "tests/host/random.h"
#include "tests/host/tap.h"

#define PROMPT "crew> "
#define PROMPT_LENGTH 6
#define ROWS 400

static struct lineedit editor;

/* --- the terminal --- */

static struct {
    char rows[ROWS][LINEEDIT_COLUMNS + 1];
    unsigned row, column;
    bool error; /* a sequence it does not know, or the cursor left the row */
} terminal;

static void terminal_clear(void)
{
    memset(terminal.rows, ' ', sizeof terminal.rows);
    terminal.row = terminal.column = 0;
}

static size_t terminal_sequence(const char *text)
{
    char *end;
    unsigned long number = strtoul(text + 2, &end, 10);
    char *row = terminal.rows[terminal.row];

    if (text[1] != '[')
        terminal.error = true;
    else if (*end == 'C')
        terminal.column += number;
    else if (*end == 'D')
        terminal.column -= number;
    else if (*end == 'K')
        memset(row + terminal.column, ' ', LINEEDIT_COLUMNS - terminal.column);
    else if (*end == 'J' && number == 2)
        terminal_clear();
    else if (*end == 'H')
        terminal.row = terminal.column = 0;
    else
        terminal.error = true;
    return (size_t)(end - text) + 1;
}

static void terminal_write(void *unused, const char *text, size_t length)
{
    char copy[2 * LINEEDIT_MAX] = "";

    (void)unused;
    memcpy(copy, text, length);
    for (size_t i = 0; i < length;) {
        if (copy[i] == 033) {
            i += terminal_sequence(copy + i);
        } else if (copy[i] == '\n') {
            terminal.row = (terminal.row + 1) % ROWS;
            memset(terminal.rows[terminal.row], ' ', LINEEDIT_COLUMNS);
            terminal.column = 0;
            i++;
        } else if (copy[i] == '\b') {
            terminal.column--;
            i++;
        } else {
            terminal.error |= copy[i] < ' ' || copy[i] > '~';
            terminal.rows[terminal.row][terminal.column++ % LINEEDIT_COLUMNS] = copy[i++];
        }
        terminal.error |= terminal.column >= LINEEDIT_COLUMNS;
    }
}

/* The row without the blanks at its end. */
static const char *terminal_row(unsigned row)
{
    static char text[LINEEDIT_COLUMNS + 1];
    size_t length = LINEEDIT_COLUMNS;

    memcpy(text, terminal.rows[row], LINEEDIT_COLUMNS);
    while (length > 0 && text[length - 1] == ' ')
        length--;
    text[length] = 0;
    return text;
}

/* --- the editor on it --- */

static const char *const names[] = {"help", "history", "heap", "poweroff", "run", "record"};

static const char *candidate(void *unused, const char *line, size_t word_start, unsigned index)
{
    (void)unused;
    for (size_t i = 0; i < word_start; i++)
        if (line[i] != ' ')
            return NULL;
    return index < sizeof names / sizeof names[0] ? names[index] : NULL;
}

static void start(void)
{
    static const struct lineedit_hooks hooks = {terminal_write, candidate, NULL};

    terminal_clear();
    terminal.error = false;
    lineedit_init(&editor, &hooks);
    lineedit_start(&editor, PROMPT);
}

/* Whether the screen shows what it should. */
static bool screen_agrees(void)
{
    const char *row = terminal.rows[terminal.row];
    size_t width = LINEEDIT_COLUMNS - 1 - PROMPT_LENGTH;

    if (terminal.error || strlen(editor.line) != editor.length || editor.cursor > editor.length ||
        editor.cursor < editor.first || editor.cursor - editor.first > width)
        return false;
    if (terminal.column != PROMPT_LENGTH + editor.cursor - editor.first)
        return false;
    if (memcmp(row, PROMPT, PROMPT_LENGTH) != 0)
        return false;
    for (size_t i = 0; i < width; i++) {
        char expected = editor.first + i < editor.length ? editor.line[editor.first + i] : ' ';
        if (row[PROMPT_LENGTH + i] != expected)
            return false;
    }
    return row[LINEEDIT_COLUMNS - 1] == ' ';
}

/* Feeds bytes; tells whether the last one finished the line. A line finished before is started. */
static bool type(const char *bytes)
{
    bool finished = false;

    for (; *bytes; bytes++) {
        if (finished)
            lineedit_start(&editor, PROMPT);
        finished = lineedit_feed(&editor, (uint8_t)*bytes);
        if (!finished && !screen_agrees())
            ok(false, "the screen after byte 0x%02x shows '%s'", (uint8_t)*bytes,
               terminal_row(terminal.row));
    }
    return finished;
}

static void expect_line(const char *bytes, const char *line, size_t cursor)
{
    start();
    ok(!type(bytes), "the line goes on");
    is_string(editor.line, line, "the line is '%s'", line);
    is_u64(editor.cursor, cursor, "the cursor's place in '%s'", line);
}

static void test_editing(void)
{
    expect_line("abc", "abc", 3);
    expect_line("abc\033[D\033[DX", "aXbc", 2);
    expect_line("abc\033[D\033[D\033[D\033[DX", "Xabc", 1);
    expect_line("abc\001X\005Y", "XabcY", 5);
    expect_line("abc\033[HX\033[FY", "XabcY", 5);
    expect_line("abc\177", "ab", 2);
    expect_line("abc\b\b\b\b", "", 0);
    expect_line("abc\001\177", "abc", 0);
    expect_line("abc\001\004", "bc", 0);
    expect_line("abc\001\033[3~", "bc", 0);
    expect_line("abc\004", "abc", 3);
    expect_line("abc def\002\002\013", "abc d", 5);
    expect_line("abc def\002\002\025", "ef", 0);
    expect_line("abc def  \027", "abc ", 4);
    expect_line("abc def\027\027\027", "", 0);
    expect_line("one two\033[1;5D\033[1;5DX", "Xone two", 1);
    expect_line("one two\001\033[1;5CX", "oneX two", 4);
    expect_line("abc\003de", "de", 2);
    expect_line("abc\014d", "abcd", 4);
    expect_line("caf\303\251", "caf", 3);
}

static void test_enter(void)
{
    start();
    ok(type("echo a\r"), "enter finishes the line");
    is_string(editor.line, "echo a", "and leaves it");
    ok(terminal.column == 0 && terminal.row == 1, "the cursor is on a new row");
    is_string(terminal_row(0), "crew> echo a", "the row before shows the line");
    lineedit_start(&editor, PROMPT);
    ok(!type("\n") && editor.length == 0, "LF after CR does nothing");

    start();
    type("abc\002\002\r");
    is_string(editor.line, "abc", "enter within a line takes all of it");
    is_string(terminal_row(0), "crew> abc", "and does not break it");
    start();
    type("abc\003");
    is_string(terminal_row(0), "crew> abc^C", "^C leaves the line and its mark");
}

static void test_long_lines(void)
{
    char text[2 * LINEEDIT_MAX];

    for (size_t i = 0; i < sizeof text - 1; i++)
        text[i] = (char)('a' + i % 26);
    text[sizeof text - 1] = 0;
    start();
    type(text);
    is_u64(editor.length, LINEEDIT_MAX - 1, "what does not fit is left out");
    ok(!memcmp(editor.line, text, LINEEDIT_MAX - 1), "what fits is there");
    ok(terminal.row == 0, "all on one row");
    type("\001");
    is_u64(editor.first, 0, "home scrolls back");
    for (int i = 0; i < LINEEDIT_MAX + 10; i++)
        type("\033[C");
    is_u64(editor.cursor, LINEEDIT_MAX - 1, "and right to the end");
    for (int i = 0; i < 500; i++)
        type("\033[D");
    type("\177\004\013");
    is_u64(editor.length, LINEEDIT_MAX - 1 - 500 - 1, "edits in the scrolled part");
}

static void test_history(void)
{
    size_t number;

    start();
    type("one\rtwo\rtwo\r  \rthree\r");
    lineedit_start(&editor, PROMPT);
    is_string(lineedit_history(&editor, 0, &number), "one", "the oldest");
    is_string(lineedit_history(&editor, 1, &number), "two", "a repeated line once");
    is_string(lineedit_history(&editor, 2, &number), "three", "no blank lines");
    is_u64(number, 3, "numbered from 1");
    ok(!lineedit_history(&editor, 3, &number), "and no more");

    type("draft\033[A");
    is_string(editor.line, "three", "up: the newest");
    type("\033[A\020\033[A");
    is_string(editor.line, "one", "up to the oldest and no further");
    type("\033[B\016");
    is_string(editor.line, "three", "down again");
    type("\033[B\033[B");
    is_string(editor.line, "draft", "and back to what was being written");
    type("\033[A\033[AX\r");
    is_string(editor.line, "twoX", "a line of the history can be changed");
    is_string(lineedit_history(&editor, 1, &number), "two", "which leaves the old one");
}

static void test_history_wraps(void)
{
    char line[32];
    size_t number;

    start();
    for (int i = 1; i <= LINEEDIT_HISTORY + 5; i++) {
        snprintf(line, sizeof line, "line%d\r", i);
        type(line);
        lineedit_start(&editor, PROMPT);
    }
    is_string(lineedit_history(&editor, 0, &number), "line6", "the oldest five are forgotten");
    is_u64(number, 6, "numbers stay");
    for (int i = 0; i < LINEEDIT_HISTORY + 10; i++)
        type("\020");
    is_string(editor.line, "line6", "up reaches the oldest that is kept");
    for (int i = 0; i < LINEEDIT_HISTORY + 10; i++)
        type("\016");
    is_string(editor.line, "", "down reaches the empty line");
}

static void test_completion(void)
{
    expect_line("po\t", "poweroff ", 9);
    expect_line("poweroff\t", "poweroff ", 9);
    expect_line("r\t", "r", 1);
    expect_line("rec\t", "record ", 7);
    expect_line("hi\t", "history ", 8);
    expect_line("x\t", "x", 1);
    expect_line("run po\t", "run po", 6);
    expect_line("po x\002\002\t", "poweroff x", 8);
    expect_line("xy\001\t", "xy", 0);

    start();
    type("he\t");
    is_string(terminal_row(0), "crew> he", "several: the row is ended");
    is_string(terminal_row(1), "help            heap", "the names are listed");
    is_string(terminal_row(2), "crew> he", "and the line is there again");
    ok(screen_agrees(), "with the cursor in its place");
}

static void test_redraw(void)
{
    start();
    type("abc\033[D");
    terminal_write(NULL, "\nsomething else\n", 16);
    lineedit_redraw(&editor);
    ok(screen_agrees(), "redraw shows prompt, line and cursor");
    type("X");
    is_string(editor.line, "abXc", "and editing goes on");
}

/* Any bytes: screen and line agree always, and nothing leaves its bounds. */
static void test_any_bytes(void)
{
    static const char *const pieces[] = {
        "a",
        "b",
        " ",
        "word ",
        "\033[D",
        "\033[C",
        "\033[A",
        "\033[B",
        "\001",
        "\005",
        "\010",
        "\004",
        "\013",
        "\025",
        "\027",
        "\t",
        "h",
        "\033",
        "[",
        "O",
        "\r",
        "\003",
        "\014",
        ";",
        "12",
        "\033[3~",
        "\377",
        "\n",
        "a rather long piece of text that scrolls ",
    };
    uint64_t random = 0x5eed;

    start();
    for (int i = 0; i < 100000; i++) {
        const char *piece = pieces[random_below(&random, sizeof pieces / sizeof pieces[0])];
        if (type(piece))
            lineedit_start(&editor, PROMPT);
    }
    ok(true, "100000 pieces of input");
}

int main(void)
{
    test_editing();
    test_enter();
    test_long_lines();
    test_history();
    test_history_wraps();
    test_completion();
    test_redraw();
    test_any_bytes();
    return done();
}
