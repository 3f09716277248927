/* SPDX-License-Identifier: MIT */
/* crewlog diff: the first point at which the order of conflicting accesses differs in two
 * recordings of one program.
 *
 * Both are gone through in step: the next event of a thread is passed when it is the same in both,
 * and has what it depends on in both. What can be passed stays so whatever else is passed before,
 * so where this ends does not depend on the order in which threads are looked at: it is all that
 * the two have in common. DEMOTEs do not count: where a thread loses a page says little, where it
 * misses it says all. Nor do registers and values: they differ as a consequence, or from outside.
 */
#include "tools/crewlog/diff.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_USES 8000000
#define NO_SLOT UINT32_MAX

/* --- one side --- */

static void next_event(struct diff_side *side, uint32_t slot)
{
    struct log_cursor *cursor = &side->cursors[slot];
    while ((side->ready[slot] = log_cursor_next(cursor)) && cursor->event.kind == LOG_DEMOTE)
        side->done[slot]++;
}

void diff_pass(struct diff_side *side, uint32_t slot)
{
    side->done[slot]++;
    next_event(side, slot);
}

bool diff_enabled(const struct diff_side *side, uint32_t slot)
{
    const struct log_event *event = &side->cursors[slot].event;
    if (!side->ready[slot])
        return false;
    for (unsigned i = 0; i < event->dep_count; i++)
        if (side->done[event->deps[i].slot] < event->deps[i].event)
            return false;
    return true;
}

static void open_side(struct diff *diff, unsigned index)
{
    struct diff_side *side = &diff->sides[index];
    side->title = index ? "second" : "first";
    log_open(&side->log, diff->options.files[index]);
    for (uint32_t slot = 0; slot < LOG_MAX_SLOTS; slot++) {
        log_cursor_open(&side->cursors[slot], &side->log, slot, 1);
        next_event(side, slot);
    }
}

/* --- both --- */

uint64_t diff_resource(const struct log_event *event)
{
    switch (event->kind) {
    case LOG_PROMOTE:
    case LOG_ACCESS:
    case LOG_REFUSED:
    case LOG_REVOKE:
        return event->page;
    case LOG_ORDER:
        return DIFF_OBJECT(event->a);
    default:
        return DIFF_NOTHING;
    }
}

static bool same(const struct log_event *left, const struct log_event *right)
{
    if (left->kind != right->kind)
        return false;
    if (left->kind == LOG_STOP)
        return true; /* when somebody else ends the process */
    return left->point.ticks == right->point.ticks && left->point.rip == right->point.rip &&
           left->rights == right->rights && diff_resource(left) == diff_resource(right) &&
           (left->kind != LOG_SYSCALL || left->a == right->a);
}

static uint64_t value_of(const struct log_event *event)
{
    return event->kind == LOG_RESULT ? event->a : event->b;
}

static struct diff_use use_of(const struct diff *diff, uint32_t slot)
{
    const struct log_cursor *left = &diff->sides[0].cursors[slot];
    const struct log_cursor *right = &diff->sides[1].cursors[slot];
    return (struct diff_use){
        .slot = slot,
        .numbers = {left->number, right->number},
        .values = {value_of(&left->event), value_of(&right->event)},
        .event = left->event,
    };
}

static void note(struct diff *diff, uint32_t slot)
{
    const struct log_event *left = &diff->sides[0].cursors[slot].event;
    uint64_t resource = diff_resource(left);
    if ((left->kind == LOG_RESULT || left->kind == LOG_VALUE) && !diff->other_value.numbers[0] &&
        value_of(left) != value_of(&diff->sides[1].cursors[slot].event))
        diff->other_value = use_of(diff, slot);
    if (resource == DIFF_NOTHING)
        return;
    struct diff_use *use = table_get(&diff->uses, resource, NULL);
    if (!use)
        die("more than %u pages", MAX_USES);
    *use = use_of(diff, slot);
}

