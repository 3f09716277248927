/* SPDX-License-Identifier: MIT */
/* The flight recorder's ring of one CPU: events of that CPU, written from any context, read by
 * anybody at any time.
 *
 * A ring is FLIGHT_SUBS sub-buffers. `reserved` counts bytes since the beginning and never goes
 * back; its place in the ring is its rest. Events never span two sub-buffers, and none ends where
 * its sub-buffer does: the first event that does not fit closes it, and what is left there is
 * padding.
 *
 * Writing, wait-free: (1) look where the event would go; (2) read the clock; (3) reserve the place
 * by one local compare-exchange, which fails only when an interrupt or NMI of this CPU wrote in
 * between, so that times never go back within a ring; (4) fill it in; (5) add its size to the
 * sub-buffer's `committed`. After RESERVE_TRIES such interruptions the event counts as lost.
 * Padding is committed by whoever closes a sub-buffer, after `content`. So committed is the size of
 * a sub-buffer times its laps exactly when nothing in it is half-written. A sub-buffer is entered
 * again only then: an event that lies under a whole ring of nested ones makes those count as lost,
 * instead of writing into a later lap.
 *
 * Reading: flight_ring_copy() copies a sub-buffer and then looks whether `reserved` has come
 * around. In the sub-buffer that is being written, and for CPUs that were stopped in the middle of
 * an event, it takes what is whole.
 *
 * Pure: also runs on the host, where signals stand for interrupts (tests/host/test_flight_ring.c).
 */
#ifndef KERNEL_FLIGHT_RING_H
#define KERNEL_FLIGHT_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLIGHT_SUBS 16u
#define FLIGHT_SUB_BYTES 32768u
#define FLIGHT_RING_BYTES (FLIGHT_SUBS * FLIGHT_SUB_BYTES)

#define FLIGHT_MAX_ARGS 6
/* Of a string: whoever reads it finds it cut off after 31 characters, filled up with zeros. No
 * string becomes "(null)", an empty one "(empty)": babeltrace2 2.0.4 would show the one before it.
 */
#define FLIGHT_STRING_BYTES 32
#define FLIGHT_HEADER_BYTES 16

enum flight_tail { FLIGHT_TAIL_NONE, FLIGHT_TAIL_STRING, FLIGHT_TAIL_MIXED };

/* What an event looks like, by its id: a header of two words, then a word an argument, for a string
 * FLIGHT_STRING_BYTES. Writing is fast when there is no string but the last argument. */
struct flight_layout {
    uint16_t bytes;    /* header included */
    uint8_t leading;   /* arguments before the first string */
    uint8_t tail;      /* enum flight_tail: what follows these */
    uint8_t arg_count; /* FLIGHT_MAX_ARGS at most */
    uint8_t strings;   /* bit i: argument i is a string */
    uint8_t unused[2];
};

struct flight_layouts {
    const struct flight_layout *table;
    uint32_t count;
};

/* The ring's CPU writes, all read. */
struct flight_sub {
    uint64_t committed;
    uint64_t content; /* bytes of events, once it is closed */
    uint64_t lost;    /* the ring's, when it was closed */
    uint64_t opened;  /* a time between its previous lap and its first event */
};

struct flight_ring {
    uint64_t reserved; /* the ring's CPU writes, all read */
    uint64_t lost;     /* the same: events that found no place */
    uint64_t limit;    /* fixed while written to: no sub-buffer is entered from here on */
    uint64_t *words;   /* fixed; FLIGHT_RING_BYTES */
    struct flight_sub subs[FLIGHT_SUBS];
};

struct flight_layout flight_layout_make(unsigned arg_count, unsigned strings);

/* Empties it; nobody may write meanwhile. overwrite: the oldest sub-buffer gives way; else the ring
 * stops when it is full. */
void flight_ring_reset(struct flight_ring *ring, uint64_t *words, bool overwrite);

/* One that never takes anything. */
void flight_ring_refuse(struct flight_ring *ring);

/* On the ring's CPU, in any context. ERR_LOG_FULL, and counted: there was no place. What `thread`
 * points to is read. */
int flight_ring_write(struct flight_ring *ring, const struct flight_layout *layout, uint64_t id,
                      const uint32_t *thread, const uint64_t *args);

/* The sub-buffers that hold something, from *first to before *end, counted since the beginning. */
void flight_ring_range(const struct flight_ring *ring, uint64_t *first, uint64_t *end);

struct flight_packet {
    uint64_t sequence;
    uint32_t bytes;  /* of events */
    uint64_t lost;   /* by the ring, up to its end */
    bool incomplete; /* the CPU stopped, or was very busy, in the middle of an event: up to there */
};

/* Copies sub-buffer `sequence` to `out` (FLIGHT_SUB_BYTES). False when it was overwritten
 * meanwhile. patience: how often to look again for a moment in which its CPU is not writing. */
bool flight_ring_copy(const struct flight_ring *ring, uint64_t sequence,
                      const struct flight_layouts *layouts, unsigned patience, uint64_t *out,
                      struct flight_packet *packet);

/* --- reading events --- */

struct flight_event {
    uint64_t timestamp; /* TSC */
    uint32_t id, thread;
    const uint64_t *args; /* as layout says: words and strings */
};

/* The event at *offset, which moves behind it; false at the end of `bytes`, or at what is none. */
bool flight_event_next(const uint64_t *words, uint32_t bytes, uint32_t *offset,
                       const struct flight_layouts *layouts, struct flight_event *event);

#endif
