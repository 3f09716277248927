/* SPDX-License-Identifier: MIT */
/* Threads that share pages by the CREW rule, and the events that this gives. */
#include <string.h>

#include "tests/host/log_maker_internal.h"
#include "tests/host/random.h"

uint64_t maker_text_address(struct maker *maker)
{
    uint64_t text = maker->recipe->size ? maker->recipe->text : TEXT_BASE;
    uint64_t size = maker->recipe->size ? maker->recipe->size : 0x2000;
    uint64_t near = random_below(&maker->seed, 4) ? size / 8 + 1 : size; /* some code is hotter */

    return text + random_below(&maker->seed, near);
}

void maker_put_block(struct maker *maker, uint32_t slot)
{
    struct maker_thread *thread = &maker->thread[slot];
    struct log_block block = {.first_event = thread->events - thread->in_block + 1,
                              .events = thread->in_block};

    if (!thread->in_block)
        return;
    memcpy(thread->block + sizeof(struct log_chunk), &block, sizeof block);
    maker_put_chunk(maker, thread->block, LOG_CHUNK_STREAM, slot,
                    (uint32_t)sizeof block + thread->block_bytes);
    memset(&thread->coder, 0, sizeof thread->coder);
    thread->in_block = thread->block_bytes = 0;
    if (random_below(&maker->seed, 8) == 0)
        maker_put_pad(maker);
}

/* Gives the event the thread's point and appends it; returns its number. */
static uint64_t add_event(struct maker *maker, uint32_t slot, struct log_event *event)
{
    struct maker_thread *thread = &maker->thread[slot];
    uint8_t *start = thread->block + sizeof(struct log_chunk) + sizeof(struct log_block);

    if (thread->block_bytes + LOG_EVENT_MAX_BYTES > LOG_BLOCK_BYTES)
        maker_put_block(maker, slot);
    event->point = thread->point;
    thread->block_bytes += (uint32_t)log_encode(&thread->coder, event, start + thread->block_bytes);
    thread->in_block++;
    maker->events++;
    return ++thread->events;
}

/* The thread runs for a while. */
static void run(struct maker *maker, uint32_t slot)
{
    struct log_point *point = &maker->thread[slot].point;
    uint64_t ticks = random_below(&maker->seed, 1ull << random_below(&maker->seed, 12));

    *point = (struct log_point){
        .ticks = point->ticks + ticks,
        .rip = maker_text_address(maker),
        .rcx = random_below(&maker->seed, 3) ? point->rcx : random_below(&maker->seed, 1000),
        .check = (uint32_t)random_u64(&maker->seed),
    };
}

/* The event comes after event `number` of another thread, unless that is known already. */
static void add_dep(struct maker *maker, uint32_t slot, struct log_event *event, struct log_dep dep)
{
    uint64_t *seen = &maker->thread[slot].seen[dep.slot];

    if (dep.event == 0 || dep.slot == slot || *seen >= dep.event)
        return;
    *seen = dep.event;
    event->deps[event->dep_count++] = dep;
}

/* Takes from `victim` what is in the way of the access, as the event that it is. */
static void demote(struct maker *maker, uint32_t victim, uint32_t index, uint8_t rights,
                   struct log_event *promotion, uint32_t slot)
{
    struct maker_page *page = &maker->page[index];
    struct log_event event = {
        .kind = LOG_DEMOTE, .page = DATA_BASE + index * LOG_PAGE_SIZE, .rights = rights};

    if (victim == slot || page->rights[victim] <= rights)
        return;
    run(maker, victim);
    uint64_t number = add_event(maker, victim, &event);
    if (page->writer == victim)
        page->last_write = (struct log_dep){victim, number};
    page->rights[victim] = rights;
    add_dep(maker, slot, promotion, (struct log_dep){victim, number});
}

static void acquire(struct maker *maker, uint32_t slot, uint32_t index, uint8_t rights)
{
    struct maker_page *page = &maker->page[index];
    struct log_event event = {
        .kind = LOG_PROMOTE, .page = DATA_BASE + index * LOG_PAGE_SIZE, .rights = rights};
    uint8_t left = rights == LOG_RIGHTS_WRITE ? LOG_RIGHTS_NONE : LOG_RIGHTS_READ;

    if (page->rights[slot] >= rights)
        return;
    for (uint32_t victim = 0; victim < maker->threads; victim++)
        demote(maker, victim, index, left, &event, slot);
    add_dep(maker, slot, &event, page->last_write);
    add_event(maker, slot, &event);
    page->rights[slot] = rights;
    page->writer = rights == LOG_RIGHTS_WRITE ? slot : NOBODY;
}

static void add(struct maker *maker, uint32_t slot, enum log_kind kind, uint64_t a, uint64_t b)
{
    struct log_event event = {.kind = (uint8_t)kind, .a = a, .b = b};

    add_event(maker, slot, &event);
}

static void use_object(struct maker *maker, uint32_t slot, uint32_t object)
{
    struct log_event event = {.kind = LOG_ORDER, .a = object};

    add_dep(maker, slot, &event, maker->object_last[object]);
    uint64_t number = add_event(maker, slot, &event);
    maker->object_last[object] = (struct log_dep){slot, number};
}

