/* SPDX-License-Identifier: MIT */
/* The format of a recording's event streams: one header for the kernel and the host tools.
 *
 * A stream holds the events of one thread in order; an event's number is its place, from 1. It is
 * cut into blocks, each of which can be decoded by itself: the coder's state starts afresh there.
 *
 * An event is coded as
 *   u8      kind | LOG_SAME_POINT
 *   unless LOG_SAME_POINT (the point is that of the event before, in the same block):
 *     varint  ticks - last ticks
 *     svarint rip - last rip
 *     svarint rcx - last rcx
 *     u32     check, little-endian
 *   then those of these fields that the kind has, in this order:
 *     PAGE    svarint  page number - last page number (address / 4096)
 *     RIGHTS  u8       enum log_rights, and LOG_RIGHTS_EXECUTE
 *     A, B    varint
 *     DEPS    varint   how many; for each: varint slot, varint event number
 * varint: little-endian groups of 7 bits, top bit = more follows. svarint: zigzag, then varint.
 * "Last" values are 0 at the start of a block.
 *
 * A change of anything here changes LOG_FORMAT_VERSION; tests/host/test_log.c holds a digest of the
 * layout and fails when only one of them changes.
 */
#ifndef REPLAY_LOG_FORMAT_H
#define REPLAY_LOG_FORMAT_H

#include <stdint.h>

#define LOG_FORMAT_VERSION 1
#define LOG_MAX_SLOTS 64 /* threads of one recording, the ended ones included */
#define LOG_MAX_DEPS LOG_MAX_SLOTS
#define LOG_SAME_POINT 0x80

/* What a tick is. COND: retired user-mode conditional branches. ALL: all retired user-mode
 * branches, far transfers (calls of the kernel, INT n, IRET) not counted. */
#define LOG_UNIT_TABLE(X)                                                                          \
    X(0, COND, "cond")                                                                             \
    X(1, ALL, "all")

enum log_unit {
#define X(number, name, text) LOG_UNIT_##name = number,
    LOG_UNIT_TABLE(X)
#undef X
};

enum log_rights {
    LOG_RIGHTS_NONE,
    LOG_RIGHTS_READ,
    LOG_RIGHTS_WRITE,
};
#define LOG_RIGHTS_MASK 3
#define LOG_RIGHTS_EXECUTE 4 /* added to the others by PROMOTE: the mapping allows that, too */

/* A place in one thread's execution. check: a hash of the general registers, which tells
 * apart what ticks, RIP and RCX do not (a function without conditional branches that is
 * called twice) and finds a divergence where it begins. */
struct log_point {
    uint64_t ticks, rip, rcx;
    uint32_t check;
};

struct log_dep {
    uint32_t slot;
    uint64_t event;
};

#define LOG_FIELD_PAGE 1
#define LOG_FIELD_RIGHTS 2
#define LOG_FIELD_A 4
#define LOG_FIELD_B 8
#define LOG_FIELD_DEPS 16

/* E(number, NAME, text, asynchronous, fields)
 * Asynchronous events do not come by themselves in a replay: it must stop the thread there. */
#define LOG_EVENT_TABLE(E)                                                                         \
    /* the view gains rights on page, at a fault or for a system call */                           \
    E(1, PROMOTE, "promote", 0, LOG_FIELD_PAGE | LOG_FIELD_RIGHTS | LOG_FIELD_DEPS)                \
    /* the view is left with rights on page */                                                     \
    E(2, DEMOTE, "demote", 1, LOG_FIELD_PAGE | LOG_FIELD_RIGHTS)                                   \
    /* a: number */                                                                                \
    E(3, SYSCALL, "syscall", 0, LOG_FIELD_A)                                                       \
    /* a: RAX; its point is the one at which the thread goes on */                                 \
    E(4, RESULT, "result", 0, LOG_FIELD_A)                                                         \
    /* a: enum object_id; the system call uses that kernel object */                               \
    E(5, ORDER, "order", 0, LOG_FIELD_A | LOG_FIELD_DEPS)                                          \
    /* the system call copies from or to page, which the view holds */                             \
    E(6, ACCESS, "access", 0, LOG_FIELD_PAGE | LOG_FIELD_RIGHTS)                                   \
    /* the system call was refused page: no mapping, no right */                                   \
    E(7, REFUSED, "refused", 0, LOG_FIELD_PAGE | LOG_FIELD_RIGHTS | LOG_FIELD_DEPS)                \
    /* a: enum value_kind, b: the value */                                                         \
    E(8, VALUE, "value", 0, LOG_FIELD_A | LOG_FIELD_B)                                             \
    /* rec_owner: a: pages held, b: hash of which */                                               \
    E(9, OWNER, "owner", 0, LOG_FIELD_A | LOG_FIELD_B)                                             \
    /* the thread is stopped here: end of the recording or of its process */                       \
    E(10, STOP, "stop", 1, 0)                                                                      \
    /* the thread ends itself; a: status */                                                        \
    E(11, EXIT, "exit", 0, LOG_FIELD_A)                                                            \
    /* an exception ends the process; a: vector | error << 32, b: address */                       \
    E(12, FATAL, "fatal", 0, LOG_FIELD_A | LOG_FIELD_B | LOG_FIELD_DEPS)                           \
    /* munmap or mprotect has taken page from the views that held it */                            \
    E(13, REVOKE, "revoke", 0, LOG_FIELD_PAGE | LOG_FIELD_DEPS)

enum log_kind {
#define E(number, name, text, asynchronous, fields) LOG_##name = number,
    LOG_EVENT_TABLE(E)
#undef E
};

#endif
