/* SPDX-License-Identifier: MIT */
/* The store: damaged copies, hostile directories with right checksums, devices that fail. */
#include "replay/store_internal.h"
#include "tests/host/sim_store.h"

static int create(const char *name, uint64_t id)
{
    return store_create(&store, name, id, NULL, NULL);
}

/* --- damage --- */

static void damage_example(void)
{
    fresh();
    for (unsigned i = 0; i < 5; i++) {
        char name[STORE_NAME_SIZE];
        store_unique_name(&store, "d", name);
        sim_record(&store, name, i, 9000, i % 2);
    }
    store_delete(&store, "d.2");
    second = store;
}

/* Whether the store mounts, without writing, and holds just what it held before. */
static bool as_before(void)
{
    unsigned writes = disk.writes;
    return store_mount(&store, &device) == 0 && store.damaged_copies == 1 &&
           disk.writes == writes &&
           memcmp(&store.directory, &second.directory, sizeof(store.directory)) == 0;
}

static void test_damaged_copies(void)
{
    uint64_t seed = 99;
    for (unsigned copy = 0; copy < 2; copy++) {
        unsigned wrong = 0, flips = 0;
        damage_example();
        uint8_t *bytes = (uint8_t *)copy_on_disk(copy);
        for (uint32_t bit = 0; bit < sizeof(struct store_directory) * 8; flips++) {
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            wrong += !as_before();
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            bit += bit < 8 * 128 * 4 ? 1 : 1 + (uint32_t)random_below(&seed, 200);
        }
        is_u64(wrong, 0, "damage: %u bits of copy %u, the other one is used", flips, copy);
    }
}

/* The damaged copy is the one that is written first, whichever it is. */
static void test_repair(void)
{
    for (unsigned copy = 0; copy < 2; copy++)
        for (int writes = 0; writes <= 2; writes++) {
            damage_example();
            copy_on_disk(copy)->generation ^= 4;
            store_mount(&store, &device);
            disk.fail_writes_after = writes;
            int error = store_keep(&store, "d.1", true);
            disk.fail_writes_after = -1;
            is_error(error, writes < 2 ? ERR_IO : 0, "repair of copy %u, %d writes", copy, writes);
            is_error(store_mount(&store, &device), 0, "then it mounts");
            is_u64(store.damaged_copies, writes == 0, "damaged copies then");
            const struct store_entry *entry = store_find(&store, "d.1");
            is_u64(entry ? entry->flags & STORE_KEPT : 99, writes > 0,
                   "the change is there or not");
        }
}

static void test_both_damaged(void)
{
    damage_example();
    copy_on_disk(0)->entries[3].used++;
    copy_on_disk(1)->entries[200].id = 1;
    unsigned writes = disk.writes;
    is_error(store_mount(&store, &device), ERR_STORE_DAMAGED, "damage: both copies");
    is_error(create("x.1", 1), ERR_NO_DISK, "damage: nothing can be created");
    is_error(store_delete(&store, "d.1"), ERR_NO_DISK, "damage: nothing can be deleted");
    is_string(names(&store), "", "damage: nothing is shown");
    is_u64(disk.writes, writes, "damage: nothing is written");
}

