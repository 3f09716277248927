/* SPDX-License-Identifier: MIT */
/* Line editing with history and completion: bytes in, screen updates and finished lines out.
 *
 * Knows nothing of devices: what is to appear goes to `write`, ASCII and the ANSI sequences ESC[nC,
 * ESC[nD, ESC[K, ESC[2J, ESC[H. A line longer than the screen is wide scrolls sideways on its
 * row, so nothing depends on how a terminal wraps. One thread; also compiled for the host tests.
 */
#ifndef KERNEL_LINEEDIT_H
#define KERNEL_LINEEDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/keys.h"

#define LINEEDIT_MAX 1024   /* bytes of a line with its terminating 0 */
#define LINEEDIT_HISTORY 32 /* lines; the oldest is forgotten first */
#define LINEEDIT_COLUMNS 80 /* of the screen; the last one stays empty */

/* candidate may be NULL: no completion. */
struct lineedit_hooks {
    void (*write)(void *argument, const char *text, size_t length);
    /* Candidate number `index` for a word that follows line[0 … word_start), whether it fits what
     * is typed of it or not; NULL after the last. */
    const char *(*candidate)(void *argument, const char *line, size_t word_start, unsigned index);
    void *argument;
};

struct lineedit {
    struct lineedit_hooks hooks;
    const char *prompt;
    char line[LINEEDIT_MAX]; /* terminated */
    size_t length, cursor;
    struct key_decoder keys;

    /* What is on the screen: the prompt and line[first … first + shown). */
    size_t first, shown, screen_cursor; /* the last in columns after the prompt */

    char history[LINEEDIT_HISTORY][LINEEDIT_MAX]; /* ring; the newest is number history_count - 1 */
    size_t history_count;                         /* ever added */
    size_t history_at;        /* the one shown; history_count: the line being written */
    char draft[LINEEDIT_MAX]; /* that line, while another is shown */
};

void lineedit_init(struct lineedit *edit, const struct lineedit_hooks *hooks);

/* Starts an empty line behind the prompt (kept, not copied; ASCII), at the start of a row. */
void lineedit_start(struct lineedit *edit, const char *prompt);

/* True: edit->line is finished, the screen is on a new row; next is lineedit_start(). */
bool lineedit_feed(struct lineedit *edit, uint8_t byte);

/* Prompt and line once more, on an empty row: after something else was printed. */
void lineedit_redraw(struct lineedit *edit);

/* Line of the history, 0 is the oldest that is kept; NULL after the newest. *number counts from 1
 * since boot. */
const char *lineedit_history(const struct lineedit *edit, size_t index, size_t *number);

#endif
