/* SPDX-License-Identifier: MIT */
/* The flight recorder's trace as Common Trace Format 1.8: text that describes it, and packets.
 *
 * A trace is a directory: `metadata` (TSDL text, made from the table of markers) and a stream a
 * CPU, `cpu0` …, each a row of packets: a header, then the events as they lie in the ring. An
 * event's id is the index of its site among all sites; one more id, the last, is for probed
 * instructions without a site. Names of fields get a `_` in front, which readers take away again:
 * without it they could not be words of TSDL.
 *
 * Pure. Source: the Common Trace Format specification, version 1.8.3, sections 4 to 7 and C.
 */
#ifndef KERNEL_CTF_H
#define KERNEL_CTF_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/flight_ring.h"

struct marker_site;

struct ctf_trace {
    uint8_t uuid[16];
    uint64_t tsc_hz;
    uint32_t cpu_count;
    const struct marker_site *sites; /* [site_count] */
    uint32_t site_count;
    struct flight_layouts layouts; /* of site_count + 1 */
};

struct ctf_packet_header {
    uint32_t magic;
    uint8_t uuid[16];
    uint32_t stream_id;
    uint64_t timestamp_begin, timestamp_end;
    uint64_t content_size, packet_size; /* bits */
    uint64_t packet_seq_num;
    uint64_t events_discarded;
    uint32_t cpu_id;
    uint32_t padding; /* events are aligned to 8 bytes */
};
_Static_assert(sizeof(struct ctf_packet_header) == 80, "as metadata says");

/* Fills in table[site_count + 1], for trace->layouts. */
void ctf_make_layouts(struct flight_layout *table, const struct marker_site *sites,
                      uint32_t site_count);

/* The text of metadata. As format_text(): writes at most size - 1 bytes and a 0, returns the whole
 * length. */
size_t ctf_format_metadata(char *out, size_t size, const struct ctf_trace *trace);

/* What stands before the events of a packet that flight_ring_copy() gave. */
void ctf_fill_header(struct ctf_packet_header *header, const struct ctf_trace *trace, uint32_t cpu,
                     const struct flight_packet *packet, const uint64_t *words);

#endif
