/* SPDX-License-Identifier: MIT */
/* The CREW rule over a recording. */
#include "tools/crewlog/owners.h"

void owners_open(struct owners *owners, uint32_t value_size)
{
    *owners = (struct owners){0};
    table_open(&owners->pages, value_size, OWNERS_MAX_PAGES);
}

void owners_close(struct owners *owners)
{
    table_close(&owners->pages);
}

static const char *view_error(const struct owners *owners, const struct owner *owner,
                              const struct log_event *event, uint64_t self)
{
    uint64_t others = ~self & ~owners->ended;
    bool write = event->rights & LOG_RIGHTS_WRITE;
    switch (event->kind) {
    case LOG_PROMOTE:
        if ((write ? owner->writable : owner->readable) & self)
            return "gets a page that it holds";
        return (write ? owner->readable : owner->writable) & others
                   ? "gets a page that another thread holds"
                   : NULL;
    case LOG_DEMOTE:
        return (event->rights == LOG_RIGHTS_NONE ? owner->readable : owner->writable) & self
                   ? NULL
                   : "loses a page that it does not hold";
    case LOG_ACCESS:
        return (write ? owner->writable : owner->readable) & self
                   ? NULL
                   : "accesses a page that it does not hold";
    case LOG_REVOKE:
        return owner->readable & others ? "takes a page away that another thread holds" : NULL;
    default:
        return NULL;
    }
}

static void change_views(struct owner *owner, const struct log_event *event, uint64_t self)
{
    if (event->kind == LOG_PROMOTE) {
        owner->readable |= self;
        if (event->rights & LOG_RIGHTS_WRITE)
            owner->writable |= self;
    } else if (event->kind == LOG_DEMOTE || event->kind == LOG_REVOKE) {
        owner->writable &= ~self;
        if (event->rights == LOG_RIGHTS_NONE)
            owner->readable &= ~self;
    }
}

static void grant(struct owner *owner, const struct log_event *event, uint32_t slot,
                  struct transfer *transfer)
{
    uint64_t self = 1ull << slot;
    bool write = event->rights & LOG_RIGHTS_WRITE;
    uint64_t writer = owner->writer ? 1ull << (owner->writer - 1) : 0;
    transfer->from = (write ? owner->holders : writer) & ~self;
    if (owner->last && owner->last != slot + 1)
        transfer->source = owner->last - 1;
    owner->holders = write ? self : owner->holders | self;
    owner->writer = write ? slot + 1 : 0;
    if (write)
        owner->last = slot + 1;
}

void owners_apply(struct owners *owners, const struct log_cursor *cursor, struct transfer *transfer)
{
    const struct log_event *event = &cursor->event;
    uint64_t self = 1ull << cursor->slot;
    *transfer = (struct transfer){.source = NOBODY};
    if (event->kind == LOG_STOP || event->kind == LOG_EXIT || event->kind == LOG_FATAL)
        owners->ended |= self;
    if (!(log_kind_fields(event->kind) & LOG_FIELD_PAGE))
        return;
    struct owner *owner = table_get(&owners->pages, event->page, NULL);
    if (!owner)
        die("%s: more than %u pages", cursor->log->name, OWNERS_MAX_PAGES);
    transfer->owner = owner;
    transfer->error = view_error(owners, owner, event, self);
    change_views(owner, event, self);
    if (event->kind == LOG_PROMOTE) {
        grant(owner, event, cursor->slot, transfer);
    } else if (event->kind == LOG_REVOKE) {
        owner->holders = 0;
        owner->writer = 0;
        owner->last = cursor->slot + 1;
    }
}
