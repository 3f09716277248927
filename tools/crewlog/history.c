/* SPDX-License-Identifier: MIT */
/* Events in memory, their positions, and where pages went. */
#include "tools/crewlog/history.h"

#include <stdlib.h>
#include <string.h>

/* What is kept of a page while events are gone through: the last event of its last writer. */
struct page_state {
    uint32_t writer; /* slot + 1; 0: none so far */
    uint32_t last;   /* index of its event */
    bool given_up;   /* it is a demotion, or what took the page away */
};

/* The order in which events were read: each comes behind what it depends on. */
struct reading {
    struct history *history;
    struct moment_name *order;
    uint64_t count, room;
};

/* --- reading --- */

static void add_handover(struct history *history, struct moment_name from, struct moment_name to,
                         bool data)
{
    if (history->handover_count == history->handover_room) {
        history->handover_room = 2 * history->handover_room + 1024;
        history->handovers =
            grow(history->handovers, history->handover_room, sizeof(history->handovers[0]));
    }
    history->handovers[history->handover_count++] =
        (struct handover){.from = from, .to = to, .data = data};
}

/* Whoever wrote last gives its data to the next other thread. */
static void follow_writer(struct history *history, struct page_state *state,
                          struct moment_name name, const struct moment *moment)
{
    struct moment_name from = {.slot = state->writer - 1, .index = state->last};
    bool writes = moment->kind == LOG_PROMOTE && (moment->rights & LOG_RIGHTS_WRITE);
    if (moment->kind == LOG_PROMOTE && state->writer && from.slot != name.slot)
        add_handover(history, from, name, true);
    bool own_demotion =
        moment->kind == LOG_DEMOTE && state->writer == name.slot + 1 && !state->given_up;
    if (writes || own_demotion || moment->kind == LOG_REVOKE)
        *state = (struct page_state){
            .writer = name.slot + 1,
            .last = name.index,
            .given_up = !writes,
        };
}

/* Readers that had to give a page up: the demotions that the event waits for. */
static void follow_readers(struct history *history, struct moment_name name,
                           const struct moment *moment, struct moment_name writer)
{
    for (uint32_t i = 0; i < moment->dep_count; i++) {
        struct moment_name from = history->deps[moment->first_dep + i];
        const struct moment *other = history_moment(history, from);
        if (other->kind == LOG_DEMOTE && other->page == moment->page &&
            (from.slot != writer.slot || from.index != writer.index))
            add_handover(history, from, name, false);
    }
}

static void follow_page(struct history *history, struct moment_name name,
                        const struct log_event *event, struct moment *moment)
{
    bool added;
    struct page_state *state = table_get(&history->pages, event->page, &added);
    if (!state)
        die("%s: too many pages", history->log->name);
    moment->page = (uint32_t)table_index(&history->pages, state);
    struct moment_name writer = {.slot = state->writer - 1, .index = state->last};
    if (moment->kind == LOG_PROMOTE || moment->kind == LOG_REVOKE)
        follow_readers(history, name, moment, writer);
    follow_writer(history, state, name, moment);
}

static void add_deps(struct history *history, struct moment *moment, const struct log_event *event)
{
    moment->first_dep = history->dep_count;
    moment->dep_count = event->dep_count;
    if (history->dep_count + LOG_MAX_DEPS > history->dep_room) {
        history->dep_room = 2 * history->dep_room + 1024;
        history->deps = grow(history->deps, history->dep_room, sizeof(history->deps[0]));
    }
    for (unsigned i = 0; i < event->dep_count; i++)
        history->deps[history->dep_count++] = (struct moment_name){
            .slot = event->deps[i].slot, .index = (uint32_t)(event->deps[i].event - 1)};
}

