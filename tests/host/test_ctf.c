/* SPDX-License-Identifier: MIT */
/* Common Trace Format: what kernel/ctf.c says about events of all types, and rings full of them, is
 * read by babeltrace2, which must give back every field of every event and have nothing to complain
 * about.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "kernel/ctf.h"
#include "kernel/marker.h"
#include "tests/host/random.h"
#include "tests/host/tap.h"

#define CPUS 3
#define EVENTS 4000 /* a CPU: several packets */
#define LINE_MAX_LENGTH 1024

/* One of all types, words of TSDL as names, none, and only strings. */
static const struct marker_site sites[] = {
    {.name = "all_types",
     .argument_count = 6,
     .argument_names = {"string", "event", "align", "integer", "stream", "_under"},
     .argument_types = {MARKER_STRING, MARKER_U8, MARKER_S16, MARKER_U64, MARKER_S64,
                        MARKER_POINTER}},
    {.name = "nothing"},
    {.name = "strings",
     .argument_count = 2,
     .argument_names = {"first", "second"},
     .argument_types = {MARKER_STRING, MARKER_STRING}},
    {.name = "small",
     .argument_count = 5,
     .argument_names = {"b", "s8", "u16", "s32", "u32"},
     .argument_types = {MARKER_BOOL, MARKER_S8, MARKER_U16, MARKER_S32, MARKER_U32}},
    {.name = "nothing"}, /* another site of that name */
};
#define SITES (sizeof sites / sizeof sites[0])
#define PROBE_ID SITES

static char directory[64] = "build/tests/ctf-XXXXXX";
static struct flight_layout table[SITES + 1];
static struct ctf_trace trace;
static struct flight_ring rings[CPUS];
static uint64_t words[CPUS][FLIGHT_RING_BYTES / 8];

/* What babeltrace2 must print for each event, in its order: by time. */
struct expected {
    uint64_t time;
    char text[512];
};
static struct expected *expected;
static unsigned expected_count;

