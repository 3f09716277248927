/* SPDX-License-Identifier: MIT */
/* The line editor: keys (kernel/keys.h) → edits of the line, a table of functions; line → screen,
 * update_screen(), which alone moves the cursor.
 *
 * Invariants between calls: first <= cursor <= first + window, cursor <= length, line[length] == 0.
 */
#include "kernel/lineedit.h"

#include "kernel/printf.h"
#include "kernel/string.h"

/* --- screen --- */

static void put(struct lineedit *edit, const char *text, size_t length)
{
    if (length > 0)
        edit->hooks.write(edit->hooks.argument, text, length);
}

static void put_text(struct lineedit *edit, const char *text)
{
    put(edit, text, strlen(text));
}

static size_t window(const struct lineedit *edit)
{
    return LINEEDIT_COLUMNS - 1 - strlen(edit->prompt);
}

static void move_cursor(struct lineedit *edit, size_t column)
{
    char sequence[16] = "\b";
    size_t from = edit->screen_cursor;

    if (column == from)
        return;
    if (column > from)
        format_text(sequence, sizeof sequence, "\033[%zuC", column - from);
    else if (from - column > 1)
        format_text(sequence, sizeof sequence, "\033[%zuD", from - column);
    put_text(edit, sequence);
    edit->screen_cursor = column;
}

/* Keeps the cursor in the window; a third of the window is left as context when it jumps. */
static bool scroll_to_cursor(struct lineedit *edit)
{
    size_t width = window(edit), old = edit->first;

    if (edit->cursor < edit->first)
        edit->first = edit->cursor > width / 3 ? edit->cursor - width / 3 : 0;
    else if (edit->cursor > edit->first + width)
        edit->first = edit->cursor - width + width / 3;
    return edit->first != old;
}

/* The line changed from index `changed` on (edit->length: not at all), or the cursor moved. */
static void update_screen(struct lineedit *edit, size_t changed)
{
    if (scroll_to_cursor(edit))
        changed = edit->first;
    if (changed < edit->first)
        changed = edit->first;

    size_t width = window(edit), left = edit->length - edit->first;
    size_t shown = left < width ? left : width;
    size_t start = changed - edit->first;
    if (start < shown || shown < edit->shown) {
        move_cursor(edit, start < shown ? start : shown);
        put(edit, edit->line + edit->first + edit->screen_cursor, shown - edit->screen_cursor);
        edit->screen_cursor = shown;
        if (shown < edit->shown)
            put_text(edit, "\033[K");
        edit->shown = shown;
    }
    move_cursor(edit, edit->cursor - edit->first);
}

void lineedit_redraw(struct lineedit *edit)
{
    put_text(edit, edit->prompt);
    edit->shown = edit->screen_cursor = 0;
    update_screen(edit, 0);
}

static void end_row(struct lineedit *edit, const char *mark)
{
    edit->cursor = edit->length;
    update_screen(edit, edit->length);
    if (edit->screen_cursor + strlen(mark) > window(edit)) /* over the end of a full row */
        move_cursor(edit, window(edit) - strlen(mark));
    put_text(edit, mark);
    put_text(edit, "\n");
}

/* --- edits --- */

static void remove_range(struct lineedit *edit, size_t from, size_t to)
{
    memmove(edit->line + from, edit->line + to, edit->length - to + 1);
    edit->length -= to - from;
    edit->cursor = from;
    update_screen(edit, from);
}

/* What does not fit is left out: the missing echo tells. */
static void insert_text(struct lineedit *edit, const char *text, size_t length)
{
    size_t at = edit->cursor, room = LINEEDIT_MAX - 1 - edit->length;

    if (length > room)
        length = room;
    memmove(edit->line + at + length, edit->line + at, edit->length - at + 1);
    memcpy(edit->line + at, text, length);
    edit->length += length;
    edit->cursor += length;
    update_screen(edit, at);
}

static void set_cursor(struct lineedit *edit, size_t cursor)
{
    edit->cursor = cursor;
    update_screen(edit, edit->length);
}

