/* SPDX-License-Identifier: MIT */
/* Events as text: one of them, the last ones of all CPUs, the last ones of each CPU in a panic. */
#include "arch/x86/cpu.h"
#include "arch/x86/timer.h"
#include "kernel/err.h"
#include "kernel/flight.h"
#include "kernel/marker.h"
#include "kernel/printf.h"
#include "kernel/symbols.h"
#include "mm/heap.h"

#define EVENT_TEXT_MAX 512
#define PANIC_EVENTS 16u

/* --- one event --- */

struct line {
    char *out;
    size_t size;
    int length;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line, const char *format, ...)
{
    size_t used = (size_t)line->length < line->size ? (size_t)line->length : line->size;
    va_list arguments;
    va_start(arguments, format);
    line->length += format_text_va(line->out + used, line->size - used, format, arguments);
    va_end(arguments);
}

/* Returns how many words the argument takes. */
static unsigned add_argument(struct line *line, enum marker_type type, const uint64_t *arg)
{
    if (type == MARKER_STRING) {
        add(line, "\"%s\"", (const char *)arg);
        return FLIGHT_STRING_BYTES / 8;
    }
    if (type == MARKER_POINTER)
        add(line, "0x%lx", *arg);
    else if (marker_type_is_signed(type))
        add(line, "%ld", (int64_t)*arg);
    else
        add(line, "%lu", *arg);
    return 1;
}

/* "[   12.345678901] cpu 1 thread 7 crew_promote page=0x7fff0000 write=1"; as format_text(). */
static int format_event(char *out, size_t size, const struct flight_event *event, uint32_t cpu)
{
    const struct ctf_trace *trace = flight_trace();
    struct line line = {.out = out, .size = size};
    uint64_t ns = timer_tsc_to_ns(event->timestamp);
    const uint64_t *arg = event->args;
    add(&line, "[%5lu.%09lu] cpu %u thread %u ", ns / 1000000000, ns % 1000000000, cpu,
        event->thread);
    if (event->id == trace->site_count) {
        char where[96];
        add(&line, "probe address=%s", symbol_format(where, sizeof(where), *arg));
        return line.length;
    }
    const struct marker_site *site = &trace->sites[event->id];
    add(&line, "%s", site->name);
    for (unsigned i = 0; i < site->argument_count; i++) {
        add(&line, " %s=", site->argument_names[i]);
        arg += add_argument(&line, site->argument_types[i], arg);
    }
    return line.length;
}

static void print_event(const struct flight_event *event, uint32_t cpu)
{
    char text[EVENT_TEXT_MAX];
    format_event(text, sizeof(text), event, cpu);
    printk("%s\n", text);
}

/* --- the last ones of all CPUs --- */

/* One CPU's, in a merge by time. */
struct source {
    struct flight_snapshot snapshot;
    struct flight_cursor cursor;
    struct flight_event next;
    bool more;
};

static void source_advance(struct source *source)
{
    source->more = flight_snapshot_next(&source->snapshot, &source->cursor, &source->next);
}

static uint64_t source_count(const struct source *source)
{
    struct flight_cursor cursor = {0};
    struct flight_event event;
    uint64_t count = 0;
    while (flight_snapshot_next(&source->snapshot, &cursor, &event))
        count++;
    return count;
}

static struct source *earliest(struct source *sources)
{
    struct source *best = NULL;
    for (uint32_t i = 0; i < cpu_count; i++)
        if (sources[i].more && (!best || sources[i].next.timestamp < best->next.timestamp))
            best = &sources[i];
    return best;
}

static void print_last(struct source *sources, uint64_t count)
{
    uint64_t total = 0, lost = 0, at = 0;
    struct source *source;
    for (uint32_t i = 0; i < cpu_count; i++) {
        const struct flight_ring *ring = flight_ring_of(i);
        total += source_count(&sources[i]);
        lost += ring ? __atomic_load_n(&ring->lost, __ATOMIC_RELAXED) : 0;
        source_advance(&sources[i]);
    }
    for (; (source = earliest(sources)) != NULL; source_advance(source))
        if (at++ + count >= total)
            print_event(&source->next, source->snapshot.cpu);
    printk("@trace events=%lu shown=%lu lost=%lu\n", total, total < count ? total : count, lost);
}

int flight_dump(uint64_t count)
{
    struct source *sources = kzalloc(cpu_count * sizeof(*sources));
    int error = sources ? 0 : ERR_NO_MEMORY;
    for (uint32_t i = 0; i < cpu_count && !error; i++) {
        error = flight_snapshot_alloc(&sources[i].snapshot);
        if (!error)
            flight_snapshot_take(&sources[i].snapshot, i);
    }
    if (!error)
        print_last(sources, count);
    for (uint32_t i = 0; i < cpu_count && sources; i++)
        flight_snapshot_free(&sources[i].snapshot);
    kfree(sources);
    return error;
}

/* --- panic --- */

static uint64_t panic_words[FLIGHT_SUB_BYTES / 8];

/* Events of one sub-buffer. Prints those from the `skip`th on, or none. Returns their number. */
static uint32_t walk_sub(const struct flight_ring *ring, uint64_t sequence, uint32_t cpu,
                         bool print, uint32_t skip)
{
    struct flight_packet packet;
    struct flight_event event;
    uint32_t offset = 0, count = 0;
    if (!flight_ring_copy(ring, sequence, &flight_trace()->layouts, 0, panic_words, &packet))
        return 0;
    while (flight_event_next(panic_words, packet.bytes, &offset, &flight_trace()->layouts, &event))
        if (count++ >= skip && print)
            print_event(&event, cpu);
    if (print && packet.incomplete)
        printk("  (CPU %u stopped in the middle of the next one)\n", cpu);
    return count;
}

static void report_cpu(uint32_t cpu, const struct flight_ring *ring)
{
    uint64_t first, end, from;
    uint32_t wanted = PANIC_EVENTS, skip = 0;
    flight_ring_range(ring, &first, &end);
    if (first == end)
        return;
    printk("last events of CPU %u:\n", cpu);
    for (from = end; from > first && wanted > 0; from--) {
        uint32_t count = walk_sub(ring, from - 1, cpu, false, 0);
        skip = count > wanted ? count - wanted : 0;
        wanted -= count - skip;
    }
    for (; from < end; from++, skip = 0)
        walk_sub(ring, from, cpu, true, skip);
}

void flight_report_panic(void)
{
    for (uint32_t i = 0; i < cpu_count; i++)
        if (flight_ring_of(i))
            report_cpu(i, flight_ring_of(i));
}
