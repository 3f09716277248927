/* SPDX-License-Identifier: MIT */
/* The report of `crewlog diff`: what each recording does where they part, and how the page or
 * object that it is about goes on from there.
 */
#include <inttypes.h>
#include <stdio.h>

#include "kernel/names.h"
#include "tools/crewlog/diff.h"

#define USES_SHOWN 4

/* --- words --- */

static void print_place(struct diff *diff, const struct log_point *point)
{
    char symbol[160];
    const char *line = program_line(&diff->program, point->rip);
    printf("ticks %" PRIu64 ", %s%s%s", point->ticks,
           program_symbol(&diff->program, point->rip, symbol, sizeof(symbol)), *line ? " " : "",
           line);
}

static void print_resource(uint64_t resource)
{
    if (!DIFF_IS_OBJECT(resource)) {
        printf("page 0x%" PRIx64, resource);
        return;
    }
    uint64_t number = resource - DIFF_OBJECT(0);
    printf("the %s", object_name((enum object_id)number));
    if (number >= OBJECT_FUTEX)
        printf(" %" PRIu64, number - OBJECT_FUTEX);
}

static void print_what(const struct log_event *event)
{
    switch (event->kind) {
    case LOG_PROMOTE:
        printf("gets page 0x%" PRIx64 " to %s", event->page, log_rights_name(event->rights));
        break;
    case LOG_ACCESS:
        printf("%ss page 0x%" PRIx64 " in a system call", log_rights_name(event->rights),
               event->page);
        break;
    case LOG_REVOKE:
        printf("takes page 0x%" PRIx64 " away from all", event->page);
        break;
    case LOG_REFUSED:
        printf("is refused page 0x%" PRIx64, event->page);
        break;
    case LOG_ORDER:
        printf("uses ");
        print_resource(diff_resource(event));
        break;
    case LOG_SYSCALL:
        printf("calls %s", syscall_name_x86_64(event->a));
        break;
    default:
        printf("has %s", log_kind_name(event->kind));
    }
}

static void print_event(struct diff *diff, const char *title, uint32_t slot, uint64_t number,
                        const struct log_event *event)
{
    printf("  %-8s thread %u ", title, slot);
    print_what(event);
    printf("\n           at ");
    print_place(diff, &event->point);
    printf(" (event %" PRIu64 ")\n", number);
}

/* --- the page or object --- */

/* Of two uses in one thread the one that comes first there is what the other does not do. */
static uint64_t choose_resource(const struct diff *diff, uint32_t slot)
{
    const struct log_event *left = &diff->sides[0].cursors[slot].event;
    const struct log_event *right = &diff->sides[1].cursors[slot].event;
    uint64_t in_left = diff_resource(left), in_right = diff_resource(right);
    if (in_left == DIFF_NOTHING)
        return in_right;
    if (in_right == DIFF_NOTHING || left->point.ticks <= right->point.ticks)
        return in_left;
    return in_right;
}

static void print_objects(const struct diff *diff, uint64_t page)
{
    uint64_t index = 0, count = 0;
    const struct symbol *symbol;
    char text[160];
    while ((symbol = program_next_object(&diff->program, page, page + LOG_PAGE_SIZE, &index)) &&
           count < 12) {
        program_symbol(&diff->program, symbol->address, text, sizeof(text));
        for (char *at = text; *at; at++)
            if (*at == '+')
                *at = 0;
        printf("%s%s", count % 6 ? " " : count ? "\n           " : "  holds    ", text);
        count++;
    }
    if (count)
        printf("%s\n", symbol ? " …" : "");
}

/* Goes on with one recording alone; shows the next uses. */
static void print_next_uses(struct diff *diff, struct diff_side *side, uint64_t resource)
{
    unsigned shown = 0;
    bool moved = true;
    while (moved && shown < USES_SHOWN) {
        moved = false;
        for (uint32_t slot = 0; slot < LOG_MAX_SLOTS && shown < USES_SHOWN; slot++) {
            const struct log_cursor *cursor = &side->cursors[slot];
            if (!diff_enabled(side, slot))
                continue;
            if (diff_resource(&cursor->event) == resource) {
                print_event(diff, shown ? "" : side->title, slot, cursor->number, &cursor->event);
                shown++;
            }
            diff_pass(side, slot);
            moved = true;
        }
    }
    if (!shown)
        printf("  %-8s nobody any more\n", side->title);
}

static void print_uses(struct diff *diff, uint64_t resource)
{
    bool known;
    struct diff_use *use = table_get(&diff->uses, resource, &known);
    printf("who has ");
    print_resource(resource);
    printf(" from there on, in turn:\n");
    if (!DIFF_IS_OBJECT(resource))
        print_objects(diff, resource);
    if (use && !known)
        print_event(diff, "both", use->slot, use->numbers[0], &use->event);
    print_next_uses(diff, &diff->sides[0], resource);
    print_next_uses(diff, &diff->sides[1], resource);
}

/* --- all --- */

static void print_frontier(struct diff *diff, uint32_t slot)
{
    for (unsigned i = 0; i < 2; i++) {
        const struct diff_side *side = &diff->sides[i];
        print_event(diff, side->title, slot, side->cursors[slot].number,
                    &side->cursors[slot].event);
        if (!diff_enabled(side, slot))
            printf("           not before others have done what comes first here\n");
    }
}

void diff_report(struct diff *diff, uint32_t slot)
{
    uint64_t resource = choose_resource(diff, slot);
    const struct diff_use *value = &diff->other_value;
    printf("first:  %s\nsecond: %s\n%" PRIu64 " events are the same, then the order differs:\n",
           diff->sides[0].log.name, diff->sides[1].log.name, diff->common);
    print_frontier(diff, slot);
    if (value->numbers[0]) {
        printf("the first %s that is not the same: %" PRId64 " and %" PRId64 ", in thread %u\n"
               "           at ",
               log_kind_name(value->event.kind), (int64_t)value->values[0],
               (int64_t)value->values[1], value->slot);
        print_place(diff, &value->event.point);
        printf(" (event %" PRIu64 ")\n", value->numbers[0]);
    }
    if (resource != DIFF_NOTHING)
        print_uses(diff, resource);
}
