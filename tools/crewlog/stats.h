/* SPDX-License-Identifier: MIT */
/* What `crewlog stats` counts. A transfer is a PROMOTE for which another thread had to give rights
 * up. */
#ifndef TOOLS_CREWLOG_STATS_H
#define TOOLS_CREWLOG_STATS_H

#include "kernel/names.h"
#include "tools/crewlog/log.h"
#include "tools/crewlog/owners.h"
#include "tools/crewlog/program.h"

struct stats_page {
    struct owner owner;
    uint64_t events, bytes; /* that name this page; bytes as coded */
    uint64_t reads, writes; /* transfers, by what they were for */
    uint64_t threads;       /* that got it; bit per slot */
};

/* An instruction that got a page from another thread. */
struct stats_site {
    uint64_t rip;
    uint32_t page;    /* index into the pages */
    uint32_t in_call; /* of a system call: its number + 1 */
    uint64_t reads, writes, bytes, threads;
};

struct stats_pair {
    uint64_t transfers, bytes;
};

/* A pair of threads and a page. */
struct stats_route {
    uint32_t from, to, page;
    uint64_t transfers;
};

struct stats_object {
    uint64_t uses, transfers, threads;
    uint32_t last; /* user; slot + 1 */
};

struct stats {
    struct log log;
    struct program program;
    struct options options;
    struct owners owners; /* struct stats_page */
    struct table sites, routes;
    struct stats_pair pairs[LOG_MAX_SLOTS][LOG_MAX_SLOTS]; /* from, to */
    struct stats_object objects[OBJECT_COUNT];
    uint64_t kinds[128]; /* events by kind */
    uint64_t transfers, events, left;
    struct log_vma *mappings;
    uint64_t mapping_count;
};

/* --- for the reports --- */

/* Transfers by one line of the source, or one instruction where the line is not known. */
struct stats_row {
    char *place; /* "falseshare_work falseshare.c:34"; a system call's with its name */
    uint64_t reads, writes, bytes, threads, pages;
    uint32_t last_page; /* while counting pages */
};

/* Those of the page with this index (UINT32_MAX: of all), most transfers first. */
struct stats_row *stats_rows(struct stats *stats, uint32_t page, uint64_t *count);
void stats_rows_free(struct stats_row *rows, uint64_t count);

/* Indices of pages that were transferred, most transfers first. */
uint32_t *stats_pages(const struct stats *stats, uint64_t *count);
/* Slots of pairs as from * LOG_MAX_SLOTS + to, most transfers first. */
uint32_t *stats_pairs(const struct stats *stats, uint64_t *count);
/* The route of this pair with the most transfers. */
const struct stats_route *stats_main_route(const struct stats *stats, uint32_t from, uint32_t to);

const struct stats_page *stats_page(const struct stats *stats, uint32_t index);
/* "mapped rw- at the beginning", "stack of thread 0", "mapped later" */
const char *stats_page_origin(const struct stats *stats, uint64_t page, char *out, unsigned size);

void stats_print(struct stats *stats);
void stats_print_json(struct stats *stats);

#endif
