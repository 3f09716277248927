/* SPDX-License-Identifier: MIT */
/* Recordings in the image of a disk; and opening a recording by its name, IMAGE:NAME. */
#include "tools/crewlog/image.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/err.h"
#include "tools/crewlog/log.h"

/* --- the device that the store reads --- */

static int read_sectors(void *context, uint64_t sector, uint32_t count, void *buffer)
{
    const struct image *image = context;
    uint64_t sectors = image->size / STORE_SECTOR;
    if (sector > sectors || count > sectors - sector)
        return ERR_RANGE;
    memcpy(buffer, image->bytes + sector * STORE_SECTOR, (size_t)count * STORE_SECTOR);
    return 0;
}

static int refuse_write(void *context, uint64_t sector, uint32_t count, const void *buffer)
{
    (void)context, (void)sector, (void)count, (void)buffer;
    return ERR_READ_ONLY;
}

static int flush_nothing(void *context)
{
    (void)context;
    return 0;
}

/* --- the image --- */

bool image_recognize(const uint8_t *bytes, uint64_t size)
{
    uint64_t magic;
    if (size < STORE_SECTOR)
        return false;
    memcpy(&magic, bytes, sizeof(magic));
    return magic == STORE_SUPER_MAGIC;
}

void image_open(struct image *image, const char *name, const uint8_t *bytes, uint64_t size)
{
    memset(image, 0, sizeof(*image));
    image->name = name;
    image->bytes = bytes;
    image->size = size;
    image->device = (struct store_device){
        .read = read_sectors,
        .write = refuse_write,
        .flush = flush_nothing,
        .sectors = size / STORE_SECTOR,
        .read_only = true,
        .context = image,
    };
    int error = store_mount(&image->store, &image->device);
    if (error)
        die("%s: %s", name, err_text(error));
    if (image->store.damaged_copies)
        warn("%s: one of the two copies of its directory is damaged", name);
}

bool image_find(const struct image *image, const char *name, const uint8_t **bytes, uint64_t *size)
{
    const struct store_entry *entry = store_find(&image->store, name);
    if (!entry)
        return false;
    *bytes = image->bytes + store_sector(entry, 0) * STORE_SECTOR;
    *size = entry->state == STORE_OPEN ? entry->sectors * STORE_SECTOR : entry->used;
    return true;
}

static void list_entry(const struct store_entry *entry, void *argument)
{
    (void)argument;
    bool open = entry->state == STORE_OPEN;
    printf("  %-39s ", entry->name);
    if (open)
        printf("%14s  %s\n", "?", "was being written");
    else
        printf("%14" PRIu64 "  %s%s\n", entry->used,
               entry->flags & STORE_COMPLETE ? "complete" : "not complete",
               entry->flags & STORE_KEPT ? ", kept" : "");
}

void image_list(const struct image *image)
{
    printf("%s: a disk of recordings, %" PRIu64 " bytes\n  %-39s %14s  %s\n", image->name,
           image->store.super.sectors * STORE_SECTOR, "recording", "bytes", "state");
    store_for_each(&image->store, list_entry, NULL);
}

/* --- opening by name --- */

/* FILE, or IMAGE:NAME when there is no such file. */
void log_open(struct log *log, const char *name)
{
    static struct image image;
    const char *colon = strrchr(name, ':');
    uint64_t size;
    if (!colon || access(name, F_OK) == 0) {
        const uint8_t *bytes = file_map(name, &size);
        if (image_recognize(bytes, size))
            die("%s is a disk of recordings: name one of them as %s:NAME; see: crewlog info", name,
                name);
        log_open_part(log, name, bytes, size);
        return;
    }
    char *file = strndup(name, (size_t)(colon - name));
    if (!file)
        die("out of memory");
    const uint8_t *bytes = file_map(file, &size);
    if (!image_recognize(bytes, size))
        die("%s is not a disk of recordings", file);
    image_open(&image, file, bytes, size);
    if (!image_find(&image, colon + 1, &bytes, &size))
        die("%s has no recording `%s`; see: crewlog info %s", file, colon + 1, file);
    log_open_part(log, name, bytes, size);
}
