/* SPDX-License-Identifier: MIT */
/* The rules of what is in a recording: its events, and how they fit the checkpoint and the end. */
#include "replay/log_check.h"

#include "kernel/abi.h"
#include "kernel/names.h"
#include "kernel/recorder.h"
#include "kernel/string.h"

#define USER_LIMIT (1ull << 47)

static bool offend(struct log_check *check, uint64_t offset, uint32_t slot, uint64_t event,
                   const char *reason)
{
    check->reason = reason;
    check->offset = offset;
    check->slot = slot;
    check->event = event;
    return false;
}

/* --- one event --- */

static bool rights_fit(const struct log_event *event)
{
    unsigned rights = event->rights & LOG_RIGHTS_MASK;
    bool execute = event->rights & LOG_RIGHTS_EXECUTE;
    switch (event->kind) {
    case LOG_PROMOTE:
        return rights != LOG_RIGHTS_NONE;
    case LOG_DEMOTE:
        return rights != LOG_RIGHTS_WRITE && !execute;
    case LOG_ACCESS:
    case LOG_REFUSED:
        return rights != LOG_RIGHTS_NONE && !execute;
    default:
        return true;
    }
}

static bool value_known(uint64_t kind)
{
#define X(number, name, text)                                                                      \
    if (kind == number)                                                                            \
        return true;
    VALUE_TABLE(X)
#undef X
    return false;
}

static const char *operand_error(const struct log_event *event)
{
    if (event->page >= USER_LIMIT)
        return "page is not a program's";
    if (!rights_fit(event))
        return "rights that this kind of event never has";
    if (event->kind == LOG_ORDER && event->a >= OBJECT_COUNT)
        return "unknown kernel object";
    if (event->kind == LOG_VALUE && !value_known(event->a))
        return "unknown kind of value";
    return NULL;
}

static const char *deps_error(const struct log_check *check, uint32_t slot,
                              const struct log_event *event)
{
    bool complete = check->whole.verdict == LOG_VERDICT_COMPLETE;
    for (unsigned i = 0; i < event->dep_count; i++) {
        const struct log_dep *dep = &event->deps[i];
        if (dep->slot == slot)
            return "depends on its own thread";
        for (unsigned earlier = 0; earlier < i; earlier++)
            if (event->deps[earlier].slot == dep->slot)
                return "depends twice on one thread";
        if (complete && dep->event > check->whole.events[dep->slot])
            return "depends on an event that does not exist";
    }
    return NULL;
}

/* What comes only inside of a system call. A page can also be accessed outside of one, for an
 * instruction that the kernel emulates. */
static bool needs_syscall(unsigned kind)
{
    return kind == LOG_RESULT || kind == LOG_ORDER || kind == LOG_OWNER || kind == LOG_REVOKE ||
           kind == LOG_EXIT;
}

static const char *sequence_error(const struct log_check_thread *thread,
                                  const struct log_event *event)
{
    if (thread->ended)
        return "an event behind the end of its thread";
    if (event->point.ticks < thread->ticks)
        return "ticks go back";
    if (event->kind == LOG_SYSCALL && thread->in_syscall)
        return "a system call within a system call";
    if (needs_syscall(event->kind) && !thread->in_syscall)
        return "comes only in a system call";
    return NULL;
}

static void follow(struct log_check *check, struct log_check_thread *thread,
                   const struct log_event *event)
{
    thread->events++;
    thread->ticks = event->point.ticks;
    if (event->kind == LOG_SYSCALL) {
        thread->in_syscall = true;
        thread->syscall = event->a;
        check->clones += event->a == SYS_clone;
    }
    if (event->kind == LOG_RESULT) {
        thread->in_syscall = false;
        /* The number itself: the call was interrupted and is made again. */
        check->cloned +=
            thread->syscall == SYS_clone && (int64_t)event->a > 0 && event->a != SYS_clone;
    }
    thread->ended = event->kind == LOG_STOP || event->kind == LOG_EXIT || event->kind == LOG_FATAL;
}

