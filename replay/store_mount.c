/* SPDX-License-Identifier: MIT */
/* Mounting and formatting, and writing a changed directory. Pure; locks: the caller's. */
#include "kernel/err.h"
#include "kernel/string.h"
#include "replay/store_internal.h"

static int read_sectors(const struct store_device *device, uint64_t sector, uint32_t count,
                        void *buffer)
{
    return device->read(device->context, sector, count, buffer);
}

static int write_sectors(const struct store_device *device, uint64_t sector, uint32_t count,
                         const void *buffer)
{
    return device->write(device->context, sector, count, buffer);
}

static bool sectors_are_zero(const void *data, uint32_t count)
{
    const uint64_t *words = data;
    for (uint32_t i = 0; i < count * STORE_SECTOR / sizeof(*words); i++)
        if (words[i] != 0)
            return false;
    return true;
}

/* --- is it blank? --- */

/* What store_format() leaves when it is cut off before it writes the superblock. */
static bool is_fresh_directory(const struct store_directory *directory, uint64_t sector)
{
    return (sector == STORE_DIRECTORY_SECTOR(0) || sector == STORE_DIRECTORY_SECTOR(1)) &&
           store_directory_is_valid(directory, directory->id, 0) && directory->generation == 1;
}

/* Whether [from, to) holds nothing. */
static int check_blank(struct store *store, const struct store_device *device, uint64_t from,
                       uint64_t to)
{
    uint32_t count;
    for (uint64_t at = from; at < to; at += count) {
        count = to - at < STORE_DIRECTORY_SECTORS ? (uint32_t)(to - at) : STORE_DIRECTORY_SECTORS;
        int error = read_sectors(device, at, count, &store->next);
        if (error)
            return error;
        if (!sectors_are_zero(&store->next, count) && !is_fresh_directory(&store->next, at))
            return ERR_STORE_FOREIGN;
    }
    return 0;
}

/* Partition tables and file systems leave something in the first or in the last MiB. */
static int check_all_blank(struct store *store, const struct store_device *device)
{
    int error = check_blank(store, device, 1, STORE_DIRECTORY_SECTOR(0));
    if (!error)
        error = check_blank(store, device, STORE_DIRECTORY_SECTOR(0), STORE_DATA_SECTOR);
    if (!error)
        error = check_blank(store, device, device->sectors - STORE_DATA_SECTOR, device->sectors);
    return error ? error : ERR_STORE_BLANK;
}

/* --- mounting --- */

static int check_super(const struct store_super *super, uint64_t device_sectors)
{
    if (super->magic != STORE_SUPER_MAGIC)
        return ERR_STORE_FOREIGN;
    if (super->version != STORE_VERSION)
        return ERR_STORE_VERSION;
    if (super->crc != store_super_crc(super) || super->sector_size != STORE_SECTOR ||
        super->unit_sectors != STORE_UNIT_SECTORS || super->entries != STORE_ENTRIES ||
        super->entry_size != sizeof(struct store_entry) ||
        super->directory_sector[0] != STORE_DIRECTORY_SECTOR(0) ||
        super->directory_sector[1] != STORE_DIRECTORY_SECTOR(1) ||
        super->directory_sectors != STORE_DIRECTORY_SECTORS ||
        super->data_sector != STORE_DATA_SECTOR)
        return ERR_STORE_DAMAGED;
    if (super->sectors < STORE_SECTORS_MIN || super->sectors > device_sectors ||
        super->sectors % STORE_UNIT_SECTORS != 0)
        return ERR_STORE_SIZE;
    return 0;
}

/* Reads both copies; store->directory becomes the valid one with the higher generation. */
static int read_directories(struct store *store, const struct store_device *device)
{
    unsigned valid = 0;
    int error = 0;
    for (unsigned copy = 0; copy < 2; copy++) {
        int status = read_sectors(device, STORE_DIRECTORY_SECTOR(copy), STORE_DIRECTORY_SECTORS,
                                  &store->next);
        if (status) {
            error = status;
            continue;
        }
        if (!store_directory_is_valid(&store->next, store->super.id, store->super.sectors))
            continue;
        if (valid == 0 || store->next.generation > store->directory.generation) {
            store->directory = store->next;
            store->current = copy;
        }
        valid++;
    }
    store->damaged_copies = 2 - valid;
    return valid ? 0 : error ? error : ERR_STORE_DAMAGED;
}

