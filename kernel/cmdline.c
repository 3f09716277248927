/* SPDX-License-Identifier: MIT */
/* The kernel command line, decoded anew at each question: nothing is stored but a pointer.
 *
 * Quotes only switch whether a blank ends the word, wherever they stand: GRUB hands over
 * `run="a; b"` as `"run=a; b"`. A backslash before a quote or a backslash stands for that
 * character: GRUB writes them so.
 *
 * Context: any; the text does not change after cmdline_init().
 */
#include "kernel/cmdline.h"

#include "kernel/printf.h"
#include "kernel/string.h"

#define NUMBER_MAX 32

static const char *cmdline = "";

void cmdline_init(const char *text)
{
    cmdline = text;
}

const char *cmdline_text(void)
{
    return cmdline;
}

static bool is_blank(char character)
{
    return character == ' ' || character == '\t' || character == '\n' || character == '\r';
}

/* One decoded character of a word; false at the word's end, where *at is left. */
static bool next_character(const char **at, bool *quoted, char *character)
{
    while (**at == '"') {
        *quoted = !*quoted;
        ++*at;
    }
    if (**at == 0 || (!*quoted && is_blank(**at)))
        return false;
    if (**at == '\\' && ((*at)[1] == '"' || (*at)[1] == '\\' || (*at)[1] == '\''))
        ++*at;
    *character = *(*at)++;
    return true;
}

/* The rest of a word, cut to size - 1 characters; tells the length that it really has. */
static size_t copy_rest(const char **at, bool quoted, char *value, size_t size)
{
    size_t length = 0;
    char character;

    while (next_character(at, &quoted, &character)) {
        if (length + 1 < size)
            value[length] = character;
        length++;
    }
    if (size > 0)
        value[length < size ? length : size - 1] = 0;
    return length;
}

/* Goes over the word at *at. When it is `key` or `key=…`, stores its value and length. */
static bool match_word(const char **at, const char *key, char *value, size_t size, size_t *length)
{
    bool quoted = false, same = true;
    char character = 0;
    size_t i = 0;

    while (next_character(at, &quoted, &character) && character != '=') {
        if (same && key[i] == character)
            i++;
        else
            same = false;
        character = 0;
    }
    same = same && key[i] == 0 && i > 0;
    if (character != '=') {
        if (same && size > 0)
            value[0] = 0;
        *length = 0;
        return same;
    }
    *length = copy_rest(at, quoted, same ? value : NULL, same ? size : 0);
    return same;
}

bool cmdline_get(const char *key, char *value, size_t size)
{
    const char *at = cmdline;
    size_t length = 0, word_length;
    bool found = false;

    for (;;) {
        while (is_blank(*at))
            at++;
        if (*at == 0)
            break;
        if (match_word(&at, key, value, size, &word_length)) {
            found = true;
            length = word_length;
        }
    }
    if (found && size > 0 && length >= size)
        printk("cmdline: value of %s cut from %zu to %zu characters\n", key, length, size - 1);
    return found;
}

bool cmdline_has(const char *key)
{
    return cmdline_get(key, NULL, 0);
}

uint64_t cmdline_number(const char *key, uint64_t otherwise)
{
    char text[NUMBER_MAX];
    unsigned long long number;

    if (!cmdline_get(key, text, sizeof text))
        return otherwise;
    if (string_to_u64(text, &number))
        return number;
    printk("cmdline: %s=%s is not a number; %lu is used\n", key, text, otherwise);
    return otherwise;
}
