/* SPDX-License-Identifier: MIT */
/* Decodes keys with one table: state and class of byte to action and next state.
 *
 * Sequences follow ECMA-48 (ESC [ numbers letter) and the VT220 (ESC O letter, ESC [ number ~).
 * What is not understood is swallowed whole; a control character in a sequence ends it and counts.
 */
#include "kernel/keys.h"

#include <stddef.h>

enum byte_class {
    BYTE_ESCAPE,
    BYTE_BRACKET,
    BYTE_O,
    BYTE_DIGIT,
    BYTE_SEMICOLON,
    BYTE_FINAL, /* 0x40 … 0x7e, but for those above */
    BYTE_OTHER,
    BYTE_CLASSES,
};

enum action {
    DROP,
    PLAIN,     /* a key by itself */
    BEGIN,     /* of a sequence */
    DIGIT,     /* of a number */
    SEPARATOR, /* between numbers */
    FINAL,     /* the sequence is complete */
};

static const struct transition {
    uint8_t action, next;
} transitions[KEY_STATES][BYTE_CLASSES] = {
    [KEY_STATE_GROUND] =
        {
            [BYTE_ESCAPE] = {DROP, KEY_STATE_ESCAPE},
            [BYTE_BRACKET] = {PLAIN, KEY_STATE_GROUND},
            [BYTE_O] = {PLAIN, KEY_STATE_GROUND},
            [BYTE_DIGIT] = {PLAIN, KEY_STATE_GROUND},
            [BYTE_SEMICOLON] = {PLAIN, KEY_STATE_GROUND},
            [BYTE_FINAL] = {PLAIN, KEY_STATE_GROUND},
            [BYTE_OTHER] = {PLAIN, KEY_STATE_GROUND},
        },
    [KEY_STATE_ESCAPE] =
        {
            [BYTE_ESCAPE] = {DROP, KEY_STATE_ESCAPE},
            [BYTE_BRACKET] = {BEGIN, KEY_STATE_CSI},
            [BYTE_O] = {BEGIN, KEY_STATE_SS3},
            [BYTE_DIGIT] = {DROP, KEY_STATE_GROUND},
            [BYTE_SEMICOLON] = {DROP, KEY_STATE_GROUND},
            [BYTE_FINAL] = {DROP, KEY_STATE_GROUND},
            [BYTE_OTHER] = {PLAIN, KEY_STATE_GROUND},
        },
    [KEY_STATE_CSI] =
        {
            [BYTE_ESCAPE] = {DROP, KEY_STATE_ESCAPE},
            [BYTE_BRACKET] = {DROP, KEY_STATE_GROUND},
            [BYTE_O] = {DROP, KEY_STATE_GROUND},
            [BYTE_DIGIT] = {DIGIT, KEY_STATE_CSI},
            [BYTE_SEMICOLON] = {SEPARATOR, KEY_STATE_CSI},
            [BYTE_FINAL] = {FINAL, KEY_STATE_GROUND},
            [BYTE_OTHER] = {PLAIN, KEY_STATE_GROUND},
        },
    [KEY_STATE_SS3] =
        {
            [BYTE_ESCAPE] = {DROP, KEY_STATE_ESCAPE},
            [BYTE_BRACKET] = {DROP, KEY_STATE_GROUND},
            [BYTE_O] = {DROP, KEY_STATE_GROUND},
            [BYTE_DIGIT] = {DROP, KEY_STATE_GROUND},
            [BYTE_SEMICOLON] = {DROP, KEY_STATE_GROUND},
            [BYTE_FINAL] = {FINAL, KEY_STATE_GROUND},
            [BYTE_OTHER] = {PLAIN, KEY_STATE_GROUND},
        },
};

static const uint8_t control_keys[0x20] = {
    ['A' & 0x1f] = KEY_HOME,         ['B' & 0x1f] = KEY_LEFT,      ['C' & 0x1f] = KEY_CANCEL,
    ['D' & 0x1f] = KEY_DELETE,       ['E' & 0x1f] = KEY_END,       ['F' & 0x1f] = KEY_RIGHT,
    ['H' & 0x1f] = KEY_BACKSPACE,    ['I' & 0x1f] = KEY_COMPLETE,  ['K' & 0x1f] = KEY_KILL_RIGHT,
    ['L' & 0x1f] = KEY_CLEAR_SCREEN, ['N' & 0x1f] = KEY_NEWER,     ['P' & 0x1f] = KEY_OLDER,
    ['U' & 0x1f] = KEY_KILL_LEFT,    ['W' & 0x1f] = KEY_KILL_WORD,
};

static const uint8_t tilde_keys[] = {
    [1] = KEY_HOME, [3] = KEY_DELETE, [4] = KEY_END, [7] = KEY_HOME, [8] = KEY_END,
};

static enum byte_class classify(uint8_t byte)
{
    switch (byte) {
    case 0x1b:
        return BYTE_ESCAPE;
    case '[':
        return BYTE_BRACKET;
    case 'O':
        return BYTE_O;
    case ';':
        return BYTE_SEMICOLON;
    default:
        break;
    }
    if (byte >= '0' && byte <= '9')
        return BYTE_DIGIT;
    return byte >= 0x40 && byte < 0x7f ? BYTE_FINAL : BYTE_OTHER;
}

static enum key plain_key(uint8_t byte, bool after_cr)
{
    if (byte == '\r' || (byte == '\n' && !after_cr))
        return KEY_ENTER;
    if (byte < 0x20)
        return control_keys[byte];
    if (byte == 0x7f)
        return KEY_BACKSPACE;
    return byte < 0x7f ? KEY_TEXT : KEY_NONE;
}

static enum key sequence_key(const struct key_decoder *decoder, uint8_t final)
{
    switch (final) {
    case 'A':
        return KEY_OLDER;
    case 'B':
        return KEY_NEWER;
    case 'C':
        return decoder->modified ? KEY_WORD_RIGHT : KEY_RIGHT;
    case 'D':
        return decoder->modified ? KEY_WORD_LEFT : KEY_LEFT;
    case 'F':
        return KEY_END;
    case 'H':
        return KEY_HOME;
    case '~':
        return decoder->parameter < sizeof tilde_keys ? tilde_keys[decoder->parameter] : KEY_NONE;
    default:
        return KEY_NONE;
    }
}

enum key key_decode(struct key_decoder *decoder, uint8_t byte)
{
    struct transition transition = transitions[decoder->state][classify(byte)];
    bool after_cr = decoder->after_cr;

    decoder->state = transition.next;
    decoder->after_cr = byte == '\r';
    switch (transition.action) {
    case PLAIN:
        return plain_key(byte, after_cr);
    case BEGIN:
        decoder->parameter = 0;
        decoder->modified = false;
        break;
    case DIGIT:
        if (!decoder->modified && decoder->parameter < 1000)
            decoder->parameter = decoder->parameter * 10 + (byte - '0');
        break;
    case SEPARATOR:
        decoder->modified = true;
        break;
    case FINAL:
        return sequence_key(decoder, byte);
    default:
        break;
    }
    return KEY_NONE;
}
