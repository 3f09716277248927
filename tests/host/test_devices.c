/* SPDX-License-Identifier: MIT */
/* The pure parts of the device drivers: keyboard decoder, screen terminal, calibration's choice.
 *
 * The drivers' files are included whole, so that their own static functions are what is tested;
 * what touches hardware is never called.
 */
#include "arch/x86/vga.c"
#undef ESCAPE
#define present keyboard_present
#include "arch/x86/keyboard.c"
#undef present
#include "arch/x86/timer.c"
#include "tests/host/tap.h"

#include <stdlib.h>

/* --- what the drivers call, and must not call here --- */

struct cpu_features cpu_features;

static _Noreturn void unexpected_call(const char *what)
{
    printf("# %s was called\n", what);
    abort();
}

bool ioapic_route_isa(uint8_t irq, enum vector vector)
{
    (void)irq, (void)vector;
    unexpected_call("ioapic_route_isa");
}

void upcall_console_input(uint8_t byte)
{
    (void)byte;
    unexpected_call("upcall_console_input");
}

uint32_t apic_read(enum apic_register which)
{
    (void)which;
    unexpected_call("apic_read");
}

void apic_write(enum apic_register which, uint32_t value)
{
    (void)which, (void)value;
    unexpected_call("apic_write");
}

const struct clock_reference *clock_reference_find(void)
{
    unexpected_call("clock_reference_find");
}

void wait_turn(struct wait_state *state, const char *what)
{
    (void)state;
    unexpected_call(what);
}

static char printed[256];

void printk(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(printed, sizeof(printed), format, arguments);
    va_end(arguments);
}

/* --- keyboard --- */

struct key_case {
    const char *name;
    const char *scan;
    const char *text;
};

/* All with one decoder, in this order: each leaves no key pressed. */
static const struct key_case key_cases[] = {
    {"letters and their releases", "\x1e\x9e\x30\xb0", "ab"},
    {"left shift", "\x2a\x1e\x02\xaa\x1e", "A!a"},
    {"right shift", "\x36\x28\xb6\x28", "\"'"},
    {"one of two shifts released", "\x2a\x36\xaa\x1e\xb6\x1e", "Aa"},
    {"caps lock, for letters only", "\x3a\xba\x1e\x02\x2a\x1e\xaa\x3a\xba\x1e", "A1aa"},
    {"control", "\x1d\x2e\x16\x1a\x9d\x2e",
     "\x03\x15\x1b"
     "c"},
    {"right control", "\xe0\x1d\x2e\xe0\x9d\x2e",
     "\x03"
     "c"},
    {"enter, tab, backspace, escape", "\x1c\x0f\x0e\x01", "\n\t\b\x1b"},
    {"arrows", "\xe0\x48\xe0\xc8\xe0\x50\xe0\xd0\xe0\x4d\xe0\xcd\xe0\x4b\xe0\xcb",
     "\x1b[A\x1b[B\x1b[C\x1b[D"},
    {"home, end, insert, delete", "\xe0\x47\xe0\x4f\xe0\x52\xe0\x53", "\x1b[H\x1b[F\x1b[2~\x1b[3~"},
    {"arrow between fake shifts", "\xe0\x2a\xe0\x48\xe0\xc8\xe0\xaa\x1e", "\x1b[Aa"},
    {"page keys", "\xe0\x49\xe0\x51", "\x1b[5~\x1b[6~"},
    {"keypad's enter and slash, shifted", "\x2a\xe0\x1c\xe0\x35\xaa", "\n/"},
    {"keypad without num lock", "\x48\x4c\x4e\x4a\x37", "\x1b[A+-*"},
    {"keypad with num lock", "\x45\xc5\x48\x4c\x53\xe0\x48\x45\xc5", "85.\x1b[A"},
    {"pause is passed over", "\xe1\x1d\x45\xe1\x9d\xc5\x1e", "a"},
    {"function keys, windows key, unknown codes", "\x3b\x58\xe0\x5b\x7f\xe0\x1e\x1e", "a"},
    {"replies that are no keys", "\xfa\xaa\xfe\xff\x1e", "a"},
};

static void test_keyboard(void)
{
    struct decoder decoder = {0};
    for (unsigned i = 0; i < sizeof(key_cases) / sizeof(key_cases[0]); i++) {
        const struct key_case *test = &key_cases[i];
        char text[64] = {0};
        unsigned length = 0;
        for (const char *scan = test->scan; *scan; scan++) {
            uint8_t out[SEQUENCE_MAX];
            unsigned count = decode_byte(&decoder, (uint8_t)*scan, out);
            memcpy(text + length, out, count);
            length += count;
        }
        is_string(text, test->text, "keyboard: %s", test->name);
    }
}

