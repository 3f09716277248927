/* SPDX-License-Identifier: MIT */
/* crewlog stats: which data is contended, and which code contends. One pass over all events, in an
 * order in which they can have happened.
 */
#include "tools/crewlog/stats.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SITES 8000000

const struct stats_page *stats_page(const struct stats *stats, uint32_t index)
{
    return table_value(&stats->owners.pages, index);
}

/* --- counting --- */

/* Instructions and their pages: a key that hardly any two share, and collisions that do not matter
 * much would still count for the wrong place; so it is looked at again. */
static void count_site(struct stats *stats, const struct log_cursor *cursor, uint32_t page,
                       uint32_t in_call)
{
    bool write = cursor->event.rights & LOG_RIGHTS_WRITE;
    uint64_t rip = cursor->event.point.rip, key = rip * 0x9e3779b97f4a7c15ull ^ page;
    struct stats_site *site;
    bool added;
    while ((site = table_get(&stats->sites, key, &added)) != NULL && !added &&
           (site->rip != rip || site->page != page))
        key += 0x100000001ull;
    if (!site)
        die("%s: more than %u places that transfer pages", stats->log.name, MAX_SITES);
    site->rip = rip;
    site->page = page;
    site->in_call = in_call;
    site->reads += !write;
    site->writes += write;
    site->bytes += cursor->bytes;
    site->threads |= 1ull << cursor->slot;
}

static void count_routes(struct stats *stats, const struct log_cursor *cursor, uint64_t from,
                         uint32_t page)
{
    for (uint64_t left = from; left; left &= left - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(left);
        struct stats_pair *pair = &stats->pairs[slot][cursor->slot];
        uint64_t key = (uint64_t)page << 12 | slot << 6 | cursor->slot;
        struct stats_route *route = table_get(&stats->routes, key, NULL);
        pair->transfers++;
        pair->bytes += cursor->bytes;
        if (!route)
            die("%s: more than %u ways of pages", stats->log.name, MAX_SITES);
        *route = (struct stats_route){slot, cursor->slot, page, route->transfers + 1};
    }
}

static void count_page(struct stats *stats, const struct log_cursor *cursor,
                       const struct transfer *transfer, uint32_t in_call)
{
    struct stats_page *page = (struct stats_page *)transfer->owner;
    uint32_t index = (uint32_t)table_index(&stats->owners.pages, page);
    page->events++;
    page->bytes += cursor->bytes;
    if (cursor->event.kind == LOG_PROMOTE)
        page->threads |= 1ull << cursor->slot;
    if (!transfer->from)
        return;
    if (cursor->event.rights & LOG_RIGHTS_WRITE)
        page->writes++;
    else
        page->reads++;
    stats->transfers++;
    count_site(stats, cursor, index, in_call);
    count_routes(stats, cursor, transfer->from, index);
}

static void count_object(struct stats *stats, const struct log_cursor *cursor)
{
    if (cursor->event.a >= OBJECT_COUNT)
        return;
    struct stats_object *object = &stats->objects[cursor->event.a];
    object->uses++;
    object->transfers += object->last && object->last != cursor->slot + 1;
    object->last = cursor->slot + 1;
    object->threads |= 1ull << cursor->slot;
}

static void count_all(struct stats *stats)
{
    static struct log_merge merge;
    uint32_t in_call[LOG_MAX_SLOTS] = {0};
    struct transfer transfer;
    const struct log_cursor *cursor;
    log_merge_open(&merge, &stats->log);
    while ((cursor = log_merge_next(&merge)) != NULL) {
        const struct log_event *event = &cursor->event;
        stats->events++;
        stats->kinds[event->kind]++;
        if (event->kind == LOG_SYSCALL)
            in_call[cursor->slot] = (uint32_t)event->a + 1;
        if (event->kind == LOG_RESULT)
            in_call[cursor->slot] = 0;
        if (event->kind == LOG_ORDER)
            count_object(stats, cursor);
        owners_apply(&stats->owners, cursor, &transfer);
        if (transfer.owner)
            count_page(stats, cursor, &transfer, in_call[cursor->slot]);
    }
    stats->left = log_merge_left(&merge, NULL);
}

/* --- where pages come from --- */

static void read_mappings(struct stats *stats)
{
    struct log_walk walk;
    struct log_item item;
    stats->mappings = grow(NULL, stats->log.reader.found.vmas + 1, sizeof(stats->mappings[0]));
    log_walk_open(&walk, &stats->log);
    while (log_walk_next(&walk, &item) && item.chunk.kind != LOG_CHUNK_BEGIN)
        if (item.chunk.kind == LOG_CHUNK_VMA && stats->mapping_count < stats->log.reader.found.vmas)
            memcpy(&stats->mappings[stats->mapping_count++], item.payload, sizeof(struct log_vma));
}

/* --- the command --- */

enum status command_stats(char **argv)
{
    static struct stats stats;
    options_parse(&stats.options, argv, "json elf top force", 1, 1);
    log_open(&stats.log, stats.options.files[0]);
    program_open(&stats.program, stats.options.elf, &stats.log.reader.header, stats.options.force);
    owners_open(&stats.owners, sizeof(struct stats_page));
    table_open(&stats.sites, sizeof(struct stats_site), MAX_SITES);
    table_open(&stats.routes, sizeof(struct stats_route), MAX_SITES);
    read_mappings(&stats);
    count_all(&stats);
    if (stats.options.json)
        stats_print_json(&stats);
    else
        stats_print(&stats);
    free(stats.mappings);
    owners_close(&stats.owners);
    table_close(&stats.sites);
    table_close(&stats.routes);
    program_close(&stats.program);
    enum status status = log_status(&stats.log);
    log_close(&stats.log);
    return status;
}
