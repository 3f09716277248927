/* SPDX-License-Identifier: MIT */
/* The console: serial port and screen as one, line-atomic from all CPUs, lossless.
 *
 * Locks: console lock (rank LOCK_CONSOLE, the last of all), taken with interrupts off.
 */
#ifndef KERNEL_CONSOLE_H
#define KERNEL_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void console_init(void); /* first thing of all: serial and screen */

/* All of text at once, if it is longer than 1 KiB in pieces of whole lines. When a line of another
 * writer stands unfinished, it is ended first. A writer is a thread, before the scheduler runs a
 * CPU. */
void console_write(const char *text, size_t length);

/* The last text written was this writer's and left its line unfinished: more text continues it. */
bool console_line_is_open(void);

/* The next text starts a line, whoever left one unfinished. */
void console_end_line(void);

/* From now on this CPU writes without the lock (it may be held by a CPU that will never run again);
 * panic only. */
void console_enter_panic(void);

/* --- input: a ring filled by upcall_console_input() in any context, which drops (and counts) bytes
 * when it is full; read by one thread, the shell --- */
bool console_take_input(uint8_t *byte); /* false: none now */
void console_wait_input(void);          /* blocks the calling thread until there is some */
uint32_t console_take_dropped(void);    /* bytes dropped since it was last asked */

#endif
