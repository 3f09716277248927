/* SPDX-License-Identifier: MIT */
/* Between record.c and record_session.c, and what replay shares with them. */
#ifndef REPLAY_RECORD_SESSION_H
#define REPLAY_RECORD_SESSION_H

#include "replay/session.h"

/* The session's abort reason is set: all threads go on unrecorded, the recording ends here.
 * The caller is a thread of it on its way to ring 3; nothing of the session may be used afterwards.
 */
void record_give_up(struct session *session);

/* The header of a new recording of the process; its source is known later (record_header.c). */
void record_describe(struct log_header *header, const struct process *process);
void record_describe_source(struct log_header *header, const struct tick_source *source);

/* How many pages the view maps; *held: a hash of which, and how. */
uint64_t owned_pages(const struct rec_thread *rec, uint64_t *held);

#endif
