/* SPDX-License-Identifier: MIT */
/* Sorting and grouping for `crewlog stats`. Equal numbers are sorted by address or name, so that
 * the same recording always gives the same report. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/names.h"
#include "tools/crewlog/stats.h"

static const struct stats *sorted; /* whose pages or pairs are being sorted */

static int by_number(uint64_t left, uint64_t right)
{
    return left == right ? 0 : left < right ? -1 : 1;
}

/* --- pages --- */

static int compare_pages(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct stats_page *one = stats_page(sorted, a), *two = stats_page(sorted, b);
    int order = by_number(two->reads + two->writes, one->reads + one->writes);
    return order ? order : by_number(sorted->owners.pages.keys[a], sorted->owners.pages.keys[b]);
}

uint32_t *stats_pages(const struct stats *stats, uint64_t *count)
{
    uint32_t *indices = grow(NULL, stats->owners.pages.count + 1, sizeof(indices[0]));
    *count = 0;
    for (uint32_t i = 0; i < stats->owners.pages.count; i++)
        if (stats_page(stats, i)->reads + stats_page(stats, i)->writes)
            indices[(*count)++] = i;
    sorted = stats;
    qsort(indices, *count, sizeof(indices[0]), compare_pages);
    return indices;
}

const char *stats_page_origin(const struct stats *stats, uint64_t page, char *out, unsigned size)
{
    struct log_walk walk;
    struct log_item item;
    struct log_thread thread;
    const struct log_vma *vma = NULL;
    for (uint64_t i = 0; i < stats->mapping_count; i++)
        if (stats->mappings[i].start <= page && page < stats->mappings[i].end)
            vma = &stats->mappings[i];
    if (!vma) {
        snprintf(out, size, "mapped after the beginning");
        return out;
    }
    snprintf(out, size, "mapped %c%c%c", vma->prot & 1 ? 'r' : '-', vma->prot & 2 ? 'w' : '-',
             vma->prot & 4 ? 'x' : '-');
    log_walk_open(&walk, &stats->log);
    while (log_walk_next(&walk, &item) && item.chunk.kind != LOG_CHUNK_BEGIN) {
        if (item.chunk.kind != LOG_CHUNK_THREAD)
            continue;
        memcpy(&thread, item.payload, sizeof(thread));
        /* The stack pointer of a thread that has pushed nothing is the end of its stack. */
        if (vma->start < thread.rsp && thread.rsp <= vma->end)
            snprintf(out, size, "stack of thread %u", item.chunk.slot);
    }
    return out;
}

/* --- pairs --- */

static uint64_t pair_transfers(uint32_t pair)
{
    return sorted->pairs[pair / LOG_MAX_SLOTS][pair % LOG_MAX_SLOTS].transfers;
}

static int compare_pairs(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int order = by_number(pair_transfers(b), pair_transfers(a));
    return order ? order : by_number(a, b);
}

uint32_t *stats_pairs(const struct stats *stats, uint64_t *count)
{
    uint32_t *pairs = grow(NULL, LOG_MAX_SLOTS * LOG_MAX_SLOTS, sizeof(pairs[0]));
    sorted = stats;
    *count = 0;
    for (uint32_t pair = 0; pair < LOG_MAX_SLOTS * LOG_MAX_SLOTS; pair++)
        if (pair_transfers(pair))
            pairs[(*count)++] = pair;
    qsort(pairs, *count, sizeof(pairs[0]), compare_pairs);
    return pairs;
}

const struct stats_route *stats_main_route(const struct stats *stats, uint32_t from, uint32_t to)
{
    const struct stats_route *best = NULL;
    for (uint64_t i = 0; i < stats->routes.count; i++) {
        const struct stats_route *route = table_value(&stats->routes, i);
        if (route->from == from && route->to == to && (!best || route->transfers > best->transfers))
            best = route;
    }
    return best;
}

/* --- code --- */

static char *place_of(struct stats *stats, const struct stats_site *site)
{
    char symbol[160], text[320];
    const char *line = program_line(&stats->program, site->rip);
    program_symbol(&stats->program, site->rip, symbol, sizeof(symbol));
    if (*line)
        symbol[strcspn(symbol, "+")] = 0;
    int length = snprintf(text, sizeof(text), "%s%s%s", symbol, *line ? " " : "", line);
    if (site->in_call && length > 0 && (size_t)length < sizeof(text))
        snprintf(text + length, sizeof(text) - (size_t)length, " (%s)",
                 syscall_name_x86_64(site->in_call - 1));
    char *place = strdup(text);
    if (!place)
        die("out of memory");
    return place;
}

static int compare_places(const void *left, const void *right)
{
    const struct stats_row *a = left, *b = right;
    int order = strcmp(a->place, b->place);
    return order ? order : by_number(a->last_page, b->last_page);
}

static int compare_rows(const void *left, const void *right)
{
    const struct stats_row *a = left, *b = right;
    int order = by_number(b->reads + b->writes, a->reads + a->writes);
    return order ? order : strcmp(a->place, b->place);
}

/* Makes one row of those with the same place; rows are sorted by place and page. */
static uint64_t merge_rows(struct stats_row *rows, uint64_t count)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++) {
        struct stats_row *last = kept ? &rows[kept - 1] : NULL;
        if (!last || strcmp(last->place, rows[i].place) != 0) {
            rows[kept++] = rows[i];
            continue;
        }
        last->reads += rows[i].reads;
        last->writes += rows[i].writes;
        last->bytes += rows[i].bytes;
        last->threads |= rows[i].threads;
        last->pages += rows[i].last_page != last->last_page;
        last->last_page = rows[i].last_page;
        free(rows[i].place);
    }
    return kept;
}

struct stats_row *stats_rows(struct stats *stats, uint32_t page, uint64_t *count)
{
    struct stats_row *rows = grow(NULL, stats->sites.count + 1, sizeof(rows[0]));
    uint64_t used = 0;
    for (uint64_t i = 0; i < stats->sites.count; i++) {
        const struct stats_site *site = table_value(&stats->sites, i);
        if (page != UINT32_MAX && site->page != page)
            continue;
        rows[used++] = (struct stats_row){
            .place = place_of(stats, site),
            .reads = site->reads,
            .writes = site->writes,
            .bytes = site->bytes,
            .threads = site->threads,
            .pages = 1,
            .last_page = site->page,
        };
    }
    qsort(rows, used, sizeof(rows[0]), compare_places);
    *count = merge_rows(rows, used);
    qsort(rows, *count, sizeof(rows[0]), compare_rows);
    return rows;
}

void stats_rows_free(struct stats_row *rows, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        free(rows[i].place);
    free(rows);
}