static void call_owner(struct maker *maker, uint32_t slot, uint32_t pages)
{
    add(maker, slot, LOG_SYSCALL, 288, 0);
    add(maker, slot, LOG_OWNER, pages, random_u64(&maker->seed));
    add(maker, slot, LOG_RESULT, pages, 0);
}

static void call_write(struct maker *maker, uint32_t slot, uint32_t index)
{
    struct log_event event = {
        .kind = LOG_ACCESS, .page = DATA_BASE + index * LOG_PAGE_SIZE, .rights = LOG_RIGHTS_READ};

    add(maker, slot, LOG_SYSCALL, 1, 0);
    use_object(maker, slot, 2);
    acquire(maker, slot, index, LOG_RIGHTS_READ);
    add_event(maker, slot, &event);
    add(maker, slot, LOG_RESULT, 1 + random_below(&maker->seed, 100), 0);
}

static void call_refused(struct maker *maker, uint32_t slot)
{
    struct log_event event = {.kind = LOG_REFUSED, .page = 0x1000, .rights = LOG_RIGHTS_WRITE};

    add(maker, slot, LOG_SYSCALL, 228, 0);
    add(maker, slot, LOG_VALUE, 2, random_u64(&maker->seed) >> 20);
    add_event(maker, slot, &event);
    add(maker, slot, LOG_RESULT, (uint64_t)-14, 0);
}

static void call_futex(struct maker *maker, uint32_t slot)
{
    add(maker, slot, LOG_SYSCALL, 202, 0);
    use_object(maker, slot, 3 + (uint32_t)random_below(&maker->seed, OBJECTS - 3));
    add(maker, slot, LOG_VALUE, 3, (uint64_t) - (int64_t)random_below(&maker->seed, 2) * 110);
    add(maker, slot, LOG_RESULT, 0, 0);
}

/* A page is given back; its views lose it, whoever they are. */
static void call_mprotect(struct maker *maker, uint32_t slot, uint32_t index)
{
    struct log_event promotion = {.kind = LOG_REVOKE, .page = DATA_BASE + index * LOG_PAGE_SIZE};
    struct maker_page *page = &maker->page[index];

    add(maker, slot, LOG_SYSCALL, 10, 0);
    use_object(maker, slot, 0);
    for (uint32_t victim = 0; victim < maker->threads; victim++)
        demote(maker, victim, index, LOG_RIGHTS_NONE, &promotion, slot);
    add_dep(maker, slot, &promotion, page->last_write);
    page->rights[slot] = LOG_RIGHTS_NONE;
    page->writer = NOBODY;
    page->last_write = (struct log_dep){slot, add_event(maker, slot, &promotion)};
    add(maker, slot, LOG_RESULT, 0, 0);
}

static void call_clone(struct maker *maker, uint32_t slot)
{
    uint32_t child = maker->threads;

    add(maker, slot, LOG_SYSCALL, 56, 0);
    use_object(maker, slot, 1);
    add(maker, slot, LOG_RESULT, 7 + child, 0);
    maker->threads++;
    run(maker, child);
    maker->thread[child].point.ticks = 0;
}

/* A thread's first events: its code. */
static void take_text(struct maker *maker, uint32_t slot)
{
    struct maker_thread *thread = &maker->thread[slot];
    struct log_event event = {.kind = LOG_PROMOTE,
                              .page = thread->point.rip & ~4095ull,
                              .rights = LOG_RIGHTS_READ | LOG_RIGHTS_EXECUTE};

    if (!thread->has_text)
        add_event(maker, slot, &event);
    thread->has_text = true;
}

/* Some pages are wanted much more than others. */
static uint32_t choose_page(struct maker *maker)
{
    uint32_t pages = maker->recipe->pages;

    if (random_below(&maker->seed, 3))
        pages = (pages + 7) / 8;
    return (uint32_t)random_below(&maker->seed, pages);
}

void maker_step(struct maker *maker)
{
    uint32_t slot = (uint32_t)random_below(&maker->seed, maker->threads);
    uint32_t index = choose_page(maker);

    take_text(maker, slot);
    run(maker, slot);
    switch (random_below(&maker->seed, 24)) {
    case 0:
        call_write(maker, slot, index);
        break;
    case 1:
        call_futex(maker, slot);
        break;
    case 2:
        if (random_below(&maker->seed, 4) == 0)
            call_refused(maker, slot);
        break;
    case 3:
        if (random_below(&maker->seed, 8) == 0)
            call_mprotect(maker, slot, index);
        break;
    case 4:
        add(maker, slot, LOG_VALUE, 1, maker->events * 1000);
        break;
    case 5:
        if (maker->threads < maker->recipe->threads)
            call_clone(maker, slot);
        break;
    case 6:
        if (random_below(&maker->seed, 8) == 0)
            call_owner(maker, slot, index);
        break;
    default:
        acquire(maker, slot, index,
                random_below(&maker->seed, 2) ? LOG_RIGHTS_WRITE : LOG_RIGHTS_READ);
    }
}

void maker_end_threads(struct maker *maker)
{
    for (uint32_t slot = 0; slot < maker->threads; slot++) {
        run(maker, slot);
        if (slot == 0) {
            add(maker, slot, LOG_SYSCALL, 231, 0);
            add(maker, slot, LOG_EXIT, 3, 0);
        } else {
            add(maker, slot, LOG_STOP, 0, 0);
        }
    }
}
