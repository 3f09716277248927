/* SPDX-License-Identifier: MIT */
/* What is on a disk of recordings; docs/storage.md describes it. For the kernel and the host tools.
 *
 * Little-endian, fixed widths, no padding that is not named. A change of any structure changes
 * STORE_VERSION; tests/host/test_store.c holds the layout of this version.
 *
 *   sectors   what
 *   0         superblock; written once
 *   8 … 71    directory, copy 0
 *   72 … 135  directory, copy 1
 *   2048 …    extents of the recordings, in whole units
 */
#ifndef REPLAY_STORE_FORMAT_H
#define REPLAY_STORE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define STORE_VERSION 1

#define STORE_SECTOR 512u
#define STORE_UNIT_SECTORS 8u /* extents begin and end on multiples of 4 KiB */
#define STORE_ENTRIES 255u
#define STORE_NAME_SIZE 40u /* with the terminating 0; what follows it is 0, too */

#define STORE_DIRECTORY_SECTOR(copy) (8u + 64u * (copy))
#define STORE_DIRECTORY_SECTORS 64u
#define STORE_DATA_SECTOR 2048u                   /* 1 MiB */
#define STORE_SECTORS_MIN (2 * STORE_DATA_SECTOR) /* 1 MiB for data */

/* The bytes "crewdisk" and "crewdir1" as numbers. */
#define STORE_SUPER_MAGIC 0x6b73696477657263ull
#define STORE_DIRECTORY_MAGIC 0x3172696477657263ull

struct store_super {
    uint64_t magic;   /* STORE_SUPER_MAGIC */
    uint32_t version; /* STORE_VERSION */
    uint32_t crc;     /* CRC-32C of the sector with this field 0 */
    uint64_t id;      /* random: of this formatting */
    uint64_t sectors; /* of the disk when it was formatted, rounded down to whole units */
    uint32_t sector_size, unit_sectors, entries, entry_size;
    uint32_t directory_sector[2], directory_sectors, data_sector;
    uint8_t zero[448];
};

enum store_state {
    STORE_FREE = 0, /* the entry is all zeroes */
    STORE_OPEN = 1, /* being written, or was when the power went; `used` is 0 */
    STORE_CLOSED = 2,
};

#define STORE_KEPT 1u     /* never removed to make room */
#define STORE_COMPLETE 2u /* it has its end state */

struct store_entry {
    char name[STORE_NAME_SIZE]; /* unique: "racey.3" */
    uint64_t id;                /* of the file, from its writer */
    uint64_t order;             /* rises with each creation: the smaller, the older */
    uint64_t start, sectors;    /* the extent */
    uint64_t used;              /* bytes, at most sectors × 512 */
    uint32_t state;             /* enum store_state */
    uint32_t flags;
    uint64_t zero[5];
};

struct store_directory {
    uint64_t magic;      /* STORE_DIRECTORY_MAGIC */
    uint32_t version;    /* STORE_VERSION */
    uint32_t crc;        /* CRC-32C of the whole directory with this field 0 */
    uint64_t id;         /* the superblock's */
    uint64_t generation; /* rises with each change; of two valid copies the higher one counts */
    uint64_t next_order;
    uint64_t zero[11];
    struct store_entry entries[STORE_ENTRIES];
};

_Static_assert(sizeof(struct store_super) == STORE_SECTOR, "one sector, so never torn");
_Static_assert(offsetof(struct store_super, sector_size) == 32, "layout");
_Static_assert(offsetof(struct store_super, directory_sector) == 48, "layout");
_Static_assert(sizeof(struct store_entry) == 128, "layout");
_Static_assert(offsetof(struct store_entry, id) == 40, "layout");
_Static_assert(offsetof(struct store_entry, used) == 72, "layout");
_Static_assert(offsetof(struct store_directory, generation) == 24, "layout");
_Static_assert(offsetof(struct store_directory, entries) == 128, "layout");
_Static_assert(sizeof(struct store_directory) == STORE_DIRECTORY_SECTORS * STORE_SECTOR, "layout");

#endif
