/* SPDX-License-Identifier: MIT */
/* Recordings as files: chunks going out through a sink, and a recording made of a source.
 *
 * A sink is whatever takes bytes in order (a disk's extent, the serial line). Thread context,
 * interrupts on. The format: log_format.h, docs/log-format.md.
 */
#ifndef REPLAY_RECORDING_FILE_H
#define REPLAY_RECORDING_FILE_H

#include "replay/log_file.h"
#include "replay/recording.h"

struct recording_sink {
    /* Takes all of it, or gives ERR_*; after an error nothing more is sent. */
    int (*write)(struct recording_sink *sink, const void *bytes, uint32_t length);
    uint64_t file_id, sequence;
    uint64_t offset; /* bytes sent so far */
};

/* A number for a new file that hardly any other has. Any context but NMI. */
uint64_t recording_new_id(void);

/* Header and checkpoint. 0, ERR_NO_MEMORY or the sink's error; so for all of these. */
int recording_write_start(const struct recording *recording, struct recording_sink *sink);
int recording_write_block(struct recording_sink *sink, uint32_t slot, struct stream_block *block);
int recording_write_pad(struct recording_sink *sink, uint32_t bytes); /* with its chunk's head */

/* The end; events[slot]: how many of them the file has. reason: "" when the recording is complete.
 */
int recording_write_end(const struct recording *recording, struct recording_sink *sink,
                        const uint64_t *events, const char *reason);

#define RECORDING_END_BYTES                                                                        \
    LOG_CHUNK_BYTES(sizeof(struct log_end) + LOG_MAX_SLOTS * sizeof(struct log_end_thread))

/* All of a finished recording. */
int recording_write(struct recording *recording, struct recording_sink *sink);

/* Exact size of the file that recording_write makes. */
uint64_t recording_file_bytes(const struct recording *recording);

/* Reads a file. Events stay where they are until they are needed: `backing` gets their chunks. A
 * file that was cut or damaged behind its checkpoint gives a recording that says so (incomplete).
 * ERR_BAD_LOG, ERR_NO_MEMORY; reason then says which rule was broken, where. */
int recording_read(const struct log_source *source, const struct stream_backing *backing,
                   struct recording **out, char reason[RECORDING_REASON_MAX]);

/* For backings: whether bytes[0 … size) begin with the chunk of events that was there when the file
 * was read. NULL, or what is wrong. */
const char *recording_check_block(const struct stream_block *block, uint32_t size,
                                  uint64_t file_id);

#endif
