/* SPDX-License-Identifier: MIT */
/* The flight recorder: what markers tell, in rings in memory, for a look back.
 *
 * A probe type of the name "flight" writes each hit of the markers that it is attached to into the
 * ring of the CPU where it happened (kernel/flight_ring.h), in any context, NMI included. What the
 * rings hold can be printed, sent to the outside as Common Trace Format, and is part of a panic's
 * report.
 *
 * Locks: a mutex for starting, stopping and saving. Rings: see there.
 */
#ifndef KERNEL_FLIGHT_H
#define KERNEL_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/ctf.h"
#include "kernel/flight_ring.h"

void flight_init(void); /* boot, all CPUs up, markers and probes set up: rings, type, command */

/* Records the hits of all markers whose names match, besides those that are recorded already. When
 * none is, the rings are emptied first. ERR_NOT_FOUND: no name matches. */
int flight_start(const char *glob);

/* The opposite; other probes of these markers stay. NULL: all. What was recorded stays, too. */
int flight_stop(const char *glob);

/* What happens when a ring is full: the oldest goes, or no more is recorded. ERR_BUSY: something is
 * being recorded. */
int flight_set_overwrite(bool overwrite);
bool flight_overwrites(void);

uint32_t flight_traced_count(void);                     /* chains with a flight probe */
const struct flight_ring *flight_ring_of(uint32_t cpu); /* NULL: there is no memory for one */
const struct ctf_trace *flight_trace(void);

/* --- what is in a ring, at one time --- */

struct flight_snapshot {
    uint64_t *words; /* FLIGHT_RING_BYTES: packet i at i * FLIGHT_SUB_BYTES */
    uint32_t cpu, packet_count;
    struct flight_packet packets[FLIGHT_SUBS];
};

int flight_snapshot_alloc(struct flight_snapshot *snapshot); /* ERR_NO_MEMORY */
void flight_snapshot_free(struct flight_snapshot *snapshot);
void flight_snapshot_take(struct flight_snapshot *snapshot, uint32_t cpu);

/* A place in it; start with zeros. False at the end. */
struct flight_cursor {
    uint32_t packet, offset;
};
bool flight_snapshot_next(const struct flight_snapshot *snapshot, struct flight_cursor *cursor,
                          struct flight_event *event);

/* --- out --- */

int flight_dump(uint64_t count); /* prints the last ones of all CPUs, by time */
int flight_save(void);           /* sends trace/metadata, trace/cpu0 … (kernel/send.h) */

/* The last events of each CPU. For the CPU that panics: the others are stopped. */
void flight_report_panic(void);

void flight_register_command(void);

#endif
