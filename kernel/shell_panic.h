/* SPDX-License-Identifier: MIT */
/* The commands `panic` and `crash`: provoke each way in which a kernel dies, to see that it is
 * reported. */
#ifndef KERNEL_SHELL_PANIC_H
#define KERNEL_SHELL_PANIC_H

#define SHELL_CRASH_HELP "die: jump ret stack null gp ud lock assert lockup"
#define SHELL_PANIC_HELP "panic with TEXT, or as `crash KIND` does"

int shell_panic_command(int count, char **words);
int shell_crash_command(int count, char **words);

#endif