static size_t word_left(const struct lineedit *edit)
{
    size_t at = edit->cursor;

    while (at > 0 && edit->line[at - 1] == ' ')
        at--;
    while (at > 0 && edit->line[at - 1] != ' ')
        at--;
    return at;
}

static void key_left(struct lineedit *edit)
{
    if (edit->cursor > 0)
        set_cursor(edit, edit->cursor - 1);
}

static void key_right(struct lineedit *edit)
{
    if (edit->cursor < edit->length)
        set_cursor(edit, edit->cursor + 1);
}

static void key_word_left(struct lineedit *edit)
{
    set_cursor(edit, word_left(edit));
}

static void key_word_right(struct lineedit *edit)
{
    size_t at = edit->cursor;

    while (at < edit->length && edit->line[at] == ' ')
        at++;
    while (at < edit->length && edit->line[at] != ' ')
        at++;
    set_cursor(edit, at);
}

static void key_home(struct lineedit *edit)
{
    set_cursor(edit, 0);
}

static void key_end(struct lineedit *edit)
{
    set_cursor(edit, edit->length);
}

static void key_backspace(struct lineedit *edit)
{
    if (edit->cursor > 0)
        remove_range(edit, edit->cursor - 1, edit->cursor);
}

static void key_delete(struct lineedit *edit)
{
    if (edit->cursor < edit->length)
        remove_range(edit, edit->cursor, edit->cursor + 1);
}

static void key_kill_right(struct lineedit *edit)
{
    remove_range(edit, edit->cursor, edit->length);
}

static void key_kill_left(struct lineedit *edit)
{
    remove_range(edit, 0, edit->cursor);
}

static void key_kill_word(struct lineedit *edit)
{
    remove_range(edit, word_left(edit), edit->cursor);
}

static void key_clear_screen(struct lineedit *edit)
{
    put_text(edit, "\033[2J\033[H");
    lineedit_redraw(edit);
}

static void key_cancel(struct lineedit *edit)
{
    end_row(edit, "^C");
    lineedit_start(edit, edit->prompt);
}

/* --- history --- */

static size_t history_oldest(const struct lineedit *edit)
{
    return edit->history_count > LINEEDIT_HISTORY ? edit->history_count - LINEEDIT_HISTORY : 0;
}

static char *history_slot(struct lineedit *edit, size_t number)
{
    return number == edit->history_count ? edit->draft : edit->history[number % LINEEDIT_HISTORY];
}

static void history_show(struct lineedit *edit, size_t number)
{
    if (edit->history_at == edit->history_count)
        string_copy(edit->draft, edit->line, LINEEDIT_MAX);
    edit->history_at = number;
    string_copy(edit->line, history_slot(edit, number), LINEEDIT_MAX);
    edit->length = edit->cursor = strlen(edit->line);
    edit->first = 0;
    update_screen(edit, 0);
}

static void key_older(struct lineedit *edit)
{
    if (edit->history_at > history_oldest(edit))
        history_show(edit, edit->history_at - 1);
}

static void key_newer(struct lineedit *edit)
{
    if (edit->history_at < edit->history_count)
        history_show(edit, edit->history_at + 1);
}

/* Neither blank lines nor the one before once more. */
static void history_add(struct lineedit *edit)
{
    size_t newest = edit->history_count;
    const char *text = edit->line;

    while (*text == ' ')
        text++;
    if (*text == 0 || (newest > 0 && strcmp(history_slot(edit, newest - 1), edit->line) == 0))
        return;
    string_copy(edit->history[newest % LINEEDIT_HISTORY], edit->line, LINEEDIT_MAX);
    edit->history_count++;
}

const char *lineedit_history(const struct lineedit *edit, size_t index, size_t *number)
{
    size_t at = history_oldest(edit) + index;

    if (at >= edit->history_count)
        return NULL;
    *number = at + 1;
    return edit->history[at % LINEEDIT_HISTORY];
}

/* --- completion --- */