/* Every byte in every state reached by any two others: never more than there is room for. */
static void test_keyboard_bounds(void)
{
    unsigned longest = 0;
    for (uint32_t bytes = 0; bytes < 1u << 24; bytes++) {
        struct decoder decoder = {0};
        uint8_t out[SEQUENCE_MAX];
        for (unsigned i = 0; i < 3; i++) {
            unsigned length = decode_byte(&decoder, (uint8_t)(bytes >> (8 * i)), out);
            longest = length > longest ? length : longest;
        }
    }
    is_u64(longest, SEQUENCE_MAX, "keyboard: the longest sequence of all");
}

/* --- screen --- */

static void type(const char *text)
{
    while (*text)
        screen_put((uint8_t)*text++);
}

static void restart(void)
{
    memset(&screen, 0, sizeof(screen));
    screen.attribute = ATTRIBUTE_NORMAL;
    rows_clear(0, ROWS);
}

/* The text of a row without blanks at its end. */
static const char *row_text(uint32_t row)
{
    static char text[COLUMNS + 1];
    uint32_t length = 0;
    for (uint32_t column = 0; column < COLUMNS; column++) {
        text[column] = (char)screen.wanted[row][column];
        if (text[column] != ' ')
            length = column + 1;
    }
    text[length] = 0;
    return text;
}

static void test_text(void)
{
    restart();
    type("one\ntwo\rT\n\tx\babc\b\b\x1b[K!");
    is_string(row_text(0), "one", "screen: line feed returns, too");
    is_string(row_text(1), "Two", "screen: carriage return");
    is_string(row_text(2), "        a!", "screen: tab, backspace, erase to the end");
    ok(screen.row == 2 && screen.column == 10, "screen: cursor");
    restart();
    type("a\xc3\xa9\xe2\x80\xa6z\x7f\x01");
    is_string(row_text(0), "a??z", "screen: one mark for each character beyond ASCII");
    restart();
    type("\b\b\x1b[1;80Hx\ty");
    is_string(row_text(0) + 79, "y", "screen: backspace and tab at the edges");
}

static void test_wrap_and_scroll(void)
{
    char line[COLUMNS + 1];
    memset(line, 'w', COLUMNS);
    line[COLUMNS] = 0;
    restart();
    type(line);
    ok(screen.row == 0 && screen.column == COLUMNS, "screen: a full line does not wrap yet");
    type("\n");
    ok(screen.row == 1 && screen.column == 0, "screen: so its line feed is the only one");
    type(line);
    type("v");
    ok(screen.row == 2 && screen.column == 1, "screen: one more character wraps");
    restart();
    for (int i = 0; i < 30; i++) {
        char text[16];
        snprintf(text, sizeof(text), "%s%d", i ? "\n" : "", i);
        type(text);
    }
    is_string(row_text(0), "5", "screen: scrolled");
    is_string(row_text(ROWS - 1), "29", "screen: last line");
    type("\x1b[25;80Hab");
    is_string(row_text(ROWS - 1), "b", "screen: wrapping in the corner scrolls");
}

static void test_sequences(void)
{
    restart();
    type("abcdef\x1b[3DX\x1b[CY\x1b[99DZ\x1b[2B\x1b[AW");
    is_string(row_text(0), "ZbcXeY", "screen: left, right, beyond the edge");
    is_string(row_text(1), " W", "screen: down, up");
    type("\x1b[2J");
    is_string(row_text(0), "", "screen: cleared");
    ok(screen.row == 1, "screen: where the cursor stays");
    type("\x1b[Htop\x1b[5;10Hmid\x1b[999;999HE");
    is_string(row_text(0), "top", "screen: home");
    is_string(row_text(4), "         mid", "screen: position");
    is_string(row_text(ROWS - 1) + COLUMNS - 1, "E", "screen: position is bounded");
    restart();
    type("12345\x1b[3D\x1b[1Kx\n789\x1b[2K\r0");
    is_string(row_text(0), "  x45", "screen: erase to the start");
    is_string(row_text(1), "0", "screen: erase the line");
    restart();
    type("a\nb\nc\x1b[2;1H\x1b[J");
    ok(!strcmp(row_text(0), "a") && !*row_text(1) && !*row_text(2), "screen: erase below");
    type("\x1b[?25h\x1b[12;34;56;7;8;9;10;11;12;13z\x1b[99999999999999999999q\x1bM\x1b[\x1b[1mQ");
    is_string(row_text(1), "Q", "screen: unknown and broken sequences are swallowed");
    type("\x1b[1\nR");
    is_string(row_text(2), "R", "screen: a line feed ends a broken sequence");
}

