/* SPDX-License-Identifier: MIT */
/* The reports of `crewlog stats`: tables of at most 100 columns, or JSON, one row a line. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/crewlog/json.h"
#include "tools/crewlog/stats.h"

#define WIDTH 100
#define PLACES_OF_A_PAGE 3
#define SLOTS_WIDTH 6 /* of a list of threads that is cut */

/* "0-3 5"; of many only the first and how many there are. */
static const char *slots_text(uint64_t slots, char *out, size_t size)
{
    size_t used = 0;
    out[0] = 0;
    for (uint32_t slot = 0; slot < LOG_MAX_SLOTS; slot++) {
        uint32_t last = slot;
        if (!(slots >> slot & 1))
            continue;
        while (last + 1 < LOG_MAX_SLOTS && slots >> (last + 1) & 1)
            last++;
        used += (size_t)snprintf(out + used, size - used, "%s%u", used ? " " : "", slot);
        if (last > slot)
            used += (size_t)snprintf(out + used, size - used, "%s%u", last == slot + 1 ? " " : "-",
                                     last);
        slot = last;
        if (used > SLOTS_WIDTH && slots >> 1 >> last) {
            snprintf(out + used, size - used, " … (%d)", __builtin_popcountll(slots));
            break;
        }
    }
    return out;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static uint64_t rows_shown(const struct stats *stats, uint64_t count, uint64_t most)
{
    uint64_t top = stats->options.top < most ? stats->options.top : most;
    return count < top ? count : top;
}

static void print_rest(uint64_t count, uint64_t shown)
{
    if (shown < count)
        printf("  … and %" PRIu64 " more (--top)\n", count - shown);
}

/* --- pages --- */

static bool is_linker_name(const char *name)
{
    return name[0] == '_' && name[1] == '_';
}

/* The data symbols of the page, as many as two lines hold. */
static void print_objects(const struct stats *stats, uint64_t page)
{
    uint64_t index = 0, left = 0;
    unsigned column = 0, lines = 0;
    const struct symbol *symbol;
    char text[160];
    while ((symbol = program_next_object(&stats->program, page, page + LOG_PAGE_SIZE, &index))) {
        if (is_linker_name(symbol->name))
            continue;
        program_symbol(&stats->program, symbol->address, text, sizeof(text));
        text[strcspn(text, "+")] = 0;
        unsigned length = (unsigned)strlen(text) + 2;
        if (column && column + length > WIDTH - 12) {
            column = 0;
            lines++;
        }
        if (lines == 2) {
            left++;
            continue;
        }
        if (column == 0)
            printf("%s      %s ", lines ? "\n" : "", lines ? "     " : "data:");
        column += column ? length : 12 + length;
        printf(" %s", text);
    }
    if (left)
        printf(" … %" PRIu64 " more", left);
    if (index && (column || left))
        putchar('\n');
}

static void print_places(struct stats *stats, uint32_t page)
{
    uint64_t count;
    char threads[64];
    struct stats_row *rows = stats_rows(stats, page, &count);
    uint64_t shown = rows_shown(stats, count, PLACES_OF_A_PAGE);
    for (uint64_t i = 0; i < shown; i++)
        printf("      code:  %-42s %6" PRIu64 " reads %6" PRIu64 " writes  by %s\n", rows[i].place,
               rows[i].reads, rows[i].writes,
               slots_text(rows[i].threads, threads, sizeof(threads)));
    if (shown < count)
        printf("             and %" PRIu64 " more places\n", count - shown);
    stats_rows_free(rows, count);
}

static void print_pages(struct stats *stats)
{
    uint64_t count;
    char threads[64], origin[64];
    uint32_t *pages = stats_pages(stats, &count);
    uint64_t shown = rows_shown(stats, count, UINT32_MAX);
    printf("\ndata: %" PRIu64 " of %" PRIu64 " pages went from thread to thread\n", count,
           stats->owners.pages.count);
    if (count)
        printf("  %-14s %9s %6s %9s %9s %9s %9s  %s\n", "page", "transfers", "share", "reads",
               "writes", "events", "bytes", "threads");
    for (uint64_t i = 0; i < shown; i++) {
        const struct stats_page *page = stats_page(stats, pages[i]);
        uint64_t address = stats->owners.pages.keys[pages[i]];
        uint64_t transfers = page->reads + page->writes;
        printf("  0x%-12" PRIx64 " %9" PRIu64 " %5.1f%% %9" PRIu64 " %9" PRIu64 " %9" PRIu64
               " %9" PRIu64 "  %s\n",
               address, transfers, share(transfers, stats->transfers), page->reads, page->writes,
               page->events, page->bytes, slots_text(page->threads, threads, sizeof(threads)));
        printf("      %s\n", stats_page_origin(stats, address, origin, sizeof(origin)));
        print_objects(stats, address);
        print_places(stats, pages[i]);
    }
    print_rest(count, shown);
    free(pages);
}

/* --- the other tables --- */

static void print_code(struct stats *stats)
{
    uint64_t count;
    char threads[64];
    struct stats_row *rows = stats_rows(stats, UINT32_MAX, &count);
    uint64_t shown = rows_shown(stats, count, UINT32_MAX);
    printf("\ncode: what got pages from other threads\n");
    if (count)
        printf("  %-38s %9s %6s %7s %7s %5s  %s\n", "place", "transfers", "share", "reads",
               "writes", "pages", "threads");
    for (uint64_t i = 0; i < shown; i++)
        printf("  %-38s %9" PRIu64 " %5.1f%% %7" PRIu64 " %7" PRIu64 " %5" PRIu64 "  %s\n",
               rows[i].place, rows[i].reads + rows[i].writes,
               share(rows[i].reads + rows[i].writes, stats->transfers), rows[i].reads,
               rows[i].writes, rows[i].pages,
               slots_text(rows[i].threads, threads, sizeof(threads)));
    print_rest(count, shown);
    stats_rows_free(rows, count);
}

static void print_pairs(const struct stats *stats)
{
    uint64_t count;
    uint32_t *pairs = stats_pairs(stats, &count);
    uint64_t shown = rows_shown(stats, count, UINT32_MAX);
    printf("\nthreads: who gave pages to whom\n");
    if (count)
        printf("  %4s %4s %9s %9s  %s\n", "from", "to", "transfers", "bytes",
               "most often the page");
    for (uint64_t i = 0; i < shown; i++) {
        uint32_t from = pairs[i] / LOG_MAX_SLOTS, to = pairs[i] % LOG_MAX_SLOTS;
        const struct stats_route *route = stats_main_route(stats, from, to);
        printf("  %4u %4u %9" PRIu64 " %9" PRIu64 "  0x%" PRIx64 " (%" PRIu64 ")\n", from, to,
               stats->pairs[from][to].transfers, stats->pairs[from][to].bytes,
               stats->owners.pages.keys[route->page], route->transfers);
    }
    print_rest(count, shown);
    free(pairs);
}

static const char *object_text(uint32_t object, char *out, size_t size)
{
    if (object < OBJECT_FUTEX)
        snprintf(out, size, "%s", object_name((enum object_id)object));
    else
        snprintf(out, size, "%s %u", object_name(OBJECT_FUTEX), object - OBJECT_FUTEX);
    return out;
}

static void print_kernel_objects(const struct stats *stats)
{
    char name[40], threads[64];
    printf("\nkernel objects\n  %-20s %9s %12s  %s\n", "object", "uses", "handed over", "threads");
    for (uint32_t i = 0; i < OBJECT_COUNT; i++) {
        const struct stats_object *object = &stats->objects[i];
        if (object->uses)
            printf("  %-20s %9" PRIu64 " %12" PRIu64 "  %s\n", object_text(i, name, sizeof(name)),
                   object->uses, object->transfers,
                   slots_text(object->threads, threads, sizeof(threads)));
    }
}

static void print_kinds(const struct stats *stats)
{
    unsigned column = 0;
    printf("\nevents\n");
    for (unsigned kind = 0; kind < 128; kind++)
        if (stats->kinds[kind])
            printf("%s%-10s %10" PRIu64,
                   column++ % 4 ? "  "
                   : column > 1 ? "\n  "
                                : "  ",
                   log_kind_name(kind), stats->kinds[kind]);
    putchar('\n');
}

void stats_print(struct stats *stats)
{
    uint64_t bytes = 0;
    for (uint32_t slot = 0; slot < LOG_MAX_SLOTS; slot++)
        bytes += stats->log.index[slot].bytes;
    printf("%s: %u threads, %" PRIu64 " events in %" PRIu64 " bytes, %" PRIu64
           " transfers of pages\n",
           stats->log.name, stats->log.reader.slots, stats->events, bytes, stats->transfers);
    if (stats->left)
        printf("%" PRIu64 " events are not counted: they depend on what is not in the file\n",
               stats->left);
    print_pages(stats);
    print_code(stats);
    print_pairs(stats);
    print_kernel_objects(stats);
    print_kinds(stats);
}
