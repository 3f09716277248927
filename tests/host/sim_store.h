/* SPDX-License-Identifier: MIT */
/* One store on a disk in memory, and what the tests of the store ask of it. */
#ifndef TESTS_HOST_SIM_STORE_H
#define TESTS_HOST_SIM_STORE_H

#include "tests/host/sim_disk.h"
#include "tests/host/tap.h"

static struct sim_disk disk;
static struct store store, second;
static struct store_device device;

static inline void fresh(void)
{
    sim_reset(&disk);
    device = sim_device(&disk);
    if (store_format(&store, &device, 0xc0ffee))
        abort();
}

static inline uint8_t *sector_bytes(uint64_t sector)
{
    return disk.bytes + sector * STORE_SECTOR;
}

static inline struct store_directory *copy_on_disk(unsigned copy)
{
    return (struct store_directory *)sector_bytes(STORE_DIRECTORY_SECTOR(copy));
}

/* is_error(actual, expected, …): compared as texts, so that a failure can be read. */
#define is_error(actual, expected, ...) is_string(err_text(actual), err_text(expected), __VA_ARGS__)

static inline void list_name(const struct store_entry *entry, void *argument)
{
    strcat(argument, entry->name);
    strcat(argument, " ");
}

static inline const char *names(const struct store *of)
{
    static char text[STORE_ENTRIES * STORE_NAME_SIZE];
    text[0] = 0;
    store_for_each(of, list_name, text);
    return text;
}

#endif