static bool check_event(struct log_check *check, uint64_t offset, uint32_t slot)
{
    struct log_check_thread *thread = &check->threads[slot];
    const struct log_event *event = &check->current;
    const char *error = operand_error(event);
    if (!error)
        error = deps_error(check, slot, event);
    if (!error)
        error = sequence_error(thread, event);
    if (error)
        return offend(check, offset, slot, thread->events + 1, error);
    follow(check, thread, event);
    return true;
}

/* --- chunks --- */

static bool check_block(struct log_check *check, const struct log_item *item)
{
    struct log_coder coder = {0};
    struct log_block block;
    uint32_t slot = item->chunk.slot, at = sizeof(block);
    struct log_check_thread *thread = &check->threads[slot];
    memcpy(&block, item->payload, sizeof(block));
    thread->last = item->offset;
    for (uint32_t i = 0; i < block.events; i++) {
        const char *reason;
        uint64_t offset = item->offset + sizeof(item->chunk) + at;
        size_t length = log_decode(&coder, item->payload + at, item->chunk.length - at,
                                   &check->current, &reason);
        if (length == 0)
            return offend(check, offset, slot, thread->events + 1, reason);
        if (!check_event(check, offset, slot))
            return false;
        at += (uint32_t)length;
    }
    return at == item->chunk.length ||
           offend(check, item->offset + sizeof(item->chunk) + at, slot, thread->events,
                  "bytes behind the last event of a block");
}

/* Pages and mappings ascend, so one reader goes through the mappings beside the other. */
static bool check_page(struct log_check *check, const struct log_item *item)
{
    struct log_item other;
    struct log_page page;
    memcpy(&page, item->payload, sizeof(page));
    while (check->vma.end <= page.address) {
        if (!log_reader_next(&check->mappings, check->mapping_buffer, &other))
            return offend(check, item->offset, 0, 0, "a page outside of all mappings");
        if (other.chunk.kind == LOG_CHUNK_VMA)
            memcpy(&check->vma, other.payload, sizeof(check->vma));
    }
    return check->vma.start <= page.address ||
           offend(check, item->offset, 0, 0, "a page outside of all mappings");
}

static bool check_threads_end(struct log_check *check, const struct log_item *item)
{
    for (uint32_t slot = 0; slot < check->whole.slots; slot++) {
        const struct log_check_thread *thread = &check->threads[slot];
        if (!thread->ended)
            return offend(check, thread->events ? thread->last : item->offset, slot, thread->events,
                          "the thread's last event does not end it");
        if (check->whole.ends[slot].ticks < thread->ticks)
            return offend(check, item->offset, slot, 0,
                          "the thread ends with fewer ticks than its last event has");
    }
    return true;
}

/* Threads come from the checkpoint, or from clone. */
static bool check_end(struct log_check *check, const struct log_item *item)
{
    uint64_t came = check->whole.slots - check->whole.found.threads;
    if (check->whole.verdict != LOG_VERDICT_COMPLETE)
        return true;
    if (came < check->cloned || came > check->clones)
        return offend(check, item->offset, 0, 0, "more or fewer threads than were made");
    return check_threads_end(check, item);
}

static bool check_item(struct log_check *check, const struct log_item *item)
{
    switch (item->chunk.kind) {
    case LOG_CHUNK_PAGE:
        return check_page(check, item);
    case LOG_CHUNK_STREAM:
        return check_block(check, item);
    case LOG_CHUNK_END:
        return check_end(check, item);
    default:
        return true;
    }
}

/* --- both passes --- */

bool log_check(struct log_check *check, const struct log_source *source)
{
    struct log_item item;
    memset(check, 0, offsetof(struct log_check, buffer));
    log_reader_open(&check->whole, source);
    while (log_reader_next(&check->whole, check->buffer, &item))
        ;
    if (check->whole.verdict == LOG_VERDICT_BAD)
        return offend(check, check->whole.offset, 0, 0, check->whole.reason);
    log_reader_open(&check->reader, source);
    log_reader_open(&check->mappings, source);
    while (log_reader_next(&check->reader, check->buffer, &item))
        if (!check_item(check, &item))
            return false;
    return check->reader.verdict == check->whole.verdict ||
           offend(check, check->reader.offset, 0, 0, "the file changes while it is read");
}
