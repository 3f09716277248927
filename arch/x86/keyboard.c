/* SPDX-License-Identifier: MIT */
/* PS/2 keyboard behind an i8042: scan code set 1, US layout, to ASCII and ANSI sequences.
 *
 * Input: the interrupt handler of the boot CPU, or one thread that polls; the decoder's state
 * belongs to it. Sources: Intel 8042 as in the IBM PC/AT Technical Reference; IBM scan code set 1.
 */
#include "arch/x86/devices.h"

#include "arch/x86/apic.h"
#include "arch/x86/io.h"
#include "arch/x86/timer.h"
#include "kernel/upcalls.h"

#define KEYBOARD_IRQ 1

#define I8042_DATA 0x60
#define I8042_STATUS 0x64
#define I8042_COMMAND 0x64

#define STATUS_OUTPUT_FULL 0x01
#define STATUS_INPUT_FULL 0x02
#define STATUS_FROM_MOUSE 0x20
#define STATUS_ABSENT 0xff

#define COMMAND_READ_CONFIGURATION 0x20
#define COMMAND_WRITE_CONFIGURATION 0x60
#define COMMAND_DISABLE_MOUSE 0xa7
#define COMMAND_DISABLE_KEYBOARD 0xad
#define COMMAND_ENABLE_KEYBOARD 0xae
#define CONFIGURATION_INTERRUPT 0x01
#define CONFIGURATION_MOUSE_INTERRUPT 0x02
#define CONFIGURATION_KEYBOARD_OFF 0x10
#define CONFIGURATION_TRANSLATE 0x40 /* the keyboard's set 2 arrives as set 1 */
#define KEYBOARD_ENABLE 0xf4
#define KEYBOARD_ACKNOWLEDGE 0xfa

#define REPLY_TRIES 10000 /* of 10 µs */
#define FLUSH_READS 64
#define POLL_READS 256 /* a controller gone mad must not hold the CPU for ever */

/* --- decoding --- */

#define SCAN_RELEASE 0x80
#define SCAN_PREFIX 0xe0
#define SCAN_PAUSE 0xe1 /* two more bytes, then once more for the release */
#define SCAN_CONTROL 0x1d
#define SCAN_LEFT_SHIFT 0x2a
#define SCAN_RIGHT_SHIFT 0x36
#define SCAN_CAPS_LOCK 0x3a
#define SCAN_NUM_LOCK 0x45
#define SCAN_KEYPAD_FIRST 0x47
#define SCAN_KEYPAD_LAST 0x53
#define SCAN_ENTER 0x1c
#define SCAN_SLASH 0x35

#define SEQUENCE_MAX 4 /* the longest: ESC [ 3 ~ */

struct decoder {
    bool shift_left, shift_right, control_left, control_right;
    bool caps_lock, num_lock;
    bool prefixed;
    uint8_t skip; /* further bytes of the pause key */
};

/* By scan code, 0x00 … 0x39. 0: no character. */
static const char plain[] =
    "\0\0331234567890-=\b\tqwertyuiop[]\n\0asdfghjkl;'`\0\\zxcvbnm,./\0*\0 ";
static const char shifted[] =
    "\0\033!@#$%^&*()_+\b\tQWERTYUIOP{}\n\0ASDFGHJKL:\"~\0|ZXCVBNM<>?\0*\0 ";
_Static_assert(sizeof(plain) == 0x3a + 1 && sizeof(shifted) == sizeof(plain), "0x00 … 0x39");

/* The keypad from SCAN_KEYPAD_FIRST: with num lock … */
static const char keypad_digits[] = "789-456+1230.";
/* … and without, which are also the keys behind the prefix: what follows ESC [. */
static const char keypad_keys[][SEQUENCE_MAX - 1] = {
    "H", "A", "5~", "-", "D", "", "C", "+", "F", "B", "6~", "2~", "3~",
};
_Static_assert(sizeof(keypad_digits) - 1 == SCAN_KEYPAD_LAST - SCAN_KEYPAD_FIRST + 1, "keypad");
_Static_assert(sizeof(keypad_keys) / sizeof(keypad_keys[0]) == sizeof(keypad_digits) - 1, "keypad");

static unsigned decode_keypad(const struct decoder *decoder, uint8_t key, uint8_t *out)
{
    const char *tail = keypad_keys[key - SCAN_KEYPAD_FIRST];
    char digit = keypad_digits[key - SCAN_KEYPAD_FIRST];
    bool sign = digit == '-' || digit == '+';
    unsigned length = 0;
    if (decoder->prefixed && sign)
        return 0; /* no such key */
    if (sign || (decoder->num_lock && !decoder->prefixed)) {
        out[0] = (uint8_t)digit;
        return 1;
    }
    if (tail[0] == 0)
        return 0;
    out[length++] = '\033';
    out[length++] = '[';
    for (; *tail; tail++)
        out[length++] = (uint8_t)*tail;
    return length;
}

static unsigned decode_character(const struct decoder *decoder, uint8_t key, uint8_t *out)
{
    if (key >= sizeof(plain) - 1 || (decoder->prefixed && key != SCAN_ENTER && key != SCAN_SLASH))
        return 0;
    bool shift = decoder->shift_left || decoder->shift_right;
    char low = plain[key];
    bool letter = low >= 'a' && low <= 'z';
    if (decoder->prefixed)
        shift = false;
    else if (letter && decoder->caps_lock)
        shift = !shift;
    char character = shift ? shifted[key] : low;
    if ((decoder->control_left || decoder->control_right) && !decoder->prefixed) {
        if (letter || low == '[' || low == '\\' || low == ']')
            character = (char)(low & 0x1f);
        else if (low == '-' || low == '/')
            character = 0x1f;
    }
    if (character == 0)
        return 0;
    out[0] = (uint8_t)character;
    return 1;
}

