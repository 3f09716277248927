/* SPDX-License-Identifier: MIT */
/* Serial port, VGA text screen, PS/2 keyboard, and turning the machine off.
 *
 * The caller (kernel/console.c) serialises output; the panic path calls without its lock.
 */
#ifndef ARCH_X86_DEVICES_H
#define ARCH_X86_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 16550s at COM1 and COM2, 115200 8N1. False when there is no COM1 (loopback test). Output is
 * polled and waits (bounded; a dead port is given up after that and said so once on the screen). */
bool serial_init(void);
void serial_write(const char *text, size_t length); /* '\n' goes out as CR LF */
void serial_enable_input(void);                     /* interrupt → upcall_console_input() */

/* COM2, for what goes to a machine and not to a reader (kernel/send.h); the caller serialises.
 * False when text was dropped because the port is dead or not there. */
bool serial_export_present(void);
bool serial_export_write(const char *text, size_t length);

/* 80×25 text at 0xB8000, hardware cursor; understands \n \r \b \t and the ANSI sequences that
 * the line editor uses (ESC[nC, ESC[nD, ESC[K, ESC[2J, ESC[H, ESC[m colours). */
void vga_init(void);
void vga_write(const char *text, size_t length);

/* i8042, scan code set 1, US layout with shift, control, caps lock, arrows, home, end, delete. */
bool keyboard_init(void); /* False when there is no controller. */

/* Reads what the devices have and passes it to upcall_console_input(); called by the interrupt
 * stubs and, where interrupts cannot be routed, by polling. */
void serial_poll_input(void);
void keyboard_poll_input(void);

/* QEMU's isa-debug-exit at port 0x501: ends QEMU with status (code << 1) | 1. Returns when there is
 * no such device. */
void power_debug_exit(uint8_t code);
_Noreturn void power_off(void); /* ACPI S5, then QEMU's port, then halt with a message */
_Noreturn void power_reset(void);

#endif
