/* SPDX-License-Identifier: MIT */
/* The flight recorder: its rings, what it records, starting and stopping.
 *
 * Locks: F = flight_mutex. The record function takes none; it runs in any context.
 */
#include "kernel/flight.h"

#include "arch/x86/cpu.h"
#include "arch/x86/layout.h"
#include "kernel/err.h"
#include "kernel/hash.h"
#include "kernel/marker.h"
#include "kernel/panic.h"
#include "kernel/printf.h"
#include "kernel/probe.h"
#include "kernel/string.h"
#include "kernel/thread.h"
#include "kernel/waitqueue.h"
#include "mm/frames.h"
#include "mm/heap.h"

#define TYPE_NAME "flight"
#define RING_ORDER 7
#define READ_PATIENCE 100000u

_Static_assert(PAGE_SIZE << RING_ORDER == FLIGHT_RING_BYTES, "a ring is one block of frames");

static struct {
    struct flight_ring ring; /* words: NULL when memory had run out at boot */
} __attribute__((aligned(64))) rings[MAX_CPUS];
static struct flight_ring *ring_of[MAX_CPUS]; /* the same; fixed */

static struct mutex flight_mutex;
static struct ctf_trace trace;        /* F: uuid; the rest is fixed */
static struct flight_layout *layouts; /* fixed; [trace.site_count + 1] */
static bool overwrite = true;         /* F */

/* --- writing: any context --- */

static inline void write_event(uint64_t cpu, uint64_t id, const uint64_t *args)
{
    flight_ring_write(ring_of[cpu], &layouts[id], id, &current_thread()->id, args);
}

NOPROBE static void record_site(const struct marker_site *site, const uint64_t *args, uint64_t cpu)
{
    write_event(cpu, (uint64_t)(site - trace.sites), args);
}

NOPROBE static void record_instruction(const uint64_t *address)
{
    write_event(this_cpu()->index, trace.site_count, address);
}

NOPROBE static void record(struct probe *probe, const struct probe_hit *hit)
{
    (void)probe;
    if (hit->site)
        record_site(hit->site, hit->args, this_cpu()->index);
    else
        record_instruction(&hit->address);
}

static const struct probe_type flight_type = {
    .name = TYPE_NAME,
    .help = "write into the flight recorder's ring (command trace)",
    .flags = PROBE_NMI_SAFE,
    .function = record,
    .leaf = record_site,
};

/* --- what is recorded --- */

static void note_flight(const struct probe *probe, void *found)
{
    if (strcmp(probe->name, TYPE_NAME) == 0)
        *(bool *)found = true;
}

static bool chain_is_traced(struct probe_chain *chain)
{
    bool found = false;
    if (chain)
        probe_chain_for_each(chain, note_flight, &found);
    return found;
}

uint32_t flight_traced_count(void)
{
    uint32_t count = 0;
    for (struct probe_chain *at = NULL; (at = probe_chain_next(at)) != NULL;)
        count += chain_is_traced(at);
    return count;
}

/* A number that no other trace has, of this boot or another: RFC 4122, random. */
static void make_uuid(uint8_t uuid[16])
{
    struct hash hash;
    uint64_t seeds[] = {cpu_rdtsc(), trace.tsc_hz, (uint64_t)current_thread()};
    hash_init(&hash, 16);
    hash_update(&hash, uuid, 16); /* the one before */
    hash_update(&hash, seeds, sizeof(seeds));
    hash_final(&hash, uuid);
    uuid[6] = (uuid[6] & 0x0f) | 0x40;
    uuid[8] = (uuid[8] & 0x3f) | 0x80;
}

/* F held, and nothing recorded: nobody is in a ring. */
static void begin_trace(void)
{
    for (uint32_t i = 0; i < cpu_count; i++)
        if (rings[i].ring.words)
            flight_ring_reset(&rings[i].ring, rings[i].ring.words, overwrite);
    make_uuid(trace.uuid);
}

/* F held. */
static int attach_matching(const char *glob)
{
    int error = 0;
    for (uint32_t i = 0; i < marker_count() && !error; i++) {
        const char *name = marker_at(i)->name;
        if (marker_name_matches(glob, name) && !chain_is_traced(probe_chain_find(name)))
            error = probe_attach(TYPE_NAME, name);
    }
    return error;
}

/* Probes first, so that markers that are off are all patched in one batch. */
int flight_start(const char *glob)
{
    mutex_lock(&flight_mutex);
    if (flight_traced_count() == 0)
        begin_trace();
    int error = attach_matching(glob);
    if (!error)
        error = marker_set(glob, true);
    mutex_unlock(&flight_mutex);
    return error;
}

