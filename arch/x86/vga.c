/* SPDX-License-Identifier: MIT */
/* VGA text screen, 80×25: a terminal in memory, of which the changed cells go to the card.
 *
 * Cells are drawn once at the end of each write, however often the text scrolled: the card's memory
 * is slow, and under an emulator every access to it is a trap.
 * The caller serialises; the panic path may come in the middle of a write, so every position is
 * checked where it is used.
 */
#include "arch/x86/devices.h"

#include "arch/x86/io.h"
#include "arch/x86/layout.h"
#include "kernel/string.h"

#define COLUMNS 80u
#define ROWS 25u
#define TAB_WIDTH 8u
#define TEXT_BUFFER 0xb8000ull

#define CRTC_INDEX 0x3d4
#define CRTC_DATA 0x3d5
#define CRTC_CURSOR_START 0x0a
#define CRTC_CURSOR_END 0x0b
#define CRTC_START_HIGH 0x0c
#define CRTC_START_LOW 0x0d
#define CRTC_CURSOR_HIGH 0x0e
#define CRTC_CURSOR_LOW 0x0f

#define ATTRIBUTE_NORMAL 0x07 /* light grey on black */
#define ATTRIBUTE_BRIGHT 0x08
#define MAX_PARAMETERS 8u
#define PARAMETER_MAX 999u
#define ESCAPE 0x1b

enum parser_state { PARSE_TEXT, PARSE_ESCAPE, PARSE_SEQUENCE };

static struct {
    uint16_t wanted[ROWS][COLUMNS]; /* character, attribute << 8 */
    uint16_t shown[ROWS][COLUMNS];
    uint32_t dirty;       /* bit per row */
    uint32_t row, column; /* column == COLUMNS: the next character wraps first */
    uint8_t attribute;
    enum parser_state state;
    uint32_t parameters[MAX_PARAMETERS], parameter_count;
} screen = {.attribute = ATTRIBUTE_NORMAL};

static volatile uint16_t *text_buffer; /* NULL before vga_init() */

static uint16_t blank_cell(void)
{
    return (uint16_t)(screen.attribute << 8 | ' ');
}

static uint32_t minimum(uint32_t left, uint32_t right)
{
    return left < right ? left : right;
}

/* --- the card --- */

static void crtc_write(uint8_t index, uint8_t value)
{
    io_out8(CRTC_INDEX, index);
    io_out8(CRTC_DATA, value);
}

static void cursor_draw(void)
{
    uint32_t column = minimum(screen.column, COLUMNS - 1);
    uint32_t position = minimum(screen.row, ROWS - 1) * COLUMNS + column;
    crtc_write(CRTC_CURSOR_HIGH, (uint8_t)(position >> 8));
    crtc_write(CRTC_CURSOR_LOW, (uint8_t)position);
}

static void row_draw(uint32_t row)
{
    for (uint32_t column = 0; column < COLUMNS; column++) {
        uint16_t cell = screen.wanted[row][column];
        if (cell == screen.shown[row][column])
            continue;
        screen.shown[row][column] = cell;
        text_buffer[row * COLUMNS + column] = cell;
    }
}

static void screen_draw(void)
{
    for (uint32_t row = 0; row < ROWS; row++) {
        if (screen.dirty & 1u << row)
            row_draw(row);
    }
    screen.dirty = 0;
    cursor_draw();
}

/* --- the terminal --- */

static void cells_clear(uint32_t row, uint32_t from, uint32_t to)
{
    if (row >= ROWS)
        return;
    for (uint32_t column = from; column < to && column < COLUMNS; column++)
        screen.wanted[row][column] = blank_cell();
    screen.dirty |= 1u << row;
}

static void rows_clear(uint32_t from, uint32_t to)
{
    for (uint32_t row = from; row < to && row < ROWS; row++)
        cells_clear(row, 0, COLUMNS);
}

static void line_feed(void)
{
    if (screen.row + 1 < ROWS) {
        screen.row++;
        return;
    }
    memmove(screen.wanted[0], screen.wanted[1], sizeof(screen.wanted) - sizeof(screen.wanted[0]));
    screen.dirty = (1u << ROWS) - 1;
    screen.row = ROWS - 1;
    cells_clear(ROWS - 1, 0, COLUMNS);
}

static void put_character(uint8_t character)
{
    if (screen.column >= COLUMNS) {
        screen.column = 0;
        line_feed();
    }
    uint32_t row = minimum(screen.row, ROWS - 1), column = minimum(screen.column, COLUMNS - 1);
    screen.wanted[row][column] = (uint16_t)(screen.attribute << 8 | character);
    screen.dirty |= 1u << row;
    screen.column = column + 1;
}

static void put_text(uint8_t byte)
{
    switch (byte) {
    case '\n':
        screen.column = 0;
        line_feed();
        break;
    case '\r':
        screen.column = 0;
        break;
    case '\b':
        if (screen.column > 0)
            screen.column = minimum(screen.column, COLUMNS) - 1;
        break;
    case '\t':
        screen.column = minimum((screen.column / TAB_WIDTH + 1) * TAB_WIDTH, COLUMNS - 1);
        break;
    case ESCAPE:
        screen.state = PARSE_ESCAPE;
        break;
    default: /* UTF-8: one '?' for a character that the font may not have */
        if (byte >= 0xc0)
            put_character('?');
        else if (byte >= ' ' && byte < 0x7f)
            put_character(byte);
    }
}

/* --- escape sequences: ESC [ number ; number … letter --- */

static uint32_t parameter(uint32_t index, uint32_t otherwise)
{
    if (index >= screen.parameter_count || screen.parameters[index] == 0)
        return otherwise;
    return screen.parameters[index];
}

