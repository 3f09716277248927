/* SPDX-License-Identifier: MIT */
/* The `panic` command: provokes each way in which a kernel dies, to see that it is reported. */
#ifndef KERNEL_SHELL_PANIC_H
#define KERNEL_SHELL_PANIC_H

#define SHELL_PANIC_HELP "die on purpose: null gp ud stack lock assert lockup, or TEXT"

int shell_panic_command(int count, char **words);

#endif