/* The next candidate from *index on that begins with what is typed. */
static const char *next_match(const struct lineedit *edit, size_t start, unsigned *index)
{
    const struct lineedit_hooks *hooks = &edit->hooks;
    const char *name;

    while ((name = hooks->candidate(hooks->argument, edit->line, start, (*index)++)) != NULL)
        if (strncmp(name, edit->line + start, edit->cursor - start) == 0)
            return name;
    return NULL;
}

/* How many candidates match; *first is one of them, all begin like its first *common bytes. */
static unsigned count_matches(const struct lineedit *edit, size_t start, const char **first,
                              size_t *common)
{
    unsigned count = 0, index = 0;
    const char *name;

    while ((name = next_match(edit, start, &index)) != NULL) {
        size_t same = 0;
        if (count++ == 0)
            *common = strlen(*first = name);
        while (same < *common && name[same] == (*first)[same])
            same++;
        *common = same;
    }
    return count;
}

/* In columns of 16, as many as fit. */
static void list_matches(struct lineedit *edit, size_t start)
{
    static const char blanks[] = "                ";
    size_t column = 0, cursor = edit->cursor;
    unsigned index = 0;
    const char *name;

    end_row(edit, "");
    edit->cursor = cursor;
    while ((name = next_match(edit, start, &index)) != NULL) {
        size_t length = strlen(name), cell = (length / 16 + 1) * 16;
        if (column > 0 && column + cell > LINEEDIT_COLUMNS - 1) {
            put_text(edit, "\n");
            column = 0;
        }
        put(edit, name, length);
        put(edit, blanks, cell - length);
        column += cell;
    }
    put_text(edit, "\n");
    lineedit_redraw(edit);
}

static void key_complete(struct lineedit *edit)
{
    size_t start = edit->cursor, common = 0;
    const char *name = NULL;

    if (!edit->hooks.candidate)
        return;
    while (start > 0 && edit->line[start - 1] != ' ' && edit->line[start - 1] != ';')
        start--;
    unsigned count = count_matches(edit, start, &name, &common);
    size_t typed = edit->cursor - start;
    if (count > 0 && common > typed)
        insert_text(edit, name + typed, common - typed);
    else if (count > 1)
        list_matches(edit, start);
    if (count == 1 && edit->cursor == edit->length)
        insert_text(edit, " ", 1);
}

/* --- keys --- */

static void (*const key_functions[KEYS])(struct lineedit *edit) = {
    [KEY_LEFT] = key_left,
    [KEY_RIGHT] = key_right,
    [KEY_WORD_LEFT] = key_word_left,
    [KEY_WORD_RIGHT] = key_word_right,
    [KEY_HOME] = key_home,
    [KEY_END] = key_end,
    [KEY_OLDER] = key_older,
    [KEY_NEWER] = key_newer,
    [KEY_BACKSPACE] = key_backspace,
    [KEY_DELETE] = key_delete,
    [KEY_KILL_LEFT] = key_kill_left,
    [KEY_KILL_RIGHT] = key_kill_right,
    [KEY_KILL_WORD] = key_kill_word,
    [KEY_COMPLETE] = key_complete,
    [KEY_CLEAR_SCREEN] = key_clear_screen,
    [KEY_CANCEL] = key_cancel,
};

bool lineedit_feed(struct lineedit *edit, uint8_t byte)
{
    enum key key = key_decode(&edit->keys, byte);
    char character = (char)byte;

    if (key == KEY_ENTER) {
        end_row(edit, "");
        history_add(edit);
        return true;
    }
    if (key == KEY_TEXT)
        insert_text(edit, &character, 1);
    else if (key_functions[key])
        key_functions[key](edit);
    return false;
}

void lineedit_start(struct lineedit *edit, const char *prompt)
{
    edit->prompt = prompt;
    edit->length = edit->cursor = edit->first = 0;
    edit->line[0] = 0;
    edit->history_at = edit->history_count;
    lineedit_redraw(edit);
}

void lineedit_init(struct lineedit *edit, const struct lineedit_hooks *hooks)
{
    memset(edit, 0, sizeof *edit);
    edit->hooks = *hooks;
}
