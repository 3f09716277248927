/* SPDX-License-Identifier: MIT */
/* crewlog timeline: a recording as one HTML page that needs nothing else. This writes the data, as
 * JSON, column by column; the page's script (timeline/) draws them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/crewlog/history.h"
#include "tools/crewlog/json.h"
#include "tools/crewlog/program.h"
#include "tools/crewlog/timeline_page.h"

#define EXACT (1ull << 53) /* numbers up to here a script knows exactly */
#define MOST_NAMES 6       /* of a page */

struct timeline {
    struct log log;
    struct program program;
    struct history history;
    struct table places; /* by RIP; no values but their order */
};

/* --- columns --- */

static void put_exact(uint64_t number)
{
    if (number <= EXACT)
        printf("%" PRIu64, number);
    else
        printf("\"0x%" PRIx64 "\"", number);
}

/* COLUMN(key, PUT): "key":[…], of the thread's moments; PUT prints `moment`. */
#define COLUMN(key, ...)                                                                           \
    do {                                                                                           \
        fputs("\"" key "\":[", stdout);                                                            \
        for (uint64_t i = 0; i < count; i++) {                                                     \
            const struct moment *moment = &moments[i];                                             \
            if (i)                                                                                 \
                putchar(',');                                                                      \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
        fputs("],\n", stdout);                                                                     \
    } while (0)

static uint64_t place_of(struct timeline *timeline, uint64_t rip)
{
    return table_index(&timeline->places, table_get(&timeline->places, rip, NULL));
}

static void put_operands(const struct moment *moments, uint64_t count)
{
    const char *comma = "";
    fputs("\"ab\":[", stdout);
    for (uint64_t i = 0; i < count; i++) {
        unsigned fields = log_kind_fields(moments[i].kind);
        if (!(fields & (LOG_FIELD_A | LOG_FIELD_B)))
            continue;
        printf("%s[%" PRIu64 ",\"%" PRId64 "\"", comma, i, (int64_t)moments[i].a);
        if (fields & LOG_FIELD_B)
            printf(",\"%" PRId64 "\"", (int64_t)moments[i].b);
        else
            fputs(",null", stdout);
        putchar(']');
        comma = ",";
    }
    fputs("],\n", stdout);
}

static void put_deps(const struct history *history, const struct moment *moments, uint64_t count)
{
    const char *comma = "";
    fputs("\"d\":[", stdout);
    for (uint64_t i = 0; i < count; i++) {
        if (!moments[i].dep_count)
            continue;
        printf("%s[%" PRIu64, comma, i);
        for (uint32_t j = 0; j < moments[i].dep_count; j++) {
            struct moment_name dep = history->deps[moments[i].first_dep + j];
            printf(",%u,%u", dep.slot, dep.index);
        }
        putchar(']');
        comma = ",";
    }
    fputs("]", stdout);
}

static void put_thread(struct timeline *timeline, uint32_t slot)
{
    const struct moment *moments = timeline->history.moments[slot];
    uint64_t count = timeline->history.count[slot];
    fputs(slot ? ",\n{" : "{", stdout);
    COLUMN("x", printf("%u", moment->position - (i ? moment[-1].position : 0)));
    COLUMN("t", put_exact(moment->point.ticks - (i ? moment[-1].point.ticks : 0)));
    COLUMN("k", printf("%u", moment->kind));
    COLUMN("r", printf("%" PRIu64, place_of(timeline, moment->point.rip)));
    COLUMN("c", put_exact(moment->point.rcx));
    COLUMN("p", printf("%" PRId64, moment->page == NO_PAGE ? -1 : (int64_t)moment->page));
    COLUMN("g", printf("%u", moment->rights));
    put_operands(moments, count);
    put_deps(&timeline->history, moments, count);
    putchar('}');
}

/* --- names --- */

static void put_place(struct timeline *timeline, uint64_t rip)
{
    char text[256];
    bool named = program_find(&timeline->program, rip) != NULL;
    printf("[\"0x%" PRIx64 "\",", rip);
    json_quote(named ? program_symbol(&timeline->program, rip, text, sizeof(text)) : "",
               sizeof(text));
    putchar(',');
    const char *line = timeline->program.name ? program_line(&timeline->program, rip) : "";
    json_quote(line, strlen(line));
    putchar(']');
}

static void put_page(const struct program *program, uint64_t address)
{
    char text[512] = "";
    uint64_t index = 0;
    const struct symbol *symbol;
    for (unsigned i = 0;
         (symbol = program_next_object(program, address, address + LOG_PAGE_SIZE, &index)); i++) {
        size_t used = strlen(text);
        if (i == MOST_NAMES) {
            snprintf(text + used, sizeof(text) - used, " …");
            break;
        }
        snprintf(text + used, sizeof(text) - used, "%s%.60s", i ? ", " : "", symbol->name);
    }
    printf("[\"0x%" PRIx64 "\",", address);
    json_quote(text, sizeof(text));
    putchar(']');
}

static void put_words(const struct log_header *header)
{
    char text[sizeof(header->arguments) + 1];
    size_t at = 0;
    memcpy(text, header->arguments, sizeof(header->arguments));
    text[sizeof(header->arguments)] = 0;
    for (uint32_t word = 1; word < header->argument_count; word++) {
        at += strlen(text + at);
        if (at + 1 >= sizeof(header->arguments))
            break;
        text[at] = ' ';
    }
    json_string("command", text);
}

/* --- the whole --- */

static void put_kinds(void)
{
    fputs(",\n\"kinds\":[", stdout);
    unsigned last = 0;
    while (log_kind_fields(last + 1) != ~0u)
        last++;
    for (unsigned kind = 0; kind <= last; kind++)
        printf("%s\"%s\"", kind ? "," : "", log_kind_name(kind));
    putchar(']');
}

static void put_facts(const struct timeline *timeline)
{
    const struct log *log = &timeline->log;
    const struct log_header *header = &log->reader.header;
    const char *slash = strrchr(log->name, '/');
    char text[256];
    json_open();
    json_string("name", slash ? slash + 1 : log->name);
    json_text("program", header->program, sizeof(header->program));
    put_words(header);
    json_string("unit", log_unit_name(header->unit));
    json_text("source", header->source, sizeof(header->source));
    json_bool("complete", log_complete(log));
    json_string("verdict", log_verdict_text(log, text, sizeof(text)));
    json_number("events", log_events(log));
    json_number("left_out", timeline->history.left_out);
    put_kinds();
}

static void put_transfers(const struct history *history)
{
    fputs(",\n\"transfers\":[", stdout);
    for (uint64_t i = 0; i < history->handover_count; i++) {
        const struct handover *one = &history->handovers[i];
        printf("%s%u,%u,%u,%u,%d", i ? "," : "", one->from.slot, one->from.index, one->to.slot,
               one->to.index, one->data);
    }
    fputs("]}\n", stdout);
}

static void put_data(struct timeline *timeline)
{
    const struct table *pages = &timeline->history.pages;
    put_facts(timeline);
    fputs(",\n\"threads\":[", stdout);
    for (uint32_t slot = 0; slot < timeline->log.reader.slots; slot++)
        put_thread(timeline, slot);
    fputs("],\n\"places\":[", stdout);
    for (uint64_t i = 0; i < timeline->places.count; i++) {
        fputs(i ? ",\n" : "", stdout);
        put_place(timeline, timeline->places.keys[i]);
    }
    fputs("],\n\"pages\":[", stdout);
    for (uint64_t i = 0; i < pages->count; i++) {
        fputs(i ? ",\n" : "", stdout);
        put_page(&timeline->program, pages->keys[i]);
    }
    putchar(']');
    put_transfers(&timeline->history);
}

static void put_document(struct timeline *timeline)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width\"/>\n<title>Timeline</title>\n"
          "<style>\n",
          stdout);
    fputs(timeline_style, stdout);
    fputs("</style>\n</head>\n<body>\n", stdout);
    fputs(timeline_html, stdout);
    fputs("<script type=\"application/json\" id=\"data\">\n", stdout);
    put_data(timeline);
    fputs("</script>\n<script>\n", stdout);
    fputs(timeline_script, stdout);
    fputs("</script>\n</body>\n</html>\n", stdout);
}

enum status command_timeline(char **argv)
{
    static struct timeline timeline;
    struct options options;
    options_parse(&options, argv, "elf force o", 1, 1);
    log_open(&timeline.log, options.files[0]);
    program_open(&timeline.program, options.elf, &timeline.log.reader.header, options.force);
    history_read(&timeline.history, &timeline.log);
    table_open(&timeline.places, 1, HISTORY_MAX_EVENTS);
    output_open(options.output);
    put_document(&timeline);
    table_close(&timeline.places);
    history_free(&timeline.history);
    program_close(&timeline.program);
    enum status status = log_status(&timeline.log);
    log_close(&timeline.log);
    return status;
}