/* Returns whether the thread got anywhere. */
static bool follow(struct diff *diff, uint32_t slot)
{
    struct diff_side *left = &diff->sides[0], *right = &diff->sides[1];
    bool moved = false;
    while (diff_enabled(left, slot) && diff_enabled(right, slot) &&
           same(&left->cursors[slot].event, &right->cursors[slot].event)) {
        note(diff, slot);
        diff_pass(left, slot);
        diff_pass(right, slot);
        diff->common++;
        moved = true;
    }
    return moved;
}

static void follow_all(struct diff *diff)
{
    bool moved;
    do {
        moved = false;
        for (uint32_t slot = 0; slot < LOG_MAX_SLOTS; slot++)
            moved |= follow(diff, slot);
    } while (moved);
}

/* How well the thread's next events tell the difference; 0: not at all. What can happen in both
 * recordings comes before what can in one, and what uses something in turn before the rest. */
static unsigned rate(const struct diff *diff, uint32_t slot)
{
    const struct diff_side *left = &diff->sides[0], *right = &diff->sides[1];
    bool in_left = diff_enabled(left, slot), in_right = diff_enabled(right, slot);
    if (!left->ready[slot] || !right->ready[slot] || (!in_left && !in_right))
        return 0;
    const struct log_event *a = &left->cursors[slot].event, *b = &right->cursors[slot].event;
    bool uses = diff_resource(a) != DIFF_NOTHING || diff_resource(b) != DIFF_NOTHING;
    if (a->kind == LOG_STOP || b->kind == LOG_STOP)
        return 1;
    return in_left && in_right ? uses ? 4 : 2 : 3;
}

static uint32_t find_difference(const struct diff *diff)
{
    uint32_t found = NO_SLOT;
    unsigned best = 0;
    for (uint32_t slot = 0; slot < LOG_MAX_SLOTS; slot++) {
        unsigned rating = rate(diff, slot);
        if (rating > best) {
            best = rating;
            found = slot;
        }
    }
    return found;
}

/* --- the command --- */

static void check_programs(const struct diff *diff)
{
    const struct log_header *left = &diff->sides[0].log.reader.header;
    const struct log_header *right = &diff->sides[1].log.reader.header;
    if (left->unit != right->unit)
        die("the two count ticks of different units (%s, %s): their points cannot be compared",
            log_unit_name(left->unit), log_unit_name(right->unit));
    if (memcmp(left->program_hash, right->program_hash, sizeof(left->program_hash)) != 0) {
        if (!diff->options.force)
            die("the two are of different programs (%.32s, %.32s); --force compares them",
                left->program, right->program);
        warn("the two are of different programs");
    }
    if (memcmp(left->arguments, right->arguments, sizeof(left->arguments)) != 0)
        warn("the program was started with different arguments");
}

static enum status compare(struct diff *diff)
{
    const struct log *left = &diff->sides[0].log, *right = &diff->sides[1].log;
    follow_all(diff);
    uint32_t slot = find_difference(diff);
    if (slot != NO_SLOT) {
        diff_report(diff, slot);
        return STATUS_INCOMPLETE;
    }
    bool ended = log_complete(left) && log_complete(right);
    printf("no difference in the order of accesses: %" PRIu64
           " events of %u threads are the same%s\n",
           diff->common, left->reader.slots, ended ? "" : ", as far as both recordings go");
    enum status status = log_status(left);
    enum status other = log_status(right);
    return status > other ? status : other;
}

enum status command_diff(char **argv)
{
    static struct diff diff;
    options_parse(&diff.options, argv, "elf force", 2, 2);
    open_side(&diff, 0);
    open_side(&diff, 1);
    check_programs(&diff);
    program_open(&diff.program, diff.options.elf, &diff.sides[0].log.reader.header,
                 diff.options.force);
    table_open(&diff.uses, sizeof(struct diff_use), MAX_USES);
    enum status status = compare(&diff);
    table_close(&diff.uses);
    program_close(&diff.program);
    log_close(&diff.sides[0].log);
    log_close(&diff.sides[1].log);
    return status;
}
