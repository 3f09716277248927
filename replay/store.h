/* SPDX-License-Identifier: MIT */
/* Recordings on a disk: a fixed directory in two copies, and one contiguous extent each.
 *
 * Crash-safe at every write: a change of the directory is written to the copy that is not current,
 * flushed, and then to the other one; data follows the directory entry that reserves its place, and
 * is flushed before the entry that says how long it is. Nothing that was written is written again.
 *
 * Pure: works on a struct store_device, allocates nothing, is compiled for the kernel and for host
 * tools. Locks: the caller's, one for all functions of a store (only store_sector() may be called
 * without). A function that gives an error has changed nothing, but after an error of the device
 * while the directory was written: then every change gives ERR_STORE_BROKEN until store_mount().
 */
#ifndef REPLAY_STORE_H
#define REPLAY_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/store_format.h"

/* Functions return 0 or a negative error, which is passed on. */
struct store_device {
    int (*read)(void *context, uint64_t sector, uint32_t count, void *buffer);
    int (*write)(void *context, uint64_t sector, uint32_t count, const void *buffer);
    int (*flush)(void *context); /* what was written before is durable then */
    uint64_t sectors;
    bool read_only; /* changes give ERR_READ_ONLY */
    void *context;
};

/* Large; static or in the heap. Callers read `directory` and `damaged_copies` at most. */
struct store {
    const struct store_device *device; /* NULL: not mounted */
    uint64_t sectors;                  /* of the superblock */
    struct store_directory directory;  /* as it is on the disk */
    struct store_directory next;       /* being changed or checked */
    struct store_super super;
    unsigned current;        /* the copy that directory was read from or written to first */
    unsigned damaged_copies; /* found by store_mount: 0, or 1 that the next change repairs */
    bool broken;             /* the device failed while the directory was written */
    const struct store_entry *writing; /* created since the mount and not yet closed, or NULL */
    uint64_t written;                  /* sectors of it */
};

/* Reads superblock and directory; writes nothing. ERR_STORE_BLANK: all zero where a format or
 * another system would have left something; store_format() may follow. ERR_STORE_FOREIGN: not ours,
 * not blank. ERR_STORE_VERSION, ERR_STORE_SIZE, ERR_STORE_DAMAGED, or the device's error. */
int store_mount(struct store *store, const struct store_device *device);

/* Makes an empty store, whatever was there before, and mounts it. id: a random number. */
int store_format(struct store *store, const struct store_device *device, uint64_t id);

/* --- finding; entries stay where they are until the next change of the directory --- */

const struct store_entry *store_find(const struct store *store, const char *name);
typedef void store_function(const struct store_entry *entry, void *argument);
void store_for_each(const struct store *store, store_function *function,
                    void *argument); /* by age */
/* One that was being written when the power went, not yet recovered; NULL: none. */
const struct store_entry *store_unfinished(const struct store *store);
uint64_t store_largest_gap(const struct store *store); /* sectors that the next one would get */

/* "racey.4": one more than the highest number of that program; the program's name is cut to fit. */
void store_unique_name(const struct store *store, const char *program, char out[STORE_NAME_SIZE]);

/* Where an entry's byte (a multiple of 512) lies on the disk. */
static inline uint64_t store_sector(const struct store_entry *entry, uint64_t offset)
{
    return entry->start + offset / STORE_SECTOR;
}

/* Whole sectors of one entry. ERR_RANGE beyond what it holds: its used bytes rounded up to sectors;
 * what was appended so far; all of the extent, when it is unfinished. */
int store_read(const struct store *store, const struct store_entry *entry, uint64_t offset,
               uint32_t length, void *buffer);

/* --- writing --- */

/* Reserves the largest gap. When that is less than a quarter of the disk or 1 MiB, or the directory
 * is full, closed entries that are not KEPT are removed, the oldest first, until it is not;
 * `removed` (may be NULL) is told each one when that is on the disk. ERR_STORE_FULL: still less
 * than 1 MiB, or no entry (then nothing was removed). ERR_STORE_NAME: taken, empty, too long, or
 * not printable. ERR_STORE_OPEN: one is being written, or unfinished. */
int store_create(struct store *store, const char *name, uint64_t id, store_function *removed,
                 void *argument);

/* Appends whole sectors to the entry being written. ERR_STORE_FULL: its extent is full. After an
 * error of the device it can be closed with what was appended before. */
int store_append(struct store *store, const void *data, uint32_t length);
uint64_t store_room(const struct store *store); /* bytes that can still be appended */
int store_flush(struct store *store);           /* what was appended survives a power cut then */

/* Flushes, then ends it: `used` bytes of what was appended (0: the entry goes), and the rest of the
 * extent is free again. */
int store_close(struct store *store, uint64_t used, bool complete);

int store_delete(struct store *store, const char *name); /* ERR_NOT_FOUND, ERR_STORE_OPEN */
int store_keep(struct store *store, const char *name, bool keep); /* the same errors */

/* For the unfinished entry: `scan` reads it with store_read() and says how many bytes are valid and
 * whether its end is among them; an error of it is passed on. Then it is closed so (0 bytes: it is
 * removed). 0 when there was none. */
struct store_scan {
    uint64_t used;
    bool complete;
};
typedef int store_scan_function(const struct store *store, const struct store_entry *entry,
                                struct store_scan *out, void *argument);
int store_recover(struct store *store, store_scan_function *scan, void *argument);

#endif
