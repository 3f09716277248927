/* SPDX-License-Identifier: MIT */
/* Keys from the bytes that a terminal sends: control characters and ANSI escape sequences.
 *
 * A pure state machine; one decoder a source. Also compiled for the host tests.
 */
#ifndef KERNEL_KEYS_H
#define KERNEL_KEYS_H

#include <stdbool.h>
#include <stdint.h>

enum key {
    KEY_NONE, /* nothing yet, or nothing known */
    KEY_TEXT, /* the byte itself, printable ASCII */
    KEY_ENTER,
    KEY_LEFT,
    KEY_RIGHT,
    KEY_WORD_LEFT,
    KEY_WORD_RIGHT,
    KEY_HOME,
    KEY_END,
    KEY_OLDER,
    KEY_NEWER,
    KEY_BACKSPACE,
    KEY_DELETE,
    KEY_KILL_LEFT,
    KEY_KILL_RIGHT,
    KEY_KILL_WORD,
    KEY_COMPLETE,
    KEY_CLEAR_SCREEN,
    KEY_CANCEL,
    KEYS,
};

enum key_state {
    KEY_STATE_GROUND,
    KEY_STATE_ESCAPE,
    KEY_STATE_CSI, /* after ESC [ */
    KEY_STATE_SS3, /* after ESC O */
    KEY_STATES,
};

struct key_decoder { /* all zero at first */
    enum key_state state;
    unsigned parameter; /* the first number of the sequence */
    bool modified;      /* a second one follows: shift, alt or control is held */
    bool after_cr;      /* a LF right after it belongs to it */
};

enum key key_decode(struct key_decoder *decoder, uint8_t byte);

#endif