static void test_colours(void)
{
    restart();
    type("\x1b[31ma\x1b[1;34;42mb\x1b[39;49mc\x1b[mD\x1b[97me\x1b[0;1mf\x1b[22mg");
    static const uint16_t expected[] = {0x0400 | 'a', 0x2900 | 'b', 0x0f00 | 'c', 0x0700 | 'D',
                                        0x0f00 | 'e', 0x0f00 | 'f', 0x0700 | 'g'};
    for (unsigned i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        is_u64(screen.wanted[0][i], expected[i], "screen: colours of '%c'", expected[i] & 0xff);
}

/* What the card shows is the wanted screen, and unchanged cells are not written again. */
static void test_drawing(void)
{
    static uint16_t card[ROWS * COLUMNS];
    restart();
    text_buffer = card;
    type("hello\nworld");
    for (uint32_t row = 0; row < ROWS; row++)
        row_draw(row);
    ok(!memcmp(card, screen.wanted, sizeof(card)), "screen: the card shows what is wanted");
    memset(card, 0xee, sizeof(card));
    type("!");
    for (uint32_t row = 0; row < ROWS; row++)
        row_draw(row);
    unsigned written = 0;
    for (unsigned i = 0; i < ROWS * COLUMNS; i++)
        written += card[i] != 0xeeee;
    is_u64(written, 1, "screen: one cell changed, one cell written");
    text_buffer = NULL;
}

static void test_any_bytes(void)
{
    uint64_t state = 1;
    restart();
    unsigned inside = 0, count = 1000000;
    for (unsigned i = 0; i < count; i++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        uint8_t byte = (uint8_t)(state >> 56);
        static const uint8_t likely[] = "\x1b[;0123456789ABCDHJKm\n\t\b";
        screen_put(state >> 40 & 1 ? likely[byte % (sizeof(likely) - 1)] : byte);
        inside += screen.row < ROWS && screen.column <= COLUMNS &&
                  screen.parameter_count <= MAX_PARAMETERS;
    }
    is_u64(inside, count, "screen: the cursor stays inside whatever comes");
}

/* --- clock --- */

static void test_arithmetic(void)
{
    is_u64(multiply_divide(UINT64_MAX, UINT64_MAX, UINT64_MAX), UINT64_MAX, "128-bit product");
    is_u64(multiply_divide(3000000000ull * 100, 1000000000ull, 100000000000ull), 3000000000ull,
           "a rate from long windows");
    is_u64(multiply_divide(2, UINT64_MAX, 1), UINT64_MAX, "a quotient that does not fit");
    static const uint64_t rates[] = {1000000, 999999999, 2445429515, 5800000000, 17000000000};
    for (unsigned i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        uint64_t hz = rates[i], seconds = 86400ull * 3650;
        if (hz < 5800000000)
            seconds *= 3;
        struct scale scale = {(NS_PER_SECOND << TSC_TO_NS_SHIFT) / hz, TSC_TO_NS_SHIFT};
        uint64_t ns = scale_apply(hz * seconds, scale), exact = seconds * NS_PER_SECOND;
        ok(ns <= exact && exact - ns < exact / 100000000, "decades of time at %llu Hz",
           (unsigned long long)hz);
    }
}

static uint64_t settle(const uint64_t *values, unsigned count)
{
    uint64_t sorted[WINDOWS_MAX] = {0};
    printed[0] = 0;
    for (unsigned i = 0; i < count; i++)
        sorted_insert(sorted, i, values[i]);
    return rate_settle(sorted, count, "TSC");
}

static void test_settling(void)
{
    is_u64(settle((uint64_t[]){1000, 1001, 999}, 3), 1000, "three that agree: the middle");
    ok(printed[0] == 0, "and no warning");
    is_u64(settle((uint64_t[]){100000, 5, 70000, 99990, 40000, 90, 100010}, 7), 100000,
           "outliers on one side do not count");
    ok(printed[0] == 0, "nor cause a warning");
    is_u64(settle((uint64_t[]){100, 300, 200, 500, 400}, 5), 300, "no agreement: the median");
    ok(strstr(printed, "no three of 5 measurements of the TSC agree") != NULL, "and a warning");
    is_u64(settle((uint64_t[]){77}, 1), 77, "a single measurement");
    ok(printed[0] != 0, "is not trusted silently");
}

int main(void)
{
    test_keyboard();
    test_keyboard_bounds();
    test_text();
    test_wrap_and_scroll();
    test_sequences();
    test_colours();
    test_drawing();
    test_any_bytes();
    test_arithmetic();
    test_settling();
    return done();
}
