/* SPDX-License-Identifier: MIT */
/* The trace to the outside: files of Common Trace Format. Context: thread. */
#include "arch/x86/cpu.h"
#include "kernel/err.h"
#include "kernel/flight.h"
#include "kernel/printf.h"
#include "kernel/send.h"
#include "mm/heap.h"

struct totals {
    uint64_t events, bytes, lost;
    uint32_t streams;
};

static int send_metadata(struct send_file *file)
{
    const struct ctf_trace *trace = flight_trace();
    size_t length = ctf_format_metadata(NULL, 0, trace);
    char *text = kmalloc(length + 1);
    if (!text)
        return ERR_NO_MEMORY;
    ctf_format_metadata(text, length + 1, trace);
    send_file_begin(file, "trace/metadata", length);
    send_data(file, text, length);
    kfree(text);
    return send_file_end(file);
}

static uint64_t stream_size(const struct flight_snapshot *snapshot)
{
    uint64_t size = 0;
    for (uint32_t i = 0; i < snapshot->packet_count; i++)
        size += sizeof(struct ctf_packet_header) + snapshot->packets[i].bytes;
    return size;
}

static int send_stream(struct send_file *file, const struct flight_snapshot *snapshot)
{
    char name[24];
    format_text(name, sizeof(name), "trace/cpu%u", snapshot->cpu);
    send_file_begin(file, name, stream_size(snapshot));
    for (uint32_t i = 0; i < snapshot->packet_count; i++) {
        const struct flight_packet *packet = &snapshot->packets[i];
        const uint64_t *words = snapshot->words + i * (FLIGHT_SUB_BYTES / 8);
        struct ctf_packet_header header;
        ctf_fill_header(&header, flight_trace(), snapshot->cpu, packet, words);
        send_data(file, &header, sizeof(header));
        send_data(file, words, packet->bytes);
    }
    return send_file_end(file);
}

static void add_totals(struct totals *totals, const struct flight_snapshot *snapshot)
{
    struct flight_cursor cursor = {0};
    struct flight_event event;
    while (flight_snapshot_next(snapshot, &cursor, &event))
        totals->events++;
    totals->bytes += stream_size(snapshot);
    totals->lost += snapshot->packets[snapshot->packet_count - 1].lost;
    totals->streams++;
}

static int send_streams(struct send_file *file, struct totals *totals)
{
    struct flight_snapshot snapshot;
    int error = flight_snapshot_alloc(&snapshot);
    for (uint32_t cpu = 0; cpu < cpu_count && !error; cpu++) {
        flight_snapshot_take(&snapshot, cpu);
        if (snapshot.packet_count == 0)
            continue;
        error = send_stream(file, &snapshot);
        add_totals(totals, &snapshot);
    }
    flight_snapshot_free(&snapshot);
    return error;
}

int flight_save(void)
{
    struct totals totals = {0};
    struct send_file *file = kmalloc(sizeof(*file));
    if (!file)
        return ERR_NO_MEMORY;
    int error = send_metadata(file);
    if (!error)
        error = send_streams(file, &totals);
    kfree(file);
    if (!error)
        printk("@trace saved=trace streams=%u events=%lu bytes=%lu lost=%lu port=%s\n",
               totals.streams, totals.events, totals.bytes, totals.lost, send_port_name());
    return error;
}
