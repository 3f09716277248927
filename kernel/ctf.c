/* SPDX-License-Identifier: MIT */
/* Common Trace Format 1.8: metadata, and headers of packets. Pure. */
#include "kernel/ctf.h"

#include "kernel/marker.h"
#include "kernel/printf.h"
#include "kernel/string.h"

#define CTF_MAGIC 0xc1fc1fc1u
#define UUID_TEXT_SIZE 37

void ctf_make_layouts(struct flight_layout *table, const struct marker_site *sites,
                      uint32_t site_count)
{
    for (uint32_t i = 0; i < site_count; i++) {
        unsigned strings = 0;
        for (unsigned k = 0; k < sites[i].argument_count; k++)
            if (sites[i].argument_types[k] == MARKER_STRING)
                strings |= 1u << k;
        table[i] = flight_layout_make(sites[i].argument_count, strings);
    }
    table[site_count] = flight_layout_make(1, 0); /* a probed instruction: its address */
}

/* --- metadata --- */

struct text {
    char *out;
    size_t size, length;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
    bool room = text->length < text->size;
    va_list arguments;
    va_start(arguments, format);
    text->length += (size_t)format_text_va(room ? text->out + text->length : NULL,
                                           room ? text->size - text->length : 0, format, arguments);
    va_end(arguments);
}

static const char *uuid_text(char out[UUID_TEXT_SIZE], const uint8_t uuid[16])
{
    size_t used = 0;
    for (unsigned i = 0; i < 16; i++) {
        const char *dash = i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
        used += (size_t)format_text(out + used, UUID_TEXT_SIZE - used, "%s%02x", dash, uuid[i]);
    }
    return out;
}

/* Integers take 64 bits, whatever their type: so they lie in the ring. */
static const char types[] =
    "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
    "typealias integer { size = 32; align = 32; signed = false; } := uint32_t;\n"
    "typealias integer { size = 64; align = 64; signed = false; } := uint64_t;\n"
    "typealias integer { size = 64; align = 64; signed = true; } := int64_t;\n"
    "typealias integer { size = 64; align = 64; signed = false; base = 16; } := pointer_t;\n"
    "typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := char_t;\n";

static const char streams[] =
    "typealias integer { size = 64; align = 64; signed = false; map = clock.tsc.value; } "
    ":= tsc_t;\n\n"
    "stream {\n"
    "    id = 0;\n"
    "    packet.context := struct {\n"
    "        tsc_t timestamp_begin;\n"
    "        tsc_t timestamp_end;\n"
    "        uint64_t content_size;\n"
    "        uint64_t packet_size;\n"
    "        uint64_t packet_seq_num;\n"
    "        uint64_t events_discarded;\n"
    "        uint32_t cpu_id;\n"
    "    };\n"
    "    event.header := struct {\n"
    "        tsc_t timestamp;\n"
    "        uint32_t id;\n"
    "    };\n"
    "    event.context := struct {\n"
    "        uint32_t thread;\n"
    "    };\n"
    "};\n";

static void add_head(struct text *text, const struct ctf_trace *trace)
{
    char uuid[UUID_TEXT_SIZE];
    add(text, "/* CTF 1.8 */\n\n%s\n", types);
    add(text,
        "trace {\n"
        "    major = 1;\n"
        "    minor = 8;\n"
        "    uuid = \"%s\";\n"
        "    byte_order = le;\n"
        "    packet.header := struct {\n"
        "        uint32_t magic;\n"
        "        uint8_t uuid[16];\n"
        "        uint32_t stream_id;\n"
        "    };\n"
        "};\n\n",
        uuid_text(uuid, trace->uuid));
    add(text,
        "env {\n"
        "    domain = \"kernel\";\n"
        "    tracer_name = \"skeleton-crew\";\n"
        "    cpus = %u;\n"
        "};\n\n",
        trace->cpu_count);
    add(text,
        "clock {\n"
        "    name = tsc;\n"
        "    description = \"time-stamp counter\";\n"
        "    freq = %lu;\n"
        "    offset = 0;\n"
        "};\n\n%s",
        trace->tsc_hz, streams);
}

static void add_field(struct text *text, enum marker_type type, const char *name)
{
    if (type == MARKER_STRING)
        add(text, "        char_t _%s[%u];\n", name, FLIGHT_STRING_BYTES);
    else if (type == MARKER_POINTER)
        add(text, "        pointer_t _%s;\n", name);
    else
        add(text, "        %s _%s;\n", marker_type_is_signed(type) ? "int64_t" : "uint64_t", name);
}

static void open_event(struct text *text, const char *name, uint32_t id)
{
    add(text, "\nevent {\n    id = %u;\n    name = \"%s\";\n    stream_id = 0;\n", id, name);
    add(text, "    fields := struct {\n");
}

static void close_event(struct text *text)
{
    add(text, "    };\n};\n");
}

size_t ctf_format_metadata(char *out, size_t size, const struct ctf_trace *trace)
{
    struct text text = {.out = out, .size = size};
    add_head(&text, trace);
    for (uint32_t i = 0; i < trace->site_count; i++) {
        const struct marker_site *site = &trace->sites[i];
        open_event(&text, site->name, i);
        for (unsigned k = 0; k < site->argument_count; k++)
            add_field(&text, site->argument_types[k], site->argument_names[k]);
        close_event(&text);
    }
    open_event(&text, "probe", trace->site_count);
    add_field(&text, MARKER_POINTER, "address");
    close_event(&text);
    return text.length;
}

/* --- packets --- */

void ctf_fill_header(struct ctf_packet_header *header, const struct ctf_trace *trace, uint32_t cpu,
                     const struct flight_packet *packet, const uint64_t *words)
{
    uint32_t offset = 0;
    struct flight_event event = {0};
    uint64_t bits = (sizeof(*header) + packet->bytes) * 8;
    while (flight_event_next(words, packet->bytes, &offset, &trace->layouts, &event))
        ;
    *header = (struct ctf_packet_header){
        .magic = CTF_MAGIC,
        .timestamp_begin = words[0],
        .timestamp_end = event.timestamp,
        .content_size = bits,
        .packet_size = bits,
        .packet_seq_num = packet->sequence,
        .events_discarded = packet->lost,
        .cpu_id = cpu,
    };
    memcpy(header->uuid, trace->uuid, sizeof(header->uuid));
}