static void forget(struct store *store)
{
    store->device = NULL;
    store->sectors = 0;
    store->writing = NULL;
    store->written = 0;
    store->broken = false;
    store->damaged_copies = 0;
    memset(&store->directory, 0, sizeof(store->directory));
}

int store_mount(struct store *store, const struct store_device *device)
{
    forget(store);
    if (device->sectors < STORE_SECTORS_MIN)
        return ERR_STORE_SIZE;
    int error = read_sectors(device, 0, 1, &store->super);
    if (error)
        return error;
    if (sectors_are_zero(&store->super, 1))
        return check_all_blank(store, device);
    error = check_super(&store->super, device->sectors);
    if (!error)
        error = read_directories(store, device);
    if (error)
        return error;
    store->device = device;
    store->sectors = store->super.sectors;
    return 0;
}

/* --- formatting --- */

static void make_super(struct store_super *super, uint64_t sectors, uint64_t id)
{
    *super = (struct store_super){
        .magic = STORE_SUPER_MAGIC,
        .version = STORE_VERSION,
        .id = id,
        .sectors = sectors - sectors % STORE_UNIT_SECTORS,
        .sector_size = STORE_SECTOR,
        .unit_sectors = STORE_UNIT_SECTORS,
        .entries = STORE_ENTRIES,
        .entry_size = sizeof(struct store_entry),
        .directory_sector = {STORE_DIRECTORY_SECTOR(0), STORE_DIRECTORY_SECTOR(1)},
        .directory_sectors = STORE_DIRECTORY_SECTORS,
        .data_sector = STORE_DATA_SECTOR,
    };
    super->crc = store_super_crc(super);
}

static int write_directory(const struct store_device *device, unsigned copy,
                           const struct store_directory *directory)
{
    int error =
        write_sectors(device, STORE_DIRECTORY_SECTOR(copy), STORE_DIRECTORY_SECTORS, directory);
    return error ? error : device->flush(device->context);
}

static int write_super(const struct store_device *device, const struct store_super *super)
{
    int error = write_sectors(device, 0, 1, super);
    return error ? error : device->flush(device->context);
}

/* The superblock goes first, if there was one, and comes last: in between the disk is not ours. */
int store_format(struct store *store, const struct store_device *device, uint64_t id)
{
    forget(store);
    if (device->read_only)
        return ERR_READ_ONLY;
    if (device->sectors < STORE_SECTORS_MIN)
        return ERR_STORE_SIZE;
    memset(&store->super, 0, sizeof(store->super));
    memset(&store->next, 0, sizeof(store->next));
    store->next.magic = STORE_DIRECTORY_MAGIC;
    store->next.version = STORE_VERSION;
    store->next.id = id;
    store->next.generation = 1;
    store->next.crc = store_directory_crc(&store->next);
    int error = write_super(device, &store->super);
    for (unsigned copy = 0; copy < 2 && !error; copy++)
        error = write_directory(device, copy, &store->next);
    if (error)
        return error;
    make_super(&store->super, device->sectors, id);
    error = write_super(device, &store->super);
    return error ? error : store_mount(store, device);
}

/* --- changing --- */

int store_change_begin(struct store *store)
{
    if (!store->device)
        return ERR_NO_DISK;
    if (store->device->read_only)
        return ERR_READ_ONLY;
    if (store->broken)
        return ERR_STORE_BROKEN;
    store->next = store->directory;
    return 0;
}

/* Copy by copy, so that at every moment one of them is whole; and to both, so that damage of one
 * never brings back what the last change did away with. */
int store_change_write(struct store *store)
{
    store->next.generation++;
    store->next.crc = store_directory_crc(&store->next);
    int error = write_directory(store->device, 1 - store->current, &store->next);
    if (!error)
        error = write_directory(store->device, store->current, &store->next);
    store->broken = error != 0;
    return error;
}

void store_change_end(struct store *store)
{
    store->directory = store->next;
    store->current = 1 - store->current;
    store->damaged_copies = 0;
}
