/* SPDX-License-Identifier: MIT */
/* crewlog verify: every rule of the format, and those of the recorder that make a recording
 * replayable: an order of the events exists, and pages have one writer at a time in it.
 */
#include <inttypes.h>
#include <stdio.h>

#include "replay/log_check.h"
#include "tools/crewlog/log.h"
#include "tools/crewlog/owners.h"

struct offence {
    const char *reason; /* NULL: none */
    uint64_t offset, event;
    uint32_t slot;
};

static void report(const struct log *log, const struct offence *offence)
{
    printf("%s: offset %" PRIu64 ": ", log->name, offence->offset);
    if (offence->event)
        printf("event %" PRIu64 " of thread %u: ", offence->event, offence->slot);
    printf("%s\n", offence->reason);
}

/* The offence of an event that nothing can come before. */
static void blame_blocked(const struct log_merge *merge, struct offence *offence)
{
    const struct log_cursor *blocked;
    log_merge_left(merge, &blocked);
    if (blocked)
        *offence = (struct offence){
            .reason = "waits for an event that waits for it, or never comes",
            .offset = blocked->offset,
            .event = blocked->number,
            .slot = blocked->slot,
        };
}

/* Goes through all events in an order in which they can happen. Returns how many cannot. */
static uint64_t check_order(struct log *log, struct offence *offence)
{
    static struct log_merge merge;
    struct owners owners;
    struct transfer transfer;
    const struct log_cursor *cursor;
    owners_open(&owners, sizeof(struct owner));
    log_merge_open(&merge, log);
    while ((cursor = log_merge_next(&merge)) != NULL) {
        owners_apply(&owners, cursor, &transfer);
        if (transfer.error && (!offence->reason || cursor->offset < offence->offset))
            *offence = (struct offence){
                .reason = transfer.error,
                .offset = cursor->offset,
                .event = cursor->number,
                .slot = cursor->slot,
            };
    }
    owners_close(&owners);
    uint64_t left = log_merge_left(&merge, NULL);
    if (left && !offence->reason && log_complete(log))
        blame_blocked(&merge, offence);
    return left;
}

static enum status conclude(const struct log *log, uint64_t left)
{
    char text[256];
    printf("%s: %u threads, %" PRIu64 " events, every rule is kept: %s\n", log->name,
           log->reader.slots, log_events(log), log_verdict_text(log, text, sizeof(text)));
    if (left)
        printf("%s: %" PRIu64 " events depend on what is not in the file\n", log->name, left);
    return log_complete(log) ? STATUS_FINE : STATUS_INCOMPLETE;
}

enum status command_verify(char **argv)
{
    static struct log log;
    static struct log_check check;
    struct options options;
    struct offence offence = {0};
    uint64_t left = 0;
    options_parse(&options, argv, "", 1, 1);
    log_open(&log, options.files[0]);
    if (log_check(&check, &log.source))
        left = check_order(&log, &offence);
    else
        offence = (struct offence){
            .reason = check.reason,
            .offset = check.offset,
            .event = check.event,
            .slot = check.slot,
        };
    enum status status = STATUS_INCOMPLETE;
    if (offence.reason)
        report(&log, &offence);
    else
        status = conclude(&log, left);
    log_close(&log);
    return status;
}
