/* SPDX-License-Identifier: MIT */
/* A disk in memory for tests of the store: notes every write and flush, so that a power cut can be
 * made up at any of them, and undoes what a test did to it. Fails when a test wants it.
 */
#ifndef TESTS_HOST_SIM_DISK_H
#define TESTS_HOST_SIM_DISK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/err.h"
#include "replay/store.h"
#include "tests/host/random.h"

#define SIM_SECTORS 8192u /* 4 MiB */
#define SIM_OPERATIONS 4096
#define SIM_APPEND 23 /* sectors at a time */

struct sim_operation {
    bool flush;
    uint32_t call; /* of the scenario; see test_store_crash.c */
    uint64_t sector;
    uint32_t count;
    uint8_t *data;
};

/* A sector as it was before it was written. */
struct sim_saved {
    struct sim_saved *next;
    uint64_t sector;
    uint8_t data[STORE_SECTOR];
};

struct sim_disk {
    uint8_t bytes[SIM_SECTORS * STORE_SECTOR];
    struct sim_operation operations[SIM_OPERATIONS]; /* while `noting` */
    unsigned count;
    bool noting;
    uint32_t call;
    struct sim_saved *saved; /* while `saving`, newest first */
    bool saving;
    unsigned writes, flushes;
    int fail_writes_after, fail_reads_at; /* so many writes work; no read of that sector; -1: all */
};

static inline int sim_read(void *context, uint64_t sector, uint32_t count, void *buffer)
{
    struct sim_disk *disk = context;

    if (sector + count > SIM_SECTORS)
        return ERR_RANGE;
    if (disk->fail_reads_at >= (int64_t)sector && disk->fail_reads_at < (int64_t)(sector + count))
        return ERR_IO;
    memcpy(buffer, disk->bytes + sector * STORE_SECTOR, (size_t)count * STORE_SECTOR);
    return 0;
}

/* One sector onto the medium. */
static inline void sim_put(struct sim_disk *disk, uint64_t sector, const uint8_t *data)
{
    uint8_t *place = disk->bytes + sector * STORE_SECTOR;

    if (disk->saving) {
        struct sim_saved *saved = malloc(sizeof *saved);
        saved->sector = sector;
        memcpy(saved->data, place, STORE_SECTOR);
        saved->next = disk->saved;
        disk->saved = saved;
    }
    memcpy(place, data, STORE_SECTOR);
}

static inline void sim_note(struct sim_disk *disk, bool flush, uint64_t sector, uint32_t count,
                            const void *data)
{
    if (!disk->noting)
        return;
    if (disk->count == SIM_OPERATIONS)
        abort();
    struct sim_operation *operation = &disk->operations[disk->count++];
    *operation = (struct sim_operation){flush, disk->call, sector, count, NULL};
    if (!flush) {
        operation->data = malloc((size_t)count * STORE_SECTOR);
        memcpy(operation->data, data, (size_t)count * STORE_SECTOR);
    }
}

static inline int sim_write(void *context, uint64_t sector, uint32_t count, const void *buffer)
{
    struct sim_disk *disk = context;

    if (sector + count > SIM_SECTORS)
        return ERR_RANGE;
    if (disk->fail_writes_after == 0)
        return ERR_IO;
    if (disk->fail_writes_after > 0)
        disk->fail_writes_after--;
    disk->writes++;
    sim_note(disk, false, sector, count, buffer);
    for (uint32_t i = 0; i < count; i++)
        sim_put(disk, sector + i, (const uint8_t *)buffer + (size_t)i * STORE_SECTOR);
    return 0;
}

static inline int sim_flush(void *context)
{
    struct sim_disk *disk = context;

    disk->flushes++;
    sim_note(disk, true, 0, 0, NULL);
    return 0;
}

static inline struct store_device sim_device(struct sim_disk *disk)
{
    return (struct store_device){sim_read, sim_write, sim_flush, SIM_SECTORS, false, disk};
}

static inline void sim_reset(struct sim_disk *disk)
{
    for (unsigned i = 0; i < disk->count; i++)
        free(disk->operations[i].data);
    memset(disk, 0, sizeof *disk);
    disk->fail_writes_after = disk->fail_reads_at = -1;
}

/* Gives back what was written since `saving` was set. */
static inline void sim_undo(struct sim_disk *disk)
{
    while (disk->saved) {
        struct sim_saved *saved = disk->saved;
        memcpy(disk->bytes + saved->sector * STORE_SECTOR, saved->data, STORE_SECTOR);
        disk->saved = saved->next;
        free(saved);
    }
}

/* --- recordings whose every sector can be recognised --- */

static inline void sim_fill(uint8_t *sector, uint64_t id, uint64_t index)
{
    uint64_t state = id * 0x9e3779b97f4a7c15ull + index + 1, words[8];

    for (unsigned i = 0; i < 8; i++)
        words[i] = random_u64(&state);
    for (unsigned at = 0; at < STORE_SECTOR; at += sizeof words)
        memcpy(sector + at, words, sizeof words);
}

/* How many whole sectors of the entry, of `most`, are as sim_fill() made them. */
static inline uint64_t sim_valid_sectors(const struct store *store, const struct store_entry *entry,
                                         uint64_t most)
{
    uint8_t wanted[STORE_SECTOR], found[STORE_SECTOR];

    for (uint64_t i = 0; i < most; i++) {
        sim_fill(wanted, entry->id, i);
        if (store_read(store, entry, i * STORE_SECTOR, STORE_SECTOR, found) ||
            memcmp(wanted, found, STORE_SECTOR) != 0)
            return i;
    }
    return most;
}

static inline int sim_scan(const struct store *store, const struct store_entry *entry,
                           struct store_scan *out, void *argument)
{
    (void)argument;
    out->used = sim_valid_sectors(store, entry, entry->sectors) * STORE_SECTOR;
    return 0;
}

/* Appends that many sectors to the entry that is being written, a few at a time. */
static inline int sim_append(struct store *store, uint32_t sectors)
{
    static uint8_t data[SIM_APPEND * STORE_SECTOR];
    int error = 0;

    while (sectors > 0 && !error) {
        uint32_t part = sectors < SIM_APPEND ? sectors : SIM_APPEND;
        for (uint32_t i = 0; i < part; i++)
            sim_fill(data + i * STORE_SECTOR, store->writing->id, store->written + i);
        error = store_append(store, data, part * STORE_SECTOR);
        sectors -= part;
    }
    return error;
}

/* A whole recording of so many bytes. */
static inline int sim_record(struct store *store, const char *name, uint64_t id, uint64_t bytes,
                             bool complete)
{
    int error = store_create(store, name, id, NULL, NULL);

    if (!error)
        error = sim_append(store, (uint32_t)((bytes + STORE_SECTOR - 1) / STORE_SECTOR));
    return error ? error : store_close(store, bytes, complete);
}

#endif
