/* SPDX-License-Identifier: MIT */
/* Shell commands for recordings as things that are kept: logs, log, save, load, send, delete. */
#ifndef REPLAY_LOG_COMMANDS_H
#define REPLAY_LOG_COMMANDS_H

#include "replay/recording.h"

void log_commands_register(void);

/* Which recording a word means: "3", a file's name (it is loaded unless it is already), or NULL for
 * the last one. Says what is wrong and returns NULL. Thread context. */
struct recording *find_log(const char *word);

#endif
