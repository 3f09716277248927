/* SPDX-License-Identifier: MIT */
/* Shell commands of the recorder: record, replay, recorder. */
#ifndef REPLAY_REPLAY_COMMANDS_H
#define REPLAY_REPLAY_COMMANDS_H

#include "kernel/recorder.h"
#include "replay/recording.h"

extern const struct recorder replay_recorder; /* hooks.c */

void bench_register_command(void); /* bench_command.c */
void edit_register_command(void);  /* edit_command.c */
void tour_register_command(void);  /* tour.c */

void replay_commands_register(void);

/* Records a program from its first instruction to its end. 0 with *recording; or an error. */
int record_program(int count, char **words, struct recording **recording);
void record_print_line(const struct recording *recording); /* @record … */

#endif