/* Keys that only change the state. */
static bool decode_modifier(struct decoder *decoder, uint8_t key, bool pressed)
{
    switch (key) {
    case SCAN_CONTROL:
        *(decoder->prefixed ? &decoder->control_right : &decoder->control_left) = pressed;
        return true;
    case SCAN_LEFT_SHIFT:
    case SCAN_RIGHT_SHIFT:
        if (decoder->prefixed) /* a fake shift around a navigation key */
            return true;
        *(key == SCAN_LEFT_SHIFT ? &decoder->shift_left : &decoder->shift_right) = pressed;
        return true;
    case SCAN_CAPS_LOCK:
        decoder->caps_lock ^= pressed;
        return true;
    case SCAN_NUM_LOCK:
        decoder->num_lock ^= pressed;
        return true;
    default:
        return false;
    }
}

/* One byte from the keyboard; returns how many bytes of input it makes. */
static unsigned decode_byte(struct decoder *decoder, uint8_t byte, uint8_t out[SEQUENCE_MAX])
{
    if (decoder->skip > 0) {
        decoder->skip--;
        return 0;
    }
    if (byte == SCAN_PAUSE) {
        decoder->skip = 2;
        return 0;
    }
    if (byte == SCAN_PREFIX) {
        decoder->prefixed = true;
        return 0;
    }
    uint8_t key = byte & (uint8_t)~SCAN_RELEASE;
    bool pressed = !(byte & SCAN_RELEASE);
    unsigned length = 0;
    if (!decode_modifier(decoder, key, pressed) && pressed) {
        if (key >= SCAN_KEYPAD_FIRST && key <= SCAN_KEYPAD_LAST)
            length = decode_keypad(decoder, key, out);
        else
            length = decode_character(decoder, key, out);
    }
    decoder->prefixed = false;
    return length;
}

/* --- the controller --- */

static bool present;

static bool controller_send(uint16_t port, uint8_t byte)
{
    for (int i = 0; i < REPLY_TRIES; i++) {
        if (!(io_in8(I8042_STATUS) & STATUS_INPUT_FULL)) {
            io_out8(port, byte);
            return true;
        }
        timer_delay_us(10);
    }
    return false;
}

static bool controller_receive(uint8_t *byte)
{
    for (int i = 0; i < REPLY_TRIES; i++) {
        if (io_in8(I8042_STATUS) & STATUS_OUTPUT_FULL) {
            *byte = io_in8(I8042_DATA);
            return true;
        }
        timer_delay_us(10);
    }
    return false;
}

static void controller_flush(void)
{
    for (int i = 0; i < FLUSH_READS && io_in8(I8042_STATUS) & STATUS_OUTPUT_FULL; i++)
        io_in8(I8042_DATA);
}

/* Interrupt of the keyboard on, of the mouse off, set 1. */
static bool controller_configure(void)
{
    uint8_t configuration;
    if (!controller_send(I8042_COMMAND, COMMAND_DISABLE_KEYBOARD) ||
        !controller_send(I8042_COMMAND, COMMAND_DISABLE_MOUSE))
        return false;
    controller_flush();
    if (!controller_send(I8042_COMMAND, COMMAND_READ_CONFIGURATION) ||
        !controller_receive(&configuration))
        return false;
    configuration |= CONFIGURATION_INTERRUPT | CONFIGURATION_TRANSLATE;
    configuration &= (uint8_t) ~(CONFIGURATION_MOUSE_INTERRUPT | CONFIGURATION_KEYBOARD_OFF);
    return controller_send(I8042_COMMAND, COMMAND_WRITE_CONFIGURATION) &&
           controller_send(I8042_DATA, configuration) &&
           controller_send(I8042_COMMAND, COMMAND_ENABLE_KEYBOARD);
}

bool keyboard_init(void)
{
    uint8_t reply;
    if (io_in8(I8042_STATUS) == STATUS_ABSENT || !controller_configure())
        return false;
    /* Without an answer there may be a keyboard still, or one plugged in later. */
    if (controller_send(I8042_DATA, KEYBOARD_ENABLE) && controller_receive(&reply) &&
        reply != KEYBOARD_ACKNOWLEDGE)
        controller_flush();
    present = true;
    ioapic_route_isa(KEYBOARD_IRQ, VECTOR_KEYBOARD); /* else it is polled */
    keyboard_poll_input();                           /* what waits already would raise no edge */
    return true;
}

void keyboard_poll_input(void)
{
    static struct decoder decoder;
    uint8_t out[SEQUENCE_MAX], status;
    for (int i = 0; present && i < POLL_READS; i++) {
        status = io_in8(I8042_STATUS);
        if (status == STATUS_ABSENT || !(status & STATUS_OUTPUT_FULL))
            return;
        uint8_t byte = io_in8(I8042_DATA);
        if (status & STATUS_FROM_MOUSE)
            continue;
        unsigned length = decode_byte(&decoder, byte, out);
        for (unsigned j = 0; j < length; j++)
            upcall_console_input(out[j]);
    }
}
