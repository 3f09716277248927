/* SPDX-License-Identifier: MIT */
/* The store: layout, mounting, what makes room, names, reading, recovery. Damage is in
 * test_store_damage.c, power cuts are in test_store_crash.c.
 */
#include "kernel/hash.h"
#include "tests/host/sim_store.h"

/* --- layout --- */

/* A change of the layout changes these; then STORE_VERSION and docs/storage.md change, too. */
static void test_layout(void)
{
    fresh();
    sim_record(&store, "racey.1", 0x11, 5000, true);
    sim_record(&store, "racey.2", 0x22, 512, false);
    store_keep(&store, "racey.1", true);
    is_u64(STORE_VERSION, 1, "layout: the version that this test knows");
    is_u64(crc32c(0, sector_bytes(0), STORE_SECTOR), 0xcc25abb4, "layout: superblock");
    is_u64(crc32c(0, copy_on_disk(0), sizeof(struct store_directory)), 0xa9a7320a,
           "layout: directory");
    ok(memcmp(copy_on_disk(0), copy_on_disk(1), sizeof(struct store_directory)) == 0,
       "layout: both copies are the same");
    ok(memcmp(sector_bytes(0), "crewdisk", 8) == 0, "layout: the superblock's first bytes");
    ok(memcmp(copy_on_disk(0), "crewdir1", 8) == 0, "layout: the directory's first bytes");
}

/* --- mounting --- */

static void test_blank_and_foreign(void)
{
    static const struct {
        const char *what;
        uint64_t offset;
    } leftovers[] = {
        {"a boot sector", 510},
        {"a GUID partition table", 512},
        {"an ext4 superblock", 1024 + 56},
        {"something in the directory's place", 8 * 512 + 3000},
        {"a CD's volume descriptor", 32769},
        {"a btrfs superblock", 65536 + 64},
        {"the first MiB's last byte", 1048575},
        {"the backup of a partition table", (SIM_SECTORS - 1) * 512u},
        {"the last MiB's first byte", (SIM_SECTORS - 2048) * 512u},
    };
    sim_reset(&disk);
    device = sim_device(&disk);
    is_error(store_mount(&store, &device), ERR_STORE_BLANK, "blank: so it says");
    for (unsigned i = 0; i < sizeof(leftovers) / sizeof(leftovers[0]); i++) {
        disk.bytes[leftovers[i].offset] = 0x5a;
        is_error(store_mount(&store, &device), ERR_STORE_FOREIGN, "foreign: %s", leftovers[i].what);
        disk.bytes[leftovers[i].offset] = 0;
    }
    is_u64(disk.writes, 0, "mounting writes nothing");
    device.sectors = STORE_SECTORS_MIN - 1;
    is_error(store_mount(&store, &device), ERR_STORE_SIZE, "too small to mount");
    is_error(store_format(&store, &device, 1), ERR_STORE_SIZE, "too small to format");
    device.sectors = STORE_SECTORS_MIN;
    is_error(store_format(&store, &device, 1), 0, "the smallest disk is formatted");
    is_u64(store_largest_gap(&store), 2048, "and has a MiB to give");
    is_error(sim_record(&store, "all.1", 1, 1048576, true), 0, "which can be used up");
    is_error(sim_record(&store, "all.2", 2, 1048576, true), 0, "and again, by what removes it");
}

static void test_other_sizes(void)
{
    fresh();
    device.sectors = SIM_SECTORS - 8;
    is_error(store_mount(&store, &device), ERR_STORE_SIZE, "a disk that became smaller");
    device.sectors = SIM_SECTORS + 99;
    is_error(store_mount(&store, &device), 0, "a disk that became larger");
    is_u64(store.sectors, SIM_SECTORS, "is used as far as it was formatted");
    ((struct store_super *)disk.bytes)->version = STORE_VERSION + 1;
    is_error(store_mount(&store, &device), ERR_STORE_VERSION, "another version");
}

/* --- what is kept, what goes --- */

static char removed_names[256];

static void note_removed(const struct store_entry *entry, void *argument)
{
    (void)argument;
    strcat(removed_names, entry->name);
    strcat(removed_names, " ");
}

static int create(const char *name, uint64_t id)
{
    removed_names[0] = 0;
    return store_create(&store, name, id, note_removed, NULL);
}

static void test_room(void)
{
    fresh();
    sim_record(&store, "a.1", 1, 2000 * 512, true);
    sim_record(&store, "a.2", 2, 2080 * 512, true);
    store_keep(&store, "a.1", true);
    is_error(create("a.3", 3), 0, "room: the third of three");
    is_string(removed_names, "", "room: there was enough");
    is_error(create("a.4", 4), ERR_STORE_OPEN, "room: not two at a time");
    is_error(store_delete(&store, "a.3"), ERR_STORE_OPEN, "room: not deleted while it is written");
    is_u64(store_room(&store), 2064 * 512, "room: all the rest is its own");
    sim_append(&store, 2000);
    store_close(&store, 2000 * 512 - 7, true);
    is_error(create("a.4", 4), 0, "room: the fourth");
    is_string(removed_names, "a.2 ", "room: the oldest that is not kept had to go");
    is_string(names(&store), "a.1 a.3 a.4 ", "room: what remains, by age");
    is_error(store_append(&store, disk.bytes, 100), ERR_USAGE, "room: whole sectors only");
    is_error(sim_append(&store, (uint32_t)(store_room(&store) / 512)), 0, "room: filled wholly");
    is_error(store_append(&store, disk.bytes, 512), ERR_STORE_FULL, "room: then it is full");
    is_error(store_close(&store, 3u << 20, false), ERR_RANGE, "room: no more than was appended");
    is_error(store_close(&store, 51200, false), 0, "room: closed with less");
    store_keep(&store, "a.3", true);
    store_keep(&store, "a.4", true);
    is_error(create("a.5", 5), ERR_STORE_FULL, "room: all are kept");
    is_string(names(&store), "a.1 a.3 a.4 ", "room: and all are there");
    is_error(store_delete(&store, "a.3"), 0, "room: kept ones can be deleted");
    is_error(create("a.5", 5), 0, "room: which is enough");
    is_error(store_close(&store, 0, false), 0, "room: closed with nothing");
    is_string(names(&store), "a.1 a.4 ", "room: then it is not there");
}

