/* SPDX-License-Identifier: MIT */
/* Coding and decoding of events. Pure; also compiled for the host. Input is untrusted. */
#ifndef REPLAY_LOG_CODEC_H
#define REPLAY_LOG_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/log_format.h"

struct log_event {
    struct log_point point;
    uint8_t kind;   /* enum log_kind */
    uint8_t rights; /* enum log_rights, and LOG_RIGHTS_EXECUTE */
    uint8_t dep_count;
    uint64_t page; /* address, a multiple of 4096 */
    uint64_t a, b;
    struct log_dep deps[LOG_MAX_DEPS];
};

/* The most that one event can take: kind, point, five fields, deps. */
#define LOG_EVENT_MAX_BYTES (1 + 3 * 10 + 4 + 10 + 1 + 10 + 10 + 2 + LOG_MAX_DEPS * 11)

/* What the deltas refer to; all zero at the start of a block. */
struct log_coder {
    struct log_point point;
    uint64_t page_number;
};

/* Writes the event (its fields must be in range) and returns its length; out has room for
 * LOG_EVENT_MAX_BYTES. */
size_t log_encode(struct log_coder *coder, const struct log_event *event, uint8_t *out);

/* Reads one event from bytes[0 … size). Returns its length, or 0 with *reason set: unknown kind,
 * number too long or longer than it need be, value out of range, cut off. Fields that the kind does
 * not have are 0. */
size_t log_decode(struct log_coder *coder, const uint8_t *bytes, size_t size,
                  struct log_event *event, const char **reason);

bool log_point_equal(const struct log_point *left, const struct log_point *right);

const char *log_kind_name(unsigned kind); /* "promote"; "?" */
bool log_kind_asynchronous(unsigned kind);
unsigned log_kind_fields(unsigned kind); /* LOG_FIELD_*; ~0u for an unknown kind */
const char *log_rights_name(unsigned rights);

#endif
