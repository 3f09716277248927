/* SPDX-License-Identifier: MIT */
/* `edit LOG KIND`: a copy of a recording with one thing changed, published as a new log.
 *
 * The change is made in the middle of the stream that has the most events of the kind in question,
 * by decoding all of it and coding it again.
 */
#include "replay/edit.h"

#include "arch/x86/layout.h"
#include "kernel/command.h"
#include "kernel/err.h"
#include "kernel/printf.h"
#include "kernel/string.h"
#include "mm/frames.h"
#include "mm/heap.h"
#include "replay/log_commands.h"
#include "replay/replay_commands.h"

static const struct {
    const char *name, *help;
} kinds[] = {
#define E(name, text, help) {text, help},
    EDIT_TABLE(E)
#undef E
};

struct edit {
    enum edit_kind kind;
    enum log_kind target; /* of the event that is changed */
    uint32_t slot;
    uint64_t number;
    bool done;
};

static enum log_kind target_of(enum edit_kind kind)
{
    switch (kind) {
    case EDIT_CHANGED_PROGRAM:
        return LOG_DEMOTE;
    case EDIT_WRONG_VALUE:
        return LOG_RESULT;
    default:
        return LOG_PROMOTE;
    }
}

static uint64_t count_events(struct stream *stream, enum log_kind kind)
{
    struct stream_cursor cursor;
    struct log_event event;
    uint64_t count = 0;
    stream_open(&cursor, stream);
    while (stream_next(&cursor, &event))
        count += event.kind == kind;
    return count;
}

/* The number of the nth event of a kind, from 1. */
static uint64_t nth_event(struct stream *stream, enum log_kind kind, uint64_t n)
{
    struct stream_cursor cursor;
    struct log_event event;
    stream_open(&cursor, stream);
    while (stream_next(&cursor, &event))
        if (event.kind == kind && --n == 0)
            return cursor.number;
    return 0;
}

static bool choose_event(struct recording *recording, struct edit *edit)
{
    uint64_t most = 0;
    edit->target = target_of(edit->kind);
    for (uint32_t slot = 0; slot < recording->slots; slot++) {
        uint64_t count = count_events(&recording->streams[slot], edit->target);
        if (count > most) {
            most = count;
            edit->slot = slot;
        }
    }
    if (most == 0)
        return false;
    edit->number = nth_event(&recording->streams[edit->slot], edit->target, most / 2 + 1);
    return edit->number != 0;
}

/* Later events keep their ticks, which must not become smaller than those before them. */
static void shift_tick(struct stream_cursor cursor, struct log_event *event)
{
    struct log_event *next = kmalloc(sizeof(*next));
    if (next && (!stream_next(&cursor, next) || next->point.ticks > event->point.ticks))
        event->point.ticks++;
    else
        event->point.rip++; /* no room for a tick: then another instruction */
    kfree(next);
}

/* Changes the event; how often it is to stand in the copy. */
static unsigned change_event(const struct edit *edit, const struct stream_cursor *cursor,
                             struct log_event *event)
{
    switch (edit->kind) {
    case EDIT_WRONG_PAGE:
        event->page += PAGE_SIZE;
        return 1;
    case EDIT_WRONG_TICK:
        shift_tick(*cursor, event);
        return 1;
    case EDIT_MISSING_EVENT:
        return 0;
    case EDIT_EXTRA_EVENT:
        return 2;
    case EDIT_WRONG_VALUE:
        event->a ^= 1;
        return 1;
    case EDIT_WRONG_DEPENDENCY:
        event->dep_count = 1;
        event->deps[0] = (struct log_dep){.slot = edit->slot ? 0 : 1, .event = 1ull << 40};
        return 1;
    default:
        return 1;
    }
}

static int copy_stream(struct stream *from, struct stream *to, struct edit *edit)
{
    struct stream_cursor cursor;
    struct log_event *event = kmalloc(sizeof(*event));
    int error = event ? 0 : ERR_NO_MEMORY;
    stream_open(&cursor, from);
    while (!error && stream_next(&cursor, event)) {
        unsigned times = 1;
        if (edit && cursor.number == edit->number) {
            if (edit->kind == EDIT_CUT)
                break;
            times = change_event(edit, &cursor, event);
        }
        while (times-- > 0 && !error)
            error = stream_append(to, event) ? 0 : ERR_NO_MEMORY;
    }
    kfree(event);
    return error ? error : cursor.error ? ERR_BAD_LOG : 0;
}

