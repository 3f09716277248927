/* SPDX-License-Identifier: MIT */
/* The state in which a recording begins, and the one in which it ends. */
#ifndef REPLAY_CHECKPOINT_H
#define REPLAY_CHECKPOINT_H

#include "replay/session.h"

/* Copies the process's memory, mappings and output state; all its threads are stopped. 0 or
 * ERR_NO_MEMORY (the recording is freed by the caller). */
int checkpoint_capture_process(struct recording *recording, struct process *process);
int checkpoint_capture_thread(struct checkpoint *checkpoint, uint32_t slot, struct thread *thread);

/* A process with the checkpoint's memory and threads, none of them started, none with a `rec`. NULL
 * with *error. threads[slot] of those that were there. */
struct process *checkpoint_restore(const struct recording *recording, struct thread **threads,
                                   int *error);

/* Hash of the whole state that a program can see: mappings, pages, output, and of every thread of
 * the session registers, FPU and ticks. All threads have ended. */
void end_state_hash(struct session *session, uint8_t hash[STATE_HASH_BYTES]);

#endif
