/* SPDX-License-Identifier: MIT */
/* The disk: patterns written and read back, in pieces of every length, by many threads, and with
 * interrupts off. It overwrites the disk, so the first sector must say that it may:
 * tests/kernel/disk.sh makes such images, and looks at what is in them afterwards. Another mark
 * stands for a disk that stops answering.
 *
 * Word w of sector s is s * 1000003 + w; sector 0 stays as it is.
 */
#include "arch/x86/cpu.h"
#include "kernel/disk.h"
#include "kernel/err.h"
#include "kernel/spinlock.h"
#include "kernel/string.h"
#include "kernel/thread.h"
#include "mm/heap.h"
#include "tests/kernel/suite.h"

#define MARK "crew test disk: may be overwritten"
#define MARK_SLOW "crew test disk: stops answering"
#define WORDS (DISK_SECTOR / 8)
#define BUFFER_SECTORS 3000u /* more than a request can hold */
#define SKEW 13              /* buffers begin at no round address */
#define THREADS 6

static uint8_t *buffer, *other; /* BUFFER_SECTORS each, and SKEW */

static void fill(uint8_t *out, uint64_t sector, uint32_t count)
{
    for (uint64_t s = sector; s < sector + count; s++)
        for (uint64_t w = 0; w < WORDS; w++, out += 8) {
            uint64_t word = s * 1000003 + w;
            memcpy(out, &word, sizeof(word));
        }
}

/* Sectors that are not as fill() makes them. */
static uint32_t count_wrong(const uint8_t *data, uint64_t sector, uint32_t count)
{
    uint8_t wanted[DISK_SECTOR];
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < count; i++, data += DISK_SECTOR) {
        fill(wanted, sector + i, 1);
        wrong += memcmp(data, wanted, DISK_SECTOR) != 0;
    }
    return wrong;
}

static int read_at(uint64_t sector, uint32_t count, uint8_t *to, bool now)
{
    if (!now)
        return disk_read(sector, count, to);
    struct spinlock lock = SPINLOCK_INIT(LOCK_VIEW, "disk suite");
    bool enabled = spin_lock_irq(&lock);
    int status = disk_read_now(sector, count, to);
    spin_unlock_irq(&lock, enabled);
    return status;
}

static uint32_t limit(uint64_t sector, uint32_t count)
{
    uint64_t left = disk_sectors() - sector;
    return count < left ? count : (uint32_t)left;
}

/* All of the disk, in pieces whose lengths change. */
static void test_everything(bool now)
{
    static const uint32_t counts[] = {1, 3, 8, 127, 2048, 2049, BUFFER_SECTORS, 5};
    uint32_t wrong = 0, count;
    int status = 0;
    unsigned turn = 0;
    for (uint64_t sector = 1; sector < disk_sectors() && !status; sector += count) {
        count = limit(sector, counts[turn++ % (sizeof(counts) / sizeof(counts[0]))]);
        fill(buffer, sector, count);
        if (!disk_read_only())
            status = disk_write(sector, count, buffer);
        memset(buffer, 0xaa, (size_t)count * DISK_SECTOR);
        if (!status)
            status = read_at(sector, count, buffer, now);
        wrong += count_wrong(buffer, sector, count);
    }
    is_equal(status, 0, "%s: status", now ? "interrupts off" : "blocking");
    is_equal(wrong, 0, "%s: wrong sectors of %u pieces", now ? "interrupts off" : "blocking", turn);
}

static void test_rewriting(void)
{
    uint32_t count = limit(1, 9);
    memset(buffer, 0x11, (size_t)count * DISK_SECTOR);
    is_equal(disk_write(1, count, buffer), 0, "rewriting: other data");
    is_equal(disk_read(1, count, other), 0, "rewriting: read");
    is_equal(memcmp(buffer, other, (size_t)count * DISK_SECTOR), 0, "rewriting: it is there");
    fill(buffer, 1, count);
    is_equal(disk_write(1, count, buffer), 0, "rewriting: back again");
    is_equal(disk_flush(), 0, "rewriting: flush");
}

static void test_limits(void)
{
    uint64_t end = disk_sectors();
    is_equal(disk_read(end - 1, 1, buffer), 0, "the last sector");
    is_equal(disk_read(end, 1, buffer), ERR_RANGE, "one behind it");
    is_equal(disk_read(end - 1, 2, buffer), ERR_RANGE, "one that is, and one that is not");
    is_equal(disk_read(~0ull, 2, buffer), ERR_RANGE, "a number that wraps");
    is_equal(disk_read_now(end, 1, buffer), ERR_RANGE, "one behind it, interrupts off");
    is_equal(disk_read(0, 0, buffer), 0, "nothing");
    is_equal(disk_write(end, 1, buffer), disk_read_only() ? ERR_READ_ONLY : ERR_RANGE,
             "not written behind the end");
}