static int stop_marker(const char *name)
{
    struct probe_chain *chain = probe_chain_find(name);
    if (!chain_is_traced(chain))
        return 0;
    int error = probe_detach(TYPE_NAME, name);
    if (!error && probe_chain_empty(chain))
        error = marker_set(name, false);
    return error;
}

int flight_stop(const char *glob)
{
    int error = glob ? ERR_NOT_FOUND : 0;
    mutex_lock(&flight_mutex);
    for (uint32_t i = 0; i < marker_count(); i++) {
        const char *name = marker_at(i)->name;
        if (glob && !marker_name_matches(glob, name))
            continue;
        int result = stop_marker(name);
        error = result || error == ERR_NOT_FOUND ? result : error;
    }
    mutex_unlock(&flight_mutex);
    return error;
}

int flight_set_overwrite(bool wanted)
{
    mutex_lock(&flight_mutex);
    int error = flight_traced_count() > 0 && wanted != overwrite ? ERR_BUSY : 0;
    if (!error)
        overwrite = wanted;
    mutex_unlock(&flight_mutex);
    return error;
}

bool flight_overwrites(void)
{
    return overwrite;
}

const struct flight_ring *flight_ring_of(uint32_t cpu)
{
    return rings[cpu].ring.words ? &rings[cpu].ring : NULL;
}

const struct ctf_trace *flight_trace(void)
{
    return &trace;
}

/* --- snapshots --- */

int flight_snapshot_alloc(struct flight_snapshot *snapshot)
{
    uint64_t frame = frames_alloc(RING_ORDER);
    snapshot->words = frame ? PHYS_TO_VIRT(frame) : NULL;
    snapshot->packet_count = 0;
    return frame ? 0 : ERR_NO_MEMORY;
}

void flight_snapshot_free(struct flight_snapshot *snapshot)
{
    if (snapshot->words)
        frames_free(VIRT_TO_PHYS(snapshot->words), RING_ORDER);
    snapshot->words = NULL;
}

void flight_snapshot_take(struct flight_snapshot *snapshot, uint32_t cpu)
{
    const struct flight_ring *ring = flight_ring_of(cpu);
    uint64_t first = 0, end = 0;
    snapshot->cpu = cpu;
    snapshot->packet_count = 0;
    if (ring)
        flight_ring_range(ring, &first, &end);
    for (uint64_t at = first; at < end; at++) {
        struct flight_packet *packet = &snapshot->packets[snapshot->packet_count];
        uint64_t *to = snapshot->words + snapshot->packet_count * (FLIGHT_SUB_BYTES / 8);
        if (flight_ring_copy(ring, at, &trace.layouts, READ_PATIENCE, to, packet) && packet->bytes)
            snapshot->packet_count++;
    }
}

bool flight_snapshot_next(const struct flight_snapshot *snapshot, struct flight_cursor *cursor,
                          struct flight_event *event)
{
    for (; cursor->packet < snapshot->packet_count; cursor->packet++, cursor->offset = 0)
        if (flight_event_next(snapshot->words + cursor->packet * (FLIGHT_SUB_BYTES / 8),
                              snapshot->packets[cursor->packet].bytes, &cursor->offset,
                              &trace.layouts, event))
            return true;
    return false;
}

/* --- boot --- */

static void make_rings(void)
{
    for (uint32_t i = 0; i < cpu_count; i++) {
        uint64_t frame = frames_alloc(RING_ORDER);
        ring_of[i] = &rings[i].ring;
        if (frame)
            flight_ring_reset(&rings[i].ring, PHYS_TO_VIRT(frame), overwrite);
        else
            printk("flight recorder: no memory for the ring of CPU %u, which is not recorded\n", i);
        if (!frame)
            flight_ring_refuse(&rings[i].ring);
    }
}

void flight_init(void)
{
    const struct marker_site *site = NULL;
    mutex_init(&flight_mutex, "flight recorder");
    trace.sites = marker_next_site(NULL);
    while ((site = marker_next_site(site)) != NULL)
        trace.site_count++;
    layouts = kzalloc((trace.site_count + 1) * sizeof(*layouts));
    if (!layouts)
        panic("out of memory for the flight recorder's table of events");
    ctf_make_layouts(layouts, trace.sites, trace.site_count);
    trace.layouts = (struct flight_layouts){layouts, trace.site_count + 1};
    trace.cpu_count = cpu_count;
    trace.tsc_hz = timer_tsc_hz();
    make_rings();
    probe_type_register(&flight_type);
    flight_register_command();
}