/* ANSI counts colours red, green, blue from bit 0; VGA the other way round. */
static uint8_t vga_colour(uint32_t ansi)
{
    return (uint8_t)((ansi & 1) << 2 | (ansi & 2) | (ansi & 4) >> 2);
}

static void select_rendition(uint32_t code)
{
    uint8_t foreground = screen.attribute & 0x0f, background = screen.attribute & 0x70;
    if (code == 0) {
        foreground = ATTRIBUTE_NORMAL & 0x0f;
        background = ATTRIBUTE_NORMAL & 0x70;
    } else if (code == 1) {
        foreground |= ATTRIBUTE_BRIGHT;
    } else if (code == 2 || code == 22) {
        foreground &= (uint8_t)~ATTRIBUTE_BRIGHT;
    } else if (code >= 30 && code <= 37) {
        foreground = (foreground & ATTRIBUTE_BRIGHT) | vga_colour(code - 30);
    } else if (code == 39) {
        foreground = (foreground & ATTRIBUTE_BRIGHT) | (ATTRIBUTE_NORMAL & 0x07);
    } else if (code >= 40 && code <= 47) {
        background = (uint8_t)(vga_colour(code - 40) << 4);
    } else if (code == 49) {
        background = ATTRIBUTE_NORMAL & 0x70;
    } else if (code >= 90 && code <= 97) {
        foreground = ATTRIBUTE_BRIGHT | vga_colour(code - 90);
    }
    screen.attribute = background | foreground;
}

static void erase_in_line(void)
{
    uint32_t how = parameter(0, 0), column = minimum(screen.column, COLUMNS - 1);
    if (how == 0)
        cells_clear(screen.row, column, COLUMNS);
    else if (how == 1)
        cells_clear(screen.row, 0, column + 1);
    else if (how == 2)
        cells_clear(screen.row, 0, COLUMNS);
}

static void erase_in_screen(void)
{
    uint32_t how = parameter(0, 0);
    if (how == 0) {
        erase_in_line();
        rows_clear(screen.row + 1, ROWS);
    } else if (how == 1) {
        erase_in_line();
        rows_clear(0, screen.row);
    } else if (how == 2) {
        rows_clear(0, ROWS);
    }
}

static void cursor_move(int32_t rows, int32_t columns)
{
    int32_t row = (int32_t)screen.row + rows;
    int32_t column = (int32_t)minimum(screen.column, COLUMNS - 1) + columns;
    screen.row = row < 0 ? 0 : minimum((uint32_t)row, ROWS - 1);
    screen.column = column < 0 ? 0 : minimum((uint32_t)column, COLUMNS - 1);
}

static void sequence_execute(uint8_t letter)
{
    int32_t count = (int32_t)parameter(0, 1);
    switch (letter) {
    case 'A':
        cursor_move(-count, 0);
        break;
    case 'B':
        cursor_move(count, 0);
        break;
    case 'C':
        cursor_move(0, count);
        break;
    case 'D':
        cursor_move(0, -count);
        break;
    case 'H':
        screen.row = minimum(parameter(0, 1), ROWS) - 1;
        screen.column = minimum(parameter(1, 1), COLUMNS) - 1;
        break;
    case 'J':
        erase_in_screen();
        break;
    case 'K':
        erase_in_line();
        break;
    case 'm':
        for (uint32_t i = 0; i < screen.parameter_count; i++)
            select_rendition(screen.parameters[i]);
        break;
    default: /* not known: swallowed whole */
        break;
    }
}

static void sequence_byte(uint8_t byte)
{
    if (byte >= '0' && byte <= '9') {
        uint32_t *last = &screen.parameters[screen.parameter_count - 1];
        *last = minimum(*last * 10 + (byte - '0'), PARAMETER_MAX);
    } else if (byte == ';') {
        if (screen.parameter_count < MAX_PARAMETERS)
            screen.parameters[screen.parameter_count++] = 0;
    } else if (byte >= '@' && byte <= '~') {
        screen.state = PARSE_TEXT;
        sequence_execute(byte);
    } else if (byte == ESCAPE) {
        screen.state = PARSE_ESCAPE;
    } else if (byte < ' ') { /* a line must not be lost for a damaged sequence */
        screen.state = PARSE_TEXT;
        put_text(byte);
    }
}

static void screen_put(uint8_t byte)
{
    switch (screen.state) {
    case PARSE_TEXT:
        put_text(byte);
        break;
    case PARSE_ESCAPE:
        screen.state = byte == '[' ? PARSE_SEQUENCE : PARSE_TEXT;
        screen.parameter_count = 1;
        screen.parameters[0] = 0;
        break;
    case PARSE_SEQUENCE:
        sequence_byte(byte);
        break;
    }
}

/* --- the interface --- */

/* Whatever the boot loader left is overwritten: `shown` holds what no cell is ever set to. */
void vga_init(void)
{
    text_buffer = PHYS_TO_VIRT(TEXT_BUFFER);
    memset(screen.shown, 0, sizeof(screen.shown));
    screen.row = screen.column = 0;
    screen.state = PARSE_TEXT;
    screen.attribute = ATTRIBUTE_NORMAL;
    rows_clear(0, ROWS);
    crtc_write(CRTC_START_HIGH, 0);
    crtc_write(CRTC_START_LOW, 0);
    crtc_write(CRTC_CURSOR_START, 14); /* scan lines; bit 5 would hide it */
    crtc_write(CRTC_CURSOR_END, 15);
    screen_draw();
}

void vga_write(const char *text, size_t length)
{
    if (!text_buffer)
        return;
    for (size_t i = 0; i < length; i++)
        screen_put((uint8_t)text[i]);
    screen_draw();
}
