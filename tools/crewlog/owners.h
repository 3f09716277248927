/* SPDX-License-Identifier: MIT */
/* Who holds which page, by the events of a log_merge: concurrent read, exclusive write.
 *
 * An ended thread keeps its pages until somebody takes them, without an event for that.
 */
#ifndef TOOLS_CREWLOG_OWNERS_H
#define TOOLS_CREWLOG_OWNERS_H

#include "tools/crewlog/log.h"
#include "tools/crewlog/table.h"

#define OWNERS_MAX_PAGES 8000000
#define NOBODY LOG_MAX_SLOTS

/* First member of what owners_open() was told to keep of each page. */
struct owner {
    /* Who got it and need not have lost it; bit per slot. No DEMOTE counts here: log_merge gives
     * one out long before the PROMOTE that it was made for. */
    uint64_t holders;
    uint32_t writer; /* among them; slot + 1; 0: none */
    uint32_t last;   /* the last writer, also when it lost the page; slot + 1; 0: none */
    uint64_t readable, writable; /* what the views allow; bit per slot */
};

struct owners {
    struct table pages; /* by address: struct owner and what the caller keeps behind it */
    uint64_t ended;     /* bit per slot */
};

/* What an event did to its page. */
struct transfer {
    struct owner *owner; /* NULL: the event has no page. Valid until the next owners_apply() */
    uint64_t from;       /* bit per slot: who had to give rights up for a PROMOTE; 0: nobody */
    uint32_t source;     /* whose data a PROMOTE gets: the last other writer; NOBODY: none */
    const char *error;   /* a rule that the event breaks; NULL: none */
};

void owners_open(struct owners *owners, uint32_t value_size);
void owners_close(struct owners *owners);
void owners_apply(struct owners *owners, const struct log_cursor *cursor,
                  struct transfer *transfer);

#endif
