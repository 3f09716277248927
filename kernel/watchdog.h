/* SPDX-License-Identifier: MIT */
/* The hard-lockup watchdog: a CPU that keeps interrupts off for too long is a panic that says where
 * it is.
 *
 * Context: the shell's thread.
 */
#ifndef KERNEL_WATCHDOG_H
#define KERNEL_WATCHDOG_H

#include <stdbool.h>

void watchdog_register(void); /* the command; at boot */

/* After the PMU's self-test: on where counting costs nothing, which is everywhere but under
 * emulation. */
void watchdog_start_by_default(void);

bool watchdog_is_on(void);
int watchdog_start(void); /* says why not */
void watchdog_stop(void);

#endif
