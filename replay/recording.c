/* SPDX-License-Identifier: MIT */
/* Recordings and their registry. */
#include "replay/recording.h"

#include "arch/x86/layout.h"
#include "kernel/printf.h"
#include "kernel/string.h"
#include "mm/frames.h"
#include "mm/heap.h"

static struct mutex registry_mutex = {.queue = WAIT_QUEUE_INIT(registry_mutex.queue, "recordings")};
static struct recording *registry; /* registry_mutex; newest first */
static uint32_t last_number;       /* registry_mutex */

struct recording *recording_create(void)
{
    return kzalloc(sizeof(struct recording));
}

static void free_checkpoint(struct checkpoint *checkpoint)
{
    for (uint64_t i = 0; i < checkpoint->page_count; i++)
        if (checkpoint->pages[i].frame)
            frame_free(checkpoint->pages[i].frame);
    for (unsigned i = 0; i < LOG_MAX_SLOTS; i++)
        if (checkpoint->threads[i].fpu)
            frame_free(checkpoint->threads[i].fpu);
    kfree(checkpoint->pages);
    kfree(checkpoint->vmas);
}

void recording_free(struct recording *recording)
{
    free_checkpoint(&recording->checkpoint);
    for (unsigned i = 0; i < LOG_MAX_SLOTS; i++)
        stream_free(&recording->streams[i]);
    kfree(recording);
}

void recording_publish(struct recording *recording)
{
    mutex_lock(&registry_mutex);
    recording->number = ++last_number;
    recording->next = registry;
    recording->finished = true;
    registry = recording;
    mutex_unlock(&registry_mutex);
}

struct recording *recording_find(uint32_t number)
{
    mutex_lock(&registry_mutex);
    struct recording *at = registry;
    while (at && number && at->number != number)
        at = at->next;
    mutex_unlock(&registry_mutex);
    return at;
}

void recording_for_each(void (*function)(struct recording *, void *), void *argument)
{
    mutex_lock(&registry_mutex);
    for (struct recording *at = registry; at; at = at->next)
        function(at, argument);
    mutex_unlock(&registry_mutex);
}

bool recording_delete(uint32_t number)
{
    struct recording *found = NULL;
    mutex_lock(&registry_mutex);
    for (struct recording **link = &registry; *link; link = &(*link)->next)
        if ((*link)->number == number) {
            found = *link;
            *link = found->next;
            break;
        }
    mutex_unlock(&registry_mutex);
    if (found)
        recording_free(found);
    return found != NULL;
}

void recording_set_command(struct recording *recording)
{
    const struct log_header *header = &recording->header;
    size_t used = 0, at = 0;
    for (uint32_t i = 0; i < header->argument_count && at < sizeof(header->arguments); i++) {
        const char *word = header->arguments + at;
        if (used < sizeof(recording->command))
            used +=
                (size_t)format_text(recording->command + used, sizeof(recording->command) - used,
                                    "%s%s", i ? " " : "", word);
        at += strlen(word) + 1;
    }
}

bool recording_in_memory(const struct recording *recording)
{
    for (unsigned slot = 0; slot < recording->slots; slot++)
        for (uint64_t i = 0; i < recording->streams[slot].blocks; i++)
            if (!stream_block(&recording->streams[slot], i))
                return false;
    return true;
}

static void forget_file(struct recording *recording, void *argument)
{
    const char *name = argument;
    if (!recording->on_disk || (name && strcmp(recording->file, name) != 0))
        return;
    recording->on_disk = false;
    recording->file[0] = 0;
}

void recording_forget_file(const char *name)
{
    recording_for_each(forget_file, (void *)name);
}

uint64_t recording_events(const struct recording *recording)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < recording->slots; i++)
        sum += recording->streams[i].events;
    return sum;
}

uint64_t recording_bytes(const struct recording *recording)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < recording->slots; i++)
        sum += recording->streams[i].bytes;
    return sum;
}

uint64_t recording_ticks(const struct recording *recording)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < recording->slots; i++)
        sum += recording->end.threads[i].ticks;
    return sum;
}
