/* SPDX-License-Identifier: MIT */
/* Chunks of recordings' files: making them, and reading them back with every rule that holds
 * between them (log_format.h). Pure; also compiled for the host. What is read is untrusted.
 */
#ifndef REPLAY_LOG_FILE_H
#define REPLAY_LOG_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/log_format.h"

/* --- writing --- */

/* Completes the chunk that begins at `bytes`: its payload of `length` bytes is there already,
 * behind room for struct log_chunk; there is room up to LOG_CHUNK_BYTES(length). Returns that. */
uint32_t log_chunk_seal(void *bytes, enum log_chunk_kind kind, uint32_t slot, uint32_t length,
                        uint64_t file_id, uint64_t sequence);

/* Whether bytes[0 … size) begin with a whole chunk of this kind and file. NULL, or what is wrong.
 */
const char *log_chunk_check(const void *bytes, uint32_t size, enum log_chunk_kind kind,
                            uint64_t file_id);

/* --- reading --- */

/* Bytes 0 … size - 1 of a file. read gets all of [offset, offset + length), which lie within, or
 * fails. */
struct log_source {
    bool (*read)(void *context, uint64_t offset, void *out, uint32_t length);
    void *context;
    uint64_t size;
};

/* How the reading ended. */
enum log_verdict {
    LOG_VERDICT_NONE,     /* there is more */
    LOG_VERDICT_COMPLETE, /* END says that the recording is complete */
    LOG_VERDICT_STOPPED,  /* END says why the recorder gave up */
    LOG_VERDICT_CUT,      /* the file ends before END */
    LOG_VERDICT_BAD,      /* the chunk at `offset` is damaged or breaks a rule */
};

struct log_reader {
    const struct log_source *source;
    uint64_t offset; /* of the chunk that comes next */
    uint64_t sequence, file_id;
    enum log_verdict verdict;
    const char *reason; /* for STOPPED, CUT and BAD */
    bool begun, ended;  /* BEGIN, END have been read */
    struct log_header header;
    struct log_begin found; /* of the checkpoint so far */
    uint64_t last_vma_end;
    uint64_t last_page;             /* address + 1; 0: none */
    uint64_t events[LOG_MAX_SLOTS]; /* read of each slot so far */
    uint32_t slots;                 /* the highest slot read so far + 1 */
    struct log_end end;             /* once ended */
    struct log_end_thread ends[LOG_MAX_SLOTS];
};

/* A chunk whose checksum and place in the file are right. payload points into the buffer. */
struct log_item {
    uint64_t offset;
    struct log_chunk chunk;
    const uint8_t *payload;
};

void log_reader_open(struct log_reader *reader, const struct log_source *source);

/* The next chunk, PADs included; false when reader->verdict tells the end. buffer: LOG_CHUNK_MAX
 * bytes, 8-byte aligned. */
bool log_reader_next(struct log_reader *reader, void *buffer, struct log_item *item);

/* Whether what has been read so far is enough to replay: header and checkpoint. */
static inline bool log_reader_usable(const struct log_reader *reader)
{
    return reader->begun;
}

const char *log_chunk_name(unsigned kind);              /* "stream"; "?" */
const char *log_verdict_name(enum log_verdict verdict); /* "complete", "stopped", "cut", "bad" */
const char *log_unit_name(unsigned unit);               /* "cond"; "?" */

#endif