static const char *path_of(const char *name)
{
    static char path[200];

    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

/* --- events --- */

static const char *random_text(uint64_t *seed)
{
    static const char *const texts[] = {
        NULL,
        "",
        "x",
        "crew",
        "a wait for the end of a hold",
        "thirty-one characters, no more!",
        "more than thirty-one characters: what does not fit is cut off",
        "ümläut",
    };
    return texts[random_below(seed, sizeof texts / sizeof texts[0])];
}

/* As a marker widens it. */
static uint64_t random_value(uint64_t *seed, enum marker_type type)
{
    static const uint64_t edges[] = {0, 1, ~0ull, 1ull << 63, ~0ull >> 1, 0x8080808080808080ull};
    uint64_t value = random_below(seed, 3) ? random_u64(seed) : edges[random_below(seed, 6)];

    switch (type) {
    case MARKER_BOOL:
        return value & 1;
    case MARKER_U8:
        return (uint8_t)value;
    case MARKER_S8:
        return (uint64_t)(int8_t)value;
    case MARKER_U16:
        return (uint16_t)value;
    case MARKER_S16:
        return (uint64_t)(int16_t)value;
    case MARKER_U32:
        return (uint32_t)value;
    case MARKER_S32:
        return (uint64_t)(int32_t)value;
    default:
        return value;
    }
}

static int format_value(char *out, size_t size, enum marker_type type, uint64_t value)
{
    if (type == MARKER_STRING)
        return snprintf(out, size, "\"%.31s\"",
                        value == 0       ? "(null)"
                        : *(char *)value ? (char *)value
                                         : "(empty)");
    if (type == MARKER_POINTER)
        return snprintf(out, size, "0x%" PRIX64, value);
    if (marker_type_is_signed(type))
        return snprintf(out, size, "%" PRId64, (int64_t)value);
    return snprintf(out, size, "%" PRIu64, value);
}

static void expect(unsigned cpu, uint32_t id, uint32_t thread, const uint64_t *args)
{
    struct expected *event = &expected[expected_count++];
    const struct marker_site probe = {.name = "probe",
                                      .argument_count = 1,
                                      .argument_names = {"address"},
                                      .argument_types = {MARKER_POINTER}};
    const struct marker_site *site = id == PROBE_ID ? &probe : &sites[id];
    uint64_t place = rings[cpu].reserved - table[id].bytes;
    char *out = event->text, *end = event->text + sizeof event->text;

    event->time = words[cpu][place % FLIGHT_RING_BYTES / 8];
    out += snprintf(out, end - out, "[%020" PRIu64 "] %s: { cpu_id = %u }, { thread = %u }, {",
                    event->time, site->name, cpu, thread);
    for (unsigned i = 0; i < site->argument_count; i++) {
        out += snprintf(out, end - out, "%s %s = ", i ? "," : "", site->argument_names[i]);
        out += format_value(out, end - out, site->argument_types[i], args[i]);
    }
    snprintf(out, end - out, " }");
}

static void write_event(unsigned cpu, uint64_t *seed)
{
    uint32_t id = (uint32_t)random_below(seed, SITES + 1), thread = (uint32_t)random_u64(seed);
    uint64_t args[FLIGHT_MAX_ARGS];

    for (unsigned i = 0; i < FLIGHT_MAX_ARGS; i++) {
        enum marker_type type = id == PROBE_ID ? MARKER_POINTER : sites[id].argument_types[i];
        args[i] = type == MARKER_STRING ? (uint64_t)random_text(seed) : random_value(seed, type);
    }
    flight_ring_write(&rings[cpu], &table[id], id, &thread, args);
    expect(cpu, id, thread, args);
}

/* --- files --- */

static void write_metadata(void)
{
    static char text[20000];
    size_t length = ctf_format_metadata(text, sizeof text, &trace);
    FILE *file = fopen(path_of("metadata"), "wb");

    is_u64(ctf_format_metadata(NULL, 0, &trace), length, "the length of metadata is known before");
    fwrite(text, 1, length, file);
    fclose(file);
}

static unsigned write_stream(unsigned cpu)
{
    static uint64_t copy[FLIGHT_SUB_BYTES / 8];
    char name[16];
    uint64_t first, end;
    struct flight_packet packet;
    struct ctf_packet_header header;

    snprintf(name, sizeof name, "cpu%u", cpu);
    FILE *file = fopen(path_of(name), "wb");
    flight_ring_range(&rings[cpu], &first, &end);
    for (uint64_t at = first; at < end; at++) {
        flight_ring_copy(&rings[cpu], at, &trace.layouts, 0, copy, &packet);
        ctf_fill_header(&header, &trace, cpu, &packet, copy);
        fwrite(&header, 1, sizeof header, file);
        fwrite(copy, 1, packet.bytes, file);
    }
    fclose(file);
    return (unsigned)(end - first);
}

/* --- babeltrace2 --- */

static int by_time(const void *a, const void *b)
{
    uint64_t left = ((const struct expected *)a)->time, right = ((const struct expected *)b)->time;

    return left < right ? -1 : left > right;
}

static void compare(FILE *pipe)
{
    char line[LINE_MAX_LENGTH];
    unsigned count = 0, different = 0;

    for (; fgets(line, sizeof line, pipe); count++) {
        line[strcspn(line, "\n")] = '\0';
        if (count < expected_count && strcmp(line, expected[count].text) == 0)
            continue;
        if (different++ < 5)
            diag("got %s, expected %s", line, count < expected_count ? expected[count].text : "-");
    }
    is_u64(count, expected_count, "babeltrace2 finds all events");
    is_u64(different, 0, "in their order, each field as it was written");
}

static void run_babeltrace(void)
{
    char command[300];

    snprintf(command, sizeof command, "babeltrace2 --clock-cycles --no-delta %s 2>%s/../ctf.stderr",
             directory, directory);
    qsort(expected, expected_count, sizeof *expected, by_time);
    FILE *pipe = popen(command, "r");
    compare(pipe);
    is_u64((uint64_t)pclose(pipe), 0, "babeltrace2 succeeds");
    struct stat status;
    ok(stat("build/tests/ctf.stderr", &status) == 0 && status.st_size == 0,
       "and has nothing to complain about");
}

static void test_trace(void)
{
    uint64_t seed = 5;

    ctf_make_layouts(table, sites, SITES);
    trace = (struct ctf_trace){
        .uuid = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
        .tsc_hz = 2096016000,
        .cpu_count = CPUS,
        .sites = sites,
        .site_count = SITES,
        .layouts = {table, SITES + 1},
    };
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        flight_ring_reset(&rings[cpu], words[cpu], true);
    for (unsigned i = 0; i < EVENTS; i++)
        for (unsigned cpu = 0; cpu < CPUS; cpu++)
            write_event(cpu, &seed);
    write_metadata();
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        ok(write_stream(cpu) > 5, "CPU %u has several packets", cpu);
    if (system("command -v babeltrace2 >/dev/null") != 0)
        skip("reading it", "no babeltrace2 here");
    else
        run_babeltrace();
}

int main(void)
{
    char command[100];

    expected = malloc(CPUS * EVENTS * sizeof *expected);
    mkdir("build/tests", 0777);
    if (!expected || !mkdtemp(directory))
        return 1;
    test_trace();
    snprintf(command, sizeof command, "rm -rf %s", directory);
    free(expected);
    return system(command) == 0 ? done() : 1;
}
