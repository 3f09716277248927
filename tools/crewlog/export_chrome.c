/* SPDX-License-Identifier: MIT */
/* Chrome's trace event format, which Perfetto and chrome://tracing open. One microsecond there is
 * one position (history.h): time is not in a recording. System calls and what happens to pages and
 * objects are slices, all else instants, transfers are flows.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "replay/event_text.h"
#include "tools/crewlog/export.h"
#include "tools/crewlog/history.h"
#include "tools/crewlog/json.h"

#define EVENT_TEXT_BYTES 2048

/* Of a slice that is one event: it ends before the next position begins. */
#define SHORT "0.8"
#define MIDDLE ".4"

static void open_event(const struct log *log, const char *phase, uint32_t slot, uint32_t position,
                       const char *fraction)
{
    printf(",\n{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%u%s", phase, log->reader.header.pid,
           slot, position, fraction);
}

static void put_name(const char *name)
{
    fputs(",\"name\":", stdout);
    json_quote(name, strlen(name));
}

/* The moment as it was decoded, without what it depends on. */
static struct log_event event_of(const struct moment *moment, const struct history *history)
{
    return (struct log_event){
        .point = moment->point,
        .kind = moment->kind,
        .rights = moment->rights,
        .a = moment->a,
        .b = moment->b,
        .page = moment->page == NO_PAGE ? 0 : history->pages.keys[moment->page],
    };
}

static void put_args(const struct moment *moment, uint64_t number, const struct history *history)
{
    char text[EVENT_TEXT_BYTES];
    struct log_event event = event_of(moment, history);
    event.dep_count = (uint8_t)moment->dep_count;
    for (uint32_t i = 0; i < moment->dep_count; i++) {
        struct moment_name dep = history->deps[moment->first_dep + i];
        event.deps[i] = (struct log_dep){.slot = dep.slot, .event = dep.index + 1ull};
    }
    event_format(text, sizeof(text), number, &event);
    fputs(",\"args\":{\"event\":", stdout);
    json_quote(text, strlen(text));
    printf(",\"ticks\":%" PRIu64 ",\"rip\":\"0x%" PRIx64 "\"}}", moment->point.ticks,
           moment->point.rip);
}

/* "promote page 0x404000 write", "syscall 202 futex": the event's text without number and point. */
static void name_event(const struct moment *moment, const struct history *history, char *out,
                       unsigned size)
{
    struct log_event event = event_of(moment, history);
    event_format(out, size, 0, &event);
    char *end = strstr(out, " @ ");
    if (end)
        *end = 0;
    memmove(out, out + 2, strlen(out + 2) + 1);
}

static bool is_slice(const struct moment *moment)
{
    return log_kind_fields(moment->kind) & (LOG_FIELD_PAGE | LOG_FIELD_DEPS);
}

/* The position at which a system call's slice ends: that of its result, or of the thread's last
 * event. */
static uint32_t call_end(const struct history *history, uint32_t slot, uint64_t index)
{
    const struct moment *moments = history->moments[slot];
    uint64_t at = index + 1;
    while (at + 1 < history->count[slot] && moments[at].kind != LOG_RESULT &&
           moments[at + 1].kind != LOG_SYSCALL)
        at++;
    return moments[at < history->count[slot] ? at : index].position;
}

static void put_moment(const struct history *history, uint32_t slot, uint64_t index)
{
    const struct moment *moment = &history->moments[slot][index];
    const struct log *log = history->log;
    char name[EVENT_TEXT_BYTES];
    bool call = moment->kind == LOG_SYSCALL;
    open_event(log, call || is_slice(moment) ? "X" : "i", slot, moment->position, "");
    if (call)
        printf(",\"dur\":%u.9", call_end(history, slot, index) - moment->position);
    else
        fputs(is_slice(moment) ? ",\"dur\":" SHORT : ",\"s\":\"t\"", stdout);
    printf(",\"cat\":\"%s\"", log_kind_name(moment->kind));
    name_event(moment, history, name, sizeof(name));
    put_name(name);
    put_args(moment, index + 1, history);
}

static void put_handover(const struct history *history, uint64_t number)
{
    const struct handover *one = &history->handovers[number];
    const struct moment *from = history_moment(history, one->from);
    const struct moment *to = history_moment(history, one->to);
    char name[64];
    snprintf(name, sizeof(name), "page 0x%" PRIx64 "%s", history->pages.keys[to->page],
             one->data ? "" : ", given up");
    open_event(history->log, "s", one->from.slot, from->position, MIDDLE);
    printf(",\"id\":%" PRIu64 ",\"cat\":\"transfer\"", number);
    put_name(name);
    putchar('}');
    open_event(history->log, "f", one->to.slot, to->position, MIDDLE);
    printf(",\"bp\":\"e\",\"id\":%" PRIu64 ",\"cat\":\"transfer\"", number);
    put_name(name);
    putchar('}');
}

static void put_track(const struct log *log, const char *what, uint32_t slot, const char *name)
{
    printf("%s{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"%s\",\"args\":{\"name\":",
           slot || strcmp(what, "thread_name") == 0 ? ",\n" : "", log->reader.header.pid, slot,
           what);
    json_quote(name, strlen(name));
    fputs("}}", stdout);
}

static void put_tracks(const struct log *log)
{
    char name[sizeof(log->reader.header.program)];
    memcpy(name, log->reader.header.program, sizeof(name)); /* ends: the reader checks it */
    put_track(log, "process_name", 0, name);
    for (uint32_t slot = 0; slot < log->reader.slots; slot++) {
        snprintf(name, sizeof(name), "thread %u", slot);
        put_track(log, "thread_name", slot, name);
    }
}

void export_chrome(struct log *log)
{
    struct history history;
    history_read(&history, log);
    fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"time\":"
          "\"a microsecond is one position in the order of events\"},\n\"traceEvents\":[\n",
          stdout);
    put_tracks(log);
    for (uint32_t slot = 0; slot < log->reader.slots; slot++)
        for (uint64_t i = 0; i < history.count[slot]; i++)
            put_moment(&history, slot, i);
    for (uint64_t i = 0; i < history.handover_count; i++)
        put_handover(&history, i);
    fputs("\n]}\n", stdout);
    if (history.left_out)
        warn("%" PRIu64 " events are left out: they depend on what is not in the file, or are "
             "too many",
             history.left_out);
    history_free(&history);
}
