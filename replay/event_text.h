/* SPDX-License-Identifier: MIT */
/* One event as a line of text: for `log`, reports and tests. Pure. */
#ifndef REPLAY_EVENT_TEXT_H
#define REPLAY_EVENT_TEXT_H

#include <stdint.h>

#include "replay/log_codec.h"

/* "12 promote page 0x402000 write after 1:7 2:3 @ ticks 40 rip 0x401020 …" Returns its length. */
int event_format(char *out, unsigned size, uint64_t number, const struct log_event *event);

#endif