static uint32_t earliest_position(const struct history *history, struct moment_name name,
                                  const struct moment *moment)
{
    uint32_t position = name.index ? moment[-1].position + 1 : 0;
    for (uint32_t i = 0; i < moment->dep_count; i++) {
        uint32_t other = history_moment(history, history->deps[moment->first_dep + i])->position;
        if (position <= other)
            position = other + 1;
    }
    return position;
}

static void add_moment(struct reading *reading, const struct log_cursor *cursor)
{
    struct history *history = reading->history;
    const struct log_event *event = &cursor->event;
    struct moment_name name = {.slot = cursor->slot, .index = (uint32_t)(cursor->number - 1)};
    struct moment *moment = &history->moments[name.slot][name.index];
    *moment = (struct moment){
        .point = event->point,
        .a = event->a,
        .b = event->b,
        .page = NO_PAGE,
        .kind = event->kind,
        .rights = event->rights,
    };
    history->count[name.slot]++;
    reading->order[reading->count++] = name;
    add_deps(history, moment, event);
    moment->position = earliest_position(history, name, moment);
    if (history->positions <= moment->position)
        history->positions = moment->position + 1;
    if (log_kind_fields(event->kind) & LOG_FIELD_PAGE)
        follow_page(history, name, event, moment);
}

/* --- demotions as late as they can be --- */

static void delay_demotions(const struct reading *reading)
{
    const struct history *history = reading->history;
    uint32_t *latest[LOG_MAX_SLOTS];
    for (uint32_t slot = 0; slot < LOG_MAX_SLOTS; slot++) {
        latest[slot] = grow(NULL, history->count[slot] + 1, sizeof(uint32_t));
        memset(latest[slot], 0xff, (history->count[slot] + 1) * sizeof(uint32_t));
    }
    for (uint64_t i = reading->count; i-- > 0;) {
        struct moment_name name = reading->order[i];
        struct moment *moment = history_moment(history, name);
        uint32_t limit = latest[name.slot][name.index];
        if (moment->kind == LOG_DEMOTE && limit != UINT32_MAX && limit > moment->position)
            moment->position = limit;
        if (name.index && moment->position &&
            latest[name.slot][name.index - 1] > moment->position - 1)
            latest[name.slot][name.index - 1] = moment->position - 1;
        for (uint32_t j = 0; j < moment->dep_count; j++) {
            struct moment_name dep = history->deps[moment->first_dep + j];
            if (moment->position && latest[dep.slot][dep.index] > moment->position - 1)
                latest[dep.slot][dep.index] = moment->position - 1;
        }
    }
    for (uint32_t slot = 0; slot < LOG_MAX_SLOTS; slot++)
        free(latest[slot]);
}

/* --- the whole --- */

void history_read(struct history *history, struct log *log)
{
    static struct log_merge merge;
    struct reading reading = {.history = history};
    const struct log_cursor *cursor;
    uint64_t events = log_events(log);
    memset(history, 0, sizeof(*history));
    history->log = log;
    table_open(&history->pages, sizeof(struct page_state), HISTORY_MAX_EVENTS);
    reading.room = events < HISTORY_MAX_EVENTS ? events : HISTORY_MAX_EVENTS;
    reading.order = grow(NULL, reading.room + 1, sizeof(reading.order[0]));
    for (uint32_t slot = 0; slot < LOG_MAX_SLOTS; slot++) {
        uint64_t room = log->reader.events[slot];
        room = room < reading.room ? room : reading.room;
        history->moments[slot] = grow(NULL, room + 1, sizeof(struct moment));
    }
    log_merge_open(&merge, log);
    while (reading.count < reading.room && (cursor = log_merge_next(&merge)) != NULL)
        add_moment(&reading, cursor);
    history->left_out = events - reading.count;
    delay_demotions(&reading);
    free(reading.order);
}

void history_free(struct history *history)
{
    for (uint32_t slot = 0; slot < LOG_MAX_SLOTS; slot++)
        free(history->moments[slot]);
    table_close(&history->pages);
    free(history->deps);
    free(history->handovers);
}
