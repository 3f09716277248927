/* SPDX-License-Identifier: MIT */
/* The CREW rule. */
#include "replay/crew.h"

static inline uint64_t bit(uint32_t slot)
{
    return 1ull << slot;
}

void crew_reset(struct user_page *page)
{
    page->holders = 0;
    page->writer = CREW_NO_WRITER;
    page->last_write = (struct stamp){0};
}

enum log_rights crew_rights(const struct user_page *page, uint32_t slot)
{
    if (page->writer == (int32_t)slot)
        return LOG_RIGHTS_WRITE;
    return page->holders & bit(slot) ? LOG_RIGHTS_READ : LOG_RIGHTS_NONE;
}

uint64_t crew_victims(const struct user_page *page, uint32_t slot, bool write)
{
    if (write)
        return page->holders & ~bit(slot);
    return page->writer == CREW_NO_WRITER ? 0 : bit((uint32_t)page->writer) & ~bit(slot);
}

enum log_rights crew_victim_keeps(bool write)
{
    return write ? LOG_RIGHTS_NONE : LOG_RIGHTS_READ;
}

void crew_lose(struct user_page *page, uint32_t slot, enum log_rights rights, uint64_t event)
{
    if (page->writer == (int32_t)slot && rights != LOG_RIGHTS_WRITE) {
        page->writer = CREW_NO_WRITER;
        page->last_write = (struct stamp){.slot = slot, .event = event};
    }
    if (rights == LOG_RIGHTS_NONE)
        page->holders &= ~bit(slot);
}

bool crew_grant(struct user_page *page, uint32_t slot, bool write)
{
    if (crew_victims(page, slot, write))
        return false;
    page->holders |= bit(slot);
    if (write)
        page->writer = (int32_t)slot;
    return true;
}

bool crew_consistent(const struct user_page *page)
{
    return page->writer == CREW_NO_WRITER || page->holders == bit((uint32_t)page->writer);
}
