/* SPDX-License-Identifier: MIT */
/* `crewlog stats --json`: the same tables, one row a line. */
#include <stdlib.h>

#include "tools/crewlog/json.h"
#include "tools/crewlog/stats.h"

static void json_slots(uint64_t slots)
{
    json_list("threads");
    for (; slots; slots &= slots - 1)
        json_list_number((uint64_t)__builtin_ctzll(slots));
    json_list_end();
}

static void json_objects(const struct stats *stats, uint64_t page)
{
    uint64_t index = 0;
    const struct symbol *symbol;
    json_list("objects");
    while ((symbol = program_next_object(&stats->program, page, page + LOG_PAGE_SIZE, &index))) {
        json_list_item();
        json_string("name", symbol->name);
        json_hex("address", symbol->address);
        json_number("size", symbol->size);
        json_list_item_end();
    }
    json_list_end();
}

static void json_row(const struct stats_row *row)
{
    json_string("place", row->place);
    json_number("transfers", row->reads + row->writes);
    json_number("reads", row->reads);
    json_number("writes", row->writes);
    json_number("bytes", row->bytes);
    json_slots(row->threads);
}

static void json_pages(struct stats *stats)
{
    uint64_t count, row_count;
    char origin[64];
    uint32_t *pages = stats_pages(stats, &count);
    for (uint64_t i = 0; i < count && i < stats->options.top; i++) {
        const struct stats_page *page = stats_page(stats, pages[i]);
        uint64_t address = stats->owners.pages.keys[pages[i]];
        struct stats_row *rows = stats_rows(stats, pages[i], &row_count);
        json_open();
        json_string("record", "page");
        json_hex("page", address);
        json_number("transfers", page->reads + page->writes);
        json_number("reads", page->reads);
        json_number("writes", page->writes);
        json_number("events", page->events);
        json_number("bytes", page->bytes);
        json_slots(page->threads);
        json_string("origin", stats_page_origin(stats, address, origin, sizeof(origin)));
        json_objects(stats, address);
        json_list("code");
        for (uint64_t row = 0; row < row_count && row < stats->options.top; row++) {
            json_list_item();
            json_row(&rows[row]);
            json_list_item_end();
        }
        json_list_end();
        json_close();
        stats_rows_free(rows, row_count);
    }
    free(pages);
}

static void json_code(struct stats *stats)
{
    uint64_t count;
    struct stats_row *rows = stats_rows(stats, UINT32_MAX, &count);
    for (uint64_t i = 0; i < count && i < stats->options.top; i++) {
        json_open();
        json_string("record", "code");
        json_row(&rows[i]);
        json_number("pages", rows[i].pages);
        json_close();
    }
    stats_rows_free(rows, count);
}

static void json_pairs(const struct stats *stats)
{
    uint64_t count;
    uint32_t *pairs = stats_pairs(stats, &count);
    for (uint64_t i = 0; i < count && i < stats->options.top; i++) {
        uint32_t from = pairs[i] / LOG_MAX_SLOTS, to = pairs[i] % LOG_MAX_SLOTS;
        const struct stats_route *route = stats_main_route(stats, from, to);
        json_open();
        json_string("record", "pair");
        json_number("from", from);
        json_number("to", to);
        json_number("transfers", stats->pairs[from][to].transfers);
        json_number("bytes", stats->pairs[from][to].bytes);
        json_hex("page", stats->owners.pages.keys[route->page]);
        json_number("page_transfers", route->transfers);
        json_close();
    }
    free(pairs);
}

static void json_kernel_objects(const struct stats *stats)
{
    for (uint32_t i = 0; i < OBJECT_COUNT; i++) {
        const struct stats_object *object = &stats->objects[i];
        if (!object->uses)
            continue;
        json_open();
        json_string("record", "object");
        json_number("object", i);
        json_string("name", object_name((enum object_id)i));
        json_number("uses", object->uses);
        json_number("transfers", object->transfers);
        json_slots(object->threads);
        json_close();
    }
}

void stats_print_json(struct stats *stats)
{
    json_open();
    json_string("record", "summary");
    json_string("file", stats->log.name);
    json_number("threads", stats->log.reader.slots);
    json_number("events", stats->events);
    json_number("left", stats->left);
    json_number("pages", stats->owners.pages.count);
    json_number("transfers", stats->transfers);
    for (unsigned kind = 0; kind < 128; kind++)
        if (stats->kinds[kind])
            json_number(log_kind_name(kind), stats->kinds[kind]);
    json_close();
    json_pages(stats);
    json_code(stats);
    json_pairs(stats);
    json_kernel_objects(stats);
}