static void test_damaged_super(void)
{
    unsigned wrong = 0;
    damage_example();
    for (uint32_t bit = 0; bit < STORE_SECTOR * 8; bit++) {
        disk.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        int error = store_mount(&store, &device);
        wrong +=
            error != ERR_STORE_FOREIGN && error != ERR_STORE_DAMAGED && error != ERR_STORE_VERSION;
        disk.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    is_u64(wrong, 0, "damage: each bit of the superblock is missed");
    memset(disk.bytes, 0, STORE_SECTOR);
    is_error(store_mount(&store, &device), ERR_STORE_FOREIGN, "damage: without it, not blank");
    is_error(store_format(&store, &device, 5), 0, "format: whatever was there");
    is_string(names(&store), "", "format: then it is empty");
}

static void test_generation(void)
{
    for (unsigned copy = 0; copy < 2; copy++) {
        damage_example();
        copy_on_disk(copy)->generation += 1;
        memset(&copy_on_disk(copy)->entries[0], 0, sizeof(struct store_entry));
        copy_on_disk(copy)->crc = store_directory_crc(copy_on_disk(copy));
        store_mount(&store, &device);
        is_string(names(&store), "d.3 d.4 d.5 ", "the higher generation counts: copy %u", copy);
    }
}

/* --- right checksums, wrong contents --- */

static void set_name(struct store_directory *d)
{
    memset(d->entries[2].name, 'x', STORE_NAME_SIZE);
}
static void set_tail(struct store_directory *d)
{
    d->entries[2].name[20] = 'x';
}
static void set_same_name(struct store_directory *d)
{
    memcpy(d->entries[2].name, d->entries[3].name, STORE_NAME_SIZE);
}
static void set_overlap(struct store_directory *d)
{
    d->entries[2].start = d->entries[3].start;
}
static void set_before(struct store_directory *d)
{
    d->entries[2].start = 72;
}
static void set_behind(struct store_directory *d)
{
    d->entries[2].start = SIM_SECTORS - 8;
}
static void set_huge(struct store_directory *d)
{
    d->entries[2].sectors = ~7ull;
}
static void set_unaligned(struct store_directory *d)
{
    d->entries[2].start++;
}
static void set_used(struct store_directory *d)
{
    d->entries[2].used = d->entries[2].sectors * 512 + 1;
}
static void set_unused(struct store_directory *d)
{
    d->entries[2].used = 0;
}
static void set_state(struct store_directory *d)
{
    d->entries[2].state = 3;
}
static void set_flags(struct store_directory *d)
{
    d->entries[2].flags = 4;
}
static void set_open(struct store_directory *d)
{
    d->entries[2].state = STORE_OPEN;
}
static void set_two_open(struct store_directory *d)
{
    for (unsigned i = 2; i < 4; i++) {
        d->entries[i].state = STORE_OPEN;
        d->entries[i].used = d->entries[i].flags = 0;
    }
}
static void set_order(struct store_directory *d)
{
    d->entries[2].order = d->next_order;
}
static void set_free(struct store_directory *d)
{
    d->entries[2].state = STORE_FREE;
}
static void set_reserved(struct store_directory *d)
{
    d->zero[3] = 1;
}
static void set_other_disk(struct store_directory *d)
{
    d->id++;
}

static const struct {
    const char *what;
    void (*change)(struct store_directory *);
} hostile[] = {
    {"a name without an end", set_name},
    {"bytes behind a name", set_tail},
    {"two of one name", set_same_name},
    {"two in one place", set_overlap},
    {"one in the directory", set_before},
    {"one beyond the end", set_behind},
    {"an endless one", set_huge},
    {"one off its unit", set_unaligned},
    {"more used than there is", set_used},
    {"nothing used", set_unused},
    {"an unknown state", set_state},
    {"an unknown flag", set_flags},
    {"an open one with a size", set_open},
    {"two open ones", set_two_open},
    {"one from the future", set_order},
    {"a free one with a name", set_free},
    {"something in a reserved field", set_reserved},
    {"another disk's directory", set_other_disk},
};

static void test_hostile(void)
{
    for (unsigned i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
        damage_example();
        for (unsigned copy = 0; copy < 2; copy++) {
            hostile[i].change(copy_on_disk(copy));
            copy_on_disk(copy)->crc = store_directory_crc(copy_on_disk(copy));
        }
        is_error(store_mount(&store, &device), ERR_STORE_DAMAGED, "hostile: %s", hostile[i].what);
    }
}

/* --- devices that fail --- */

static void test_read_only(void)
{
    damage_example();
    device.read_only = true;
    unsigned writes = disk.writes;
    is_error(store_mount(&store, &device), 0, "read-only: mounted");
    is_error(create("x.1", 1), ERR_READ_ONLY, "read-only: create");
    is_error(store_delete(&store, "d.1"), ERR_READ_ONLY, "read-only: delete");
    is_error(store_format(&second, &device, 1), ERR_READ_ONLY, "read-only: format");
    is_u64(sim_valid_sectors(&store, store_find(&store, "d.1"), 17), 17, "read-only: read");
    is_u64(disk.writes, writes, "read-only: nothing is written");
}

static void test_failing_device(void)
{
    damage_example();
    create("x.1", 7);
    sim_append(&store, 20);
    disk.fail_writes_after = 0;
    is_error(store_append(&store, disk.bytes, 512), ERR_IO, "failing: append");
    disk.fail_writes_after = -1;
    is_error(store_close(&store, 20 * 512, false), 0, "failing: closed with what was appended");
    disk.fail_writes_after = 1;
    is_error(create("x.2", 8), ERR_IO, "failing: in the middle of the directory");
    disk.fail_writes_after = -1;
    is_error(store_delete(&store, "d.1"), ERR_STORE_BROKEN, "failing: then no more changes");
    is_u64(sim_valid_sectors(&store, store_find(&store, "x.1"), 20), 20, "failing: but reading");
    is_error(store_mount(&store, &device), 0, "failing: mounted anew");
    const struct store_entry *open = store_unfinished(&store);
    is_string(open ? open->name : NULL, "x.2", "failing: the change was on the disk");
    disk.fail_reads_at = STORE_DIRECTORY_SECTOR(0) + 5;
    is_error(store_mount(&store, &device), 0, "failing: one copy cannot be read");
    is_u64(store.damaged_copies, 1, "failing: which counts as damaged");
    copy_on_disk(1)->crc++;
    is_error(store_mount(&store, &device), ERR_IO, "failing: the other one is damaged");
    disk.fail_reads_at = 0;
    is_error(store_mount(&store, &device), ERR_IO, "failing: the superblock cannot be read");
}

int main(void)
{
    test_damaged_copies();
    test_repair();
    test_both_damaged();
    test_damaged_super();
    test_generation();
    test_hostile();
    test_read_only();
    test_failing_device();
    sim_reset(&disk);
    return done();
}