static uint64_t copy_frame(uint64_t frame)
{
    uint64_t copy = frame_alloc();
    if (copy)
        memcpy(PHYS_TO_VIRT(copy), PHYS_TO_VIRT(frame), PAGE_SIZE);
    return copy;
}

static int copy_checkpoint(const struct checkpoint *from, struct checkpoint *to)
{
    *to = *from;
    for (unsigned slot = 0; slot < LOG_MAX_SLOTS; slot++)
        to->threads[slot].fpu = 0;
    to->page_count = 0;
    to->pages = kzalloc((from->page_count + 1) * sizeof(*to->pages));
    to->vmas = kzalloc((from->vma_count + 1) * sizeof(*to->vmas));
    if (!to->pages || !to->vmas)
        return ERR_NO_MEMORY;
    memcpy(to->vmas, from->vmas, from->vma_count * sizeof(*to->vmas));
    for (; to->page_count < from->page_count; to->page_count++) {
        struct checkpoint_page *page = &to->pages[to->page_count];
        page->address = from->pages[to->page_count].address;
        page->frame = copy_frame(from->pages[to->page_count].frame);
        if (!page->frame)
            return ERR_NO_MEMORY;
    }
    for (unsigned slot = 0; slot < LOG_MAX_SLOTS; slot++)
        if (from->threads[slot].present) {
            to->threads[slot].fpu = copy_frame(from->threads[slot].fpu);
            if (!to->threads[slot].fpu)
                return ERR_NO_MEMORY;
        }
    return 0;
}

/* Overwrites the instruction at which the chosen event happened: two bytes of NOP. */
static void change_program(struct recording *copy, const struct edit *edit)
{
    struct stream_cursor cursor;
    struct log_event *event = kmalloc(sizeof(*event));
    stream_open(&cursor, &copy->streams[edit->slot]);
    while (event && stream_next(&cursor, event) && cursor.number < edit->number)
        continue;
    for (uint64_t i = 0; event && i < copy->checkpoint.page_count; i++) {
        const struct checkpoint_page *page = &copy->checkpoint.pages[i];
        uint64_t offset = event->point.rip - page->address;
        if (offset < PAGE_SIZE - 1)
            memset((uint8_t *)PHYS_TO_VIRT(page->frame) + offset, 0x90, 2);
    }
    kfree(event);
}

static int edit_copy(struct recording *from, struct recording *to, struct edit *edit)
{
    *to = *from;
    memset(to->streams, 0, sizeof(to->streams));
    to->file[0] = 0; /* the copy is in memory only */
    to->on_disk = false;
    memset(&to->checkpoint, 0, sizeof(to->checkpoint));
    int error = copy_checkpoint(&from->checkpoint, &to->checkpoint);
    for (uint32_t slot = 0; !error && slot < from->slots; slot++)
        error =
            copy_stream(&from->streams[slot], &to->streams[slot], slot == edit->slot ? edit : NULL);
    if (!error && edit->kind == EDIT_CHANGED_PROGRAM)
        change_program(to, edit);
    return error;
}

static int command_edit(int count, char **words)
{
    struct edit edit = {.kind = EDIT_KINDS};
    for (unsigned i = 0; count == 3 && i < EDIT_KINDS; i++)
        if (strcmp(words[2], kinds[i].name) == 0)
            edit.kind = (enum edit_kind)i;
    if (edit.kind == EDIT_KINDS) {
        for (unsigned i = 0; i < EDIT_KINDS; i++)
            printk("  %-18s %s\n", kinds[i].name, kinds[i].help);
        return ERR_USAGE;
    }
    struct recording *recording = find_log(words[1]);
    if (!recording || !choose_event(recording, &edit))
        return ERR_NOT_FOUND;
    struct recording *copy = recording_create();
    int error = copy ? edit_copy(recording, copy, &edit) : ERR_NO_MEMORY;
    if (error) {
        if (copy)
            recording_free(copy);
        return error;
    }
    recording_publish(copy);
    printk("log %u: log %u with a %s in thread %u, event %llu\n", copy->number, recording->number,
           kinds[edit.kind].name, edit.slot, (unsigned long long)edit.number);
    return 0;
}

static struct command edit_command = {
    .name = "edit",
    .arguments = "LOG KIND",
    .help = "make a damaged copy, whose replay must diverge",
    .function = command_edit,
};

void edit_register_command(void)
{
    command_register(&edit_command);
}