static void test_full_directory(void)
{
    char name[STORE_NAME_SIZE];
    int error = 0;
    fresh();
    for (unsigned i = 0; i < STORE_ENTRIES && !error; i++) {
        store_unique_name(&store, "x", name);
        error = sim_record(&store, name, i, 600, true);
    }
    is_error(error, 0, "directory: filled");
    store_keep(&store, "x.1", true);
    is_error(create("y.1", 1000), 0, "directory: one more");
    is_string(removed_names, "x.2 ", "directory: for one less");
    store_close(&store, 0, false);
    is_error(store_mount(&second, &device), 0, "directory: mounted again");
    ok(store_find(&second, "x.255") && !store_find(&second, "x.2"), "directory: as it was");
}

static void test_names(void)
{
    static const char *const wrong[] = {"", "a b", "a\n", "\xc3\xa4.1",
                                        "1234567890123456789012345678901234567890"};
    char name[STORE_NAME_SIZE];
    fresh();
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        is_error(create(wrong[i], 1), ERR_STORE_NAME, "names: not accepted, %u", i);
    sim_record(&store, "racey.7", 1, 512, true);
    is_error(create("racey.7", 1), ERR_STORE_NAME, "names: not twice");
    store_unique_name(&store, "racey", name);
    is_string(name, "racey.8", "names: the next number");
    store_unique_name(&store, "race", name);
    is_string(name, "race.1", "names: the first number");
    store_unique_name(&store, "a program with a name that is much too long", name);
    is_string(name, "a_program_with_a_name_that_i.1", "names: cut to fit");
    is_error(create(name, 1), 0, "names: and accepted");
    is_error(store_keep(&store, "nobody", true), ERR_NOT_FOUND, "names: unknown to keep");
    is_error(store_delete(&store, "nobody"), ERR_NOT_FOUND, "names: unknown to delete");
}

static void test_reading(void)
{
    uint8_t data[4 * 512];
    fresh();
    sim_record(&store, "a.1", 1, 3 * 512 - 1, true);
    const struct store_entry *entry = store_find(&store, "a.1");
    is_error(store_read(&store, entry, 0, 3 * 512, data), 0, "reading: all of it");
    is_u64(sim_valid_sectors(&store, entry, 3), 3, "reading: what was written");
    is_error(store_read(&store, entry, 0, 4 * 512, data), ERR_RANGE, "reading: not beyond its end");
    is_error(store_read(&store, entry, ~0ull << 9, 512, data), ERR_RANGE,
             "reading: nor far beyond");
    is_error(store_read(&store, entry, 100, 512, data), ERR_USAGE, "reading: whole sectors");
    is_u64(store_sector(entry, 1024), entry->start + 2, "reading: where a byte lies");
}

/* --- the unfinished one --- */

static int failing_scan(const struct store *of, const struct store_entry *entry,
                        struct store_scan *out, void *argument)
{
    (void)of, (void)entry, (void)out, (void)argument;
    return ERR_IO;
}

static void test_recovery(void)
{
    fresh();
    sim_record(&store, "a.1", 1, 3000, true);
    create("a.2", 2);
    sim_append(&store, 77);
    is_error(store_mount(&store, &device), 0, "recovery: mounted after a cut");
    const struct store_entry *open = store_unfinished(&store);
    is_string(open ? open->name : NULL, "a.2", "recovery: which one is unfinished");
    is_error(create("a.3", 3), ERR_STORE_OPEN, "recovery: comes before the next one");
    is_error(store_keep(&store, "a.2", true), ERR_STORE_OPEN, "recovery: and before it is kept");
    is_error(store_recover(&store, failing_scan, NULL), ERR_IO, "recovery: the scan's error");
    is_error(store_recover(&store, sim_scan, NULL), 0, "recovery: done");
    open = store_find(&store, "a.2");
    is_u64(open ? open->used : 0, 77 * 512, "recovery: as much as is valid");
    is_u64(open ? open->sectors : 0, 80, "recovery: in whole units");
    is_u64(open ? open->flags : 99, 0, "recovery: incomplete");
    is_error(store_recover(&store, sim_scan, NULL), 0, "recovery: nothing more to do");
    create("a.3", 3);
    store_mount(&store, &device);
    is_error(store_recover(&store, sim_scan, NULL), 0, "recovery: of one without data");
    is_string(names(&store), "a.1 a.2 ", "recovery: which goes");
    create("a.4", 4);
    store_mount(&store, &device);
    is_error(store_delete(&store, "a.4"), 0, "recovery: an unfinished one can be deleted");
}

int main(void)
{
    test_layout();
    test_blank_and_foreign();
    test_other_sizes();
    test_room();
    test_full_directory();
    test_names();
    test_reading();
    test_recovery();
    sim_reset(&disk);
    return done();
}