static void test_read_only(void)
{
    struct disk_info before, after;
    disk_get_info(&before);
    is_equal(disk_write(1, 1, buffer), ERR_READ_ONLY, "read-only: nothing is written");
    disk_get_info(&after);
    is_equal(after.writes, before.writes, "read-only: the device is not even asked");
}

/* --- many at once --- */

struct shared {
    uint32_t wrong, errors; /* atomic */
};

static void use_disk(unsigned index, void *argument)
{
    struct shared *shared = argument;
    uint64_t seed = index + 1;
    uint8_t *mine = kmalloc(16 * DISK_SECTOR);
    for (unsigned round = 0; round < 60 && mine; round++) {
        uint64_t sector = 1 + suite_random(&seed) % (disk_sectors() - 1);
        uint32_t count = limit(sector, 1 + (uint32_t)(suite_random(&seed) % 16));
        int status = 0;
        fill(mine, sector, count); /* all write the same there */
        if (!disk_read_only() && index % 2 == 0)
            status = disk_write(sector, count, mine);
        if (!status)
            status = read_at(sector, count, mine, index % 3 == 0);
        __atomic_add_fetch(&shared->errors, status != 0, __ATOMIC_RELAXED);
        __atomic_add_fetch(&shared->wrong, count_wrong(mine, sector, count), __ATOMIC_RELAXED);
    }
    if (!mine)
        __atomic_add_fetch(&shared->errors, 1, __ATOMIC_RELAXED);
    kfree(mine);
}

static void test_crowd(void)
{
    struct shared shared = {0, 0};
    crowd_run(THREADS, use_disk, &shared);
    is_equal(shared.errors, 0, "%u threads at once, some with interrupts off: errors", THREADS);
    is_equal(shared.wrong, 0, "%u threads at once: wrong sectors", THREADS);
}

/* A disk that lets a few KiB pass and then nothing: it is given up, and the machine goes on. */
static void test_dead(void)
{
    int status = 0;
    for (unsigned i = 0; i < 10 && !status; i++)
        status = read_at(1, 64, buffer, true);
    is_equal(status, ERR_TIMED_OUT, "dead: the request that is not answered, interrupts off");
    is_equal(disk_read(1, 1, buffer), ERR_DISK_FAILED, "dead: the next one");
    is_equal(disk_read_now(1, 1, buffer), ERR_DISK_FAILED, "dead: the next one, interrupts off");
    is_equal(disk_flush(), ERR_DISK_FAILED, "dead: flush");
    ok(!disk_present() && disk_sectors() == 0, "dead: there is no disk any more");
    ok(strstr(disk_absence(), "in time"), "dead: and why: %s", disk_absence());
}

static bool is_marked(const char *mark)
{
    return disk_read(0, 1, buffer) == 0 && memcmp(buffer, mark, strlen(mark)) == 0;
}

static void run_tests(void)
{
    test_limits();
    if (disk_sectors() == 1)
        return;
    test_everything(false);
    test_everything(true);
    if (disk_read_only())
        test_read_only();
    else
        test_rewriting();
    test_crowd();
    struct disk_info info;
    disk_get_info(&info);
    is_equal(info.errors, 0, "errors of the device");
}

static void run(void)
{
    if (!disk_present()) {
        is_equal(disk_read(0, 1, &buffer), ERR_NO_DISK, "no disk: read");
        is_equal(disk_flush(), ERR_NO_DISK, "no disk: flush");
        suite_skip("the disk", disk_absence());
        return;
    }
    uint8_t *memory = kmalloc(BUFFER_SECTORS * DISK_SECTOR + SKEW);
    other = kmalloc(BUFFER_SECTORS * DISK_SECTOR);
    if (!ok(memory && other, "memory for buffers"))
        return;
    buffer = memory + SKEW;
    if (is_marked(MARK))
        run_tests();
    else if (is_marked(MARK_SLOW))
        test_dead();
    else
        suite_skip("the disk", "its first sector does not say that it may be overwritten");
    kfree(memory);
    kfree(other);
}

const struct suite suite_disk = {"disk", run};
