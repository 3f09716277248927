/* SPDX-License-Identifier: MIT */
/* The key decoder: every state with every class of byte, and the sequences that terminals send. */
#include "kernel/keys.h"
#include "tests/host/tap.h"

/* A byte of each class, and what follows it in each state: the key it gives, the state it leaves.
 */
static const uint8_t class_bytes[] = {0x1b, '[', 'O', '5', ';', 'A', 'z', '\r', 0xc3};

#define CLASSES (sizeof class_bytes)

static const char *const state_prefixes[KEY_STATES] = {
    [KEY_STATE_GROUND] = "",
    [KEY_STATE_ESCAPE] = "\033",
    [KEY_STATE_CSI] = "\033[",
    [KEY_STATE_SS3] = "\033O",
};

struct outcome {
    enum key key;
    enum key_state next;
};

#define G KEY_STATE_GROUND

static const struct outcome outcomes[KEY_STATES][CLASSES] = {
    [KEY_STATE_GROUND] = {{KEY_NONE, KEY_STATE_ESCAPE},
                          {KEY_TEXT, G},
                          {KEY_TEXT, G},
                          {KEY_TEXT, G},
                          {KEY_TEXT, G},
                          {KEY_TEXT, G},
                          {KEY_TEXT, G},
                          {KEY_ENTER, G},
                          {KEY_NONE, G}},
    [KEY_STATE_ESCAPE] = {{KEY_NONE, KEY_STATE_ESCAPE},
                          {KEY_NONE, KEY_STATE_CSI},
                          {KEY_NONE, KEY_STATE_SS3},
                          {KEY_NONE, G},
                          {KEY_NONE, G},
                          {KEY_NONE, G},
                          {KEY_NONE, G},
                          {KEY_ENTER, G},
                          {KEY_NONE, G}},
    [KEY_STATE_CSI] = {{KEY_NONE, KEY_STATE_ESCAPE},
                       {KEY_NONE, G},
                       {KEY_NONE, G},
                       {KEY_NONE, KEY_STATE_CSI},
                       {KEY_NONE, KEY_STATE_CSI},
                       {KEY_OLDER, G},
                       {KEY_NONE, G},
                       {KEY_ENTER, G},
                       {KEY_NONE, G}},
    [KEY_STATE_SS3] = {{KEY_NONE, KEY_STATE_ESCAPE},
                       {KEY_NONE, G},
                       {KEY_NONE, G},
                       {KEY_NONE, G},
                       {KEY_NONE, G},
                       {KEY_OLDER, G},
                       {KEY_NONE, G},
                       {KEY_ENTER, G},
                       {KEY_NONE, G}},
};

/* The key of the last byte. */
static enum key feed(struct key_decoder *decoder, const char *bytes)
{
    enum key key = KEY_NONE;

    for (; *bytes; bytes++)
        key = key_decode(decoder, (uint8_t)*bytes);
    return key;
}

static void test_cells(void)
{
    for (unsigned state = 0; state < KEY_STATES; state++)
        for (unsigned i = 0; i < CLASSES; i++) {
            struct key_decoder decoder = {0};
            feed(&decoder, state_prefixes[state]);
            is_u64(decoder.state, state, "the way to state %u", state);
            is_u64(key_decode(&decoder, class_bytes[i]), outcomes[state][i].key,
                   "key for 0x%02x in state %u", class_bytes[i], state);
            is_u64(decoder.state, outcomes[state][i].next, "state after it");
        }
}

static void expect_key(const char *bytes, enum key expected)
{
    struct key_decoder decoder = {0};

    is_u64(feed(&decoder, bytes), expected, "sequence of %zu bytes, the last is '%c'",
           strlen(bytes), bytes[strlen(bytes) - 1]);
    is_u64(decoder.state, KEY_STATE_GROUND, "it is complete");
}

static void test_sequences(void)
{
    expect_key("\033[A", KEY_OLDER);
    expect_key("\033OA", KEY_OLDER);
    expect_key("\033[B", KEY_NEWER);
    expect_key("\033[C", KEY_RIGHT);
    expect_key("\033OC", KEY_RIGHT);
    expect_key("\033[D", KEY_LEFT);
    expect_key("\033[1;5C", KEY_WORD_RIGHT);
    expect_key("\033[1;3D", KEY_WORD_LEFT);
    expect_key("\033[H", KEY_HOME);
    expect_key("\033OH", KEY_HOME);
    expect_key("\033[1~", KEY_HOME);
    expect_key("\033[7~", KEY_HOME);
    expect_key("\033[F", KEY_END);
    expect_key("\033OF", KEY_END);
    expect_key("\033[4~", KEY_END);
    expect_key("\033[8~", KEY_END);
    expect_key("\033[3~", KEY_DELETE);
    expect_key("\033[3;5~", KEY_DELETE);
    expect_key("\033[2~", KEY_NONE);
    expect_key("\033[~", KEY_NONE);
    expect_key("\033[99999999999999~", KEY_NONE);
    expect_key("\033[1;5C\033[C", KEY_RIGHT); /* the modifier does not stay */
}

static void test_controls(void)
{
    static const enum key expected[0x20] = {
        [0x01] = KEY_HOME,       [0x02] = KEY_LEFT,         [0x03] = KEY_CANCEL,
        [0x04] = KEY_DELETE,     [0x05] = KEY_END,          [0x06] = KEY_RIGHT,
        [0x08] = KEY_BACKSPACE,  [0x09] = KEY_COMPLETE,     [0x0a] = KEY_ENTER,
        [0x0b] = KEY_KILL_RIGHT, [0x0c] = KEY_CLEAR_SCREEN, [0x0d] = KEY_ENTER,
        [0x0e] = KEY_NEWER,      [0x10] = KEY_OLDER,        [0x15] = KEY_KILL_LEFT,
        [0x17] = KEY_KILL_WORD,
    };

    for (unsigned byte = 0; byte < 0x20; byte++) {
        struct key_decoder decoder = {0};
        is_u64(key_decode(&decoder, (uint8_t)byte), expected[byte], "control character 0x%02x",
               byte);
    }
    for (unsigned byte = 0x20; byte < 0x100; byte++) {
        struct key_decoder decoder = {0};
        enum key key = key_decode(&decoder, (uint8_t)byte);
        enum key wanted = byte < 0x7f ? KEY_TEXT : byte == 0x7f ? KEY_BACKSPACE : KEY_NONE;
        if (key != wanted)
            is_u64(key, wanted, "byte 0x%02x", byte);
    }
}

static void test_line_ends(void)
{
    struct key_decoder decoder = {0};

    is_u64(feed(&decoder, "\r"), KEY_ENTER, "CR ends a line");
    is_u64(feed(&decoder, "\n"), KEY_NONE, "LF right after it belongs to it");
    is_u64(feed(&decoder, "\n"), KEY_ENTER, "a second LF does not");
    is_u64(feed(&decoder, "\ra\n"), KEY_ENTER, "nor one after something else");
}

int main(void)
{
    test_cells();
    test_sequences();
    test_controls();
    test_line_ends();
    return done();
}
