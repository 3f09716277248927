/* SPDX-License-Identifier: MIT */
/* Streaming a recording to the disk while it is made.
 *
 * A kernel thread of its own, the log writer, takes blocks that are full, in any order of the
 * threads, and writes them. Nothing is dropped: when it falls behind, the recorded threads wait on
 * their way to ring 3. A block that is written leaves memory when the recording has more than its
 * share of it. Twice a second the blocks that are being filled are closed and written, too, so that
 * a power cut costs little.
 *
 * Locks: the view lock of each stream's thread while a block is taken or marked.
 */
#ifndef REPLAY_SPOOL_H
#define REPLAY_SPOOL_H

#include <stdbool.h>
#include <stdint.h>

struct session;
struct spool;

/* Begins to write the session's recording, whose checkpoint is complete; its threads have not
 * logged anything. 0 with *spool: NULL where recordings stay in memory (no disk, `storage=memory`).
 * Thread context. */
int spool_begin(struct session *session, struct spool **spool);

/* A stream of the session has one more full block; its view lock is held. */
void spool_block_closed(struct spool *spool);

/* Whether recorded threads have to wait, and waiting. Thread context, interrupts on, no lock. */
bool spool_is_behind(const struct spool *spool);
void spool_wait(struct spool *spool);

/* All threads have logged their last event: writes the rest and the end, which `reason` ("": none)
 * says to be incomplete; frees the spool. An error: what reached the disk is a cut recording. */
int spool_end(struct spool *spool, const char *reason);

const char *spool_name(const struct spool *spool); /* of the file */

#endif
