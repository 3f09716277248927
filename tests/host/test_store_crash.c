/* SPDX-License-Identifier: MIT */
/* The store, with the power cut at every write.
 *
 * A scenario of calls is run once, and every write and flush is noted. Then the power is cut at
 * each write: after any number of its sectors; and with any of the sectors that no flush followed
 * lost. Each time the store must mount, and show exactly what it held before the call that was cut,
 * or after it, with every recording whole. Then the open recording is recovered, and the store must
 * be usable.
 */
#include "tests/host/sim_disk.h"
#include "tests/host/tap.h"

#define CALLS_MAX 200
#define LOSSES 8    /* random sets of lost sectors for each write */
#define DATA_STEP 7 /* every so many sectors of data; of a directory each one */

static struct sim_disk disk;
static struct store store;
static struct store_device device;

/* What the store holds after each call; [0]: nothing, not formatted. */
static struct store_directory states[CALLS_MAX];
static bool call_is_append[CALLS_MAX];
static uint32_t appended[CALLS_MAX]; /* sectors of the open recording */
static uint32_t flushed[CALLS_MAX];  /* of those, before a flush */
static uint32_t calls;

/* --- the scenario --- */

static void begin_call(void)
{
    disk.call = ++calls;
    if (calls >= CALLS_MAX)
        abort();
}

static void end_call(int error)
{
    if (error) {
        fprintf(stderr, "call %u: %s\n", calls, err_text(error));
        abort();
    }
    states[calls] = store.directory;
    appended[calls] = store.writing ? (uint32_t)store.written : 0;
    flushed[calls] = store.writing && !call_is_append[calls] ? appended[calls]
                     : store.writing                         ? flushed[calls - 1]
                                                             : 0;
}

#define CALL(expression)                                                                           \
    do {                                                                                           \
        begin_call();                                                                              \
        end_call(expression);                                                                      \
    } while (0)

static void append(uint32_t sectors)
{
    begin_call();
    call_is_append[calls] = true;
    end_call(sim_append(&store, sectors));
}

static void recording(const char *name, uint64_t id, uint32_t sectors, bool complete)
{
    CALL(store_create(&store, name, id, NULL, NULL));
    for (uint32_t left = sectors; left > 0;) {
        uint32_t part = left < 97 ? left : 97;
        append(part);
        left -= part;
        if (left % 2)
            CALL(store_flush(&store));
    }
    CALL(store_close(&store, (uint64_t)sectors * STORE_SECTOR - 100, complete));
}

static void run_scenario(void)
{
    sim_reset(&disk);
    disk.noting = true;
    device = sim_device(&disk);
    CALL(store_format(&store, &device, 0x1234));
    for (unsigned i = 0; i < 7; i++) { /* what is removed later is in several sectors */
        static const char *const names[] = {"t.1", "t.2", "t.3", "t.4", "t.5", "t.6", "t.7"};
        recording(names[i], 20 + i, 8, true);
    }
    recording("a.1", 1, 300, true);
    CALL(store_keep(&store, "a.1", true));
    recording("a.2", 2, 1200, false);
    recording("b.1", 3, 900, true);
    recording("b.2", 4, 2000, true);
    recording("a.3", 5, 40, true); /* a.2 and b.1 go */
    recording("c.1", 6, 1500, true);
    CALL(store_delete(&store, "a.3"));
    CALL(store_create(&store, "empty.1", 7, NULL, NULL));
    CALL(store_close(&store, 0, false));
    recording("c.2", 8, 1400, true); /* over the places of older ones */
    CALL(store_keep(&store, "a.1", false));
    recording("c.3", 9, 700, true);
    CALL(store_create(&store, "open.1", 10, NULL, NULL));
    append(123);
    disk.noting = false;
}

/* --- one cut --- */

/* As one of `states`, but for numbers that nobody sees. */
static bool same_entries(const struct store_directory *left, const struct store_directory *right)
{
    return memcmp(left->entries, right->entries, sizeof left->entries) == 0;
}

static const char *check_contents(void)
{
    for (unsigned i = 0; i < STORE_ENTRIES; i++) {
        const struct store_entry *entry = &store.directory.entries[i];
        uint64_t whole = entry->used / STORE_SECTOR;
        if (entry->state == STORE_CLOSED && sim_valid_sectors(&store, entry, whole) != whole)
            return "a closed recording is not whole";
    }
    return NULL;
}

/* The open one holds what was flushed at least, and nothing that is not its own. */
static const char *check_recovery(uint32_t call)
{
    const struct store_entry *open = store_unfinished(&store);
    if (!open)
        return NULL;
    bool begun = same_entries(&store.directory, &states[call]);
    uint32_t least = begun && call_is_append[call] ? flushed[call - 1]
                     : begun                       ? 0
                                                   : flushed[call - 1];
    char name[STORE_NAME_SIZE];
    strcpy(name, open->name);
    if (store_recover(&store, sim_scan, NULL))
        return "the open recording cannot be recovered";
    const struct store_entry *closed = store_find(&store, name);
    uint64_t valid = closed ? closed->used / STORE_SECTOR : 0;
    uint32_t most = appended[call] > appended[call - 1] ? appended[call] : appended[call - 1];
    if (closed && (closed->state != STORE_CLOSED || closed->flags & STORE_COMPLETE))
        return "the recovered recording is not closed as incomplete";
    return valid < least ? "flushed data is lost" : valid > most ? "more than was written" : NULL;
}

static const char *check_use(void)
{
    if (sim_record(&store, "after.1", 99, 5000, true) || store_mount(&store, &device))
        return "the store cannot be used afterwards";
    const struct store_entry *entry = store_find(&store, "after.1");
    if (!entry || entry->used != 5000 || !(entry->flags & STORE_COMPLETE))
        return "a later recording is not there";
    return check_contents();
}

/* `finished`: nothing of the call is missing. */
static const char *check_cut(uint32_t call, bool finished)
{
    int error = store_mount(&store, &device);
    if (call == 1 && !finished && error == ERR_STORE_BLANK)
        return store_format(&store, &device, 1) ? "what remains cannot be formatted" : check_use();
    if (error)
        return err_text(error);
    bool after = same_entries(&store.directory, &states[call]);
    bool before = call > 1 && same_entries(&store.directory, &states[call - 1]);
    if (!after && (finished || !before))
        return "the directory is neither as before nor as after the call";
    const char *problem = check_contents();
    if (!problem)
        problem = check_recovery(call);
    return problem ? problem : check_use();
}

/* --- all cuts --- */

static unsigned cuts, torn_wrong, lost_wrong;

/* The medium holds what was flushed before operations[first]; none of [first, last) was. */
static void apply(unsigned first, unsigned last)
{
    for (unsigned i = first; i < last; i++)
        for (uint32_t s = 0; s < disk.operations[i].count; s++)
            sim_put(&disk, disk.operations[i].sector + s,
                    disk.operations[i].data + (size_t)s * STORE_SECTOR);
}

static void judge(unsigned at, bool finished, unsigned *wrong, const char *how)
{
    const char *problem = check_cut(disk.operations[at].call, finished);
    cuts++;
    if (problem && (*wrong)++ < 5)
        diag("cut at operation %u (call %u), %s: %s", at, disk.operations[at].call, how, problem);
    sim_undo(&disk);
}

static void cut_torn(unsigned first, unsigned last)
{
    const struct sim_operation *torn = &disk.operations[last];
    uint32_t step = torn->sector < STORE_DATA_SECTOR ? 1 : DATA_STEP;
    for (uint32_t sectors = 0; sectors <= torn->count; sectors += step) {
        apply(first, last);
        for (uint32_t s = 0; s < sectors; s++)
            sim_put(&disk, torn->sector + s, torn->data + (size_t)s * STORE_SECTOR);
        judge(last, false, &torn_wrong, "torn");
    }
}

static void cut_lossy(unsigned first, unsigned last, uint64_t *seed)
{
    for (unsigned n = 0; n < LOSSES; n++) {
        uint64_t chance = random_below(seed, 9); /* 0: all lost … 8: none */
        for (unsigned i = first; i <= last; i++)
            for (uint32_t s = 0; s < disk.operations[i].count; s++)
                if (random_below(seed, 8) < chance)
                    sim_put(&disk, disk.operations[i].sector + s,
                            disk.operations[i].data + (size_t)s * STORE_SECTOR);
        judge(last, false, &lost_wrong, "sectors lost");
    }
}

static void cut_everywhere(void)
{
    uint64_t seed = 4711;
    unsigned first = 0, unfinished = 0, flushes = 0;
    memset(disk.bytes, 0, sizeof disk.bytes);
    for (unsigned at = 0; at < disk.count; at++) {
        disk.saving = true;
        if (disk.operations[at].flush) {
            disk.saving = false;
            apply(first, at);
            disk.saving = true;
            first = at + 1;
            bool last =
                at + 1 == disk.count || disk.operations[at + 1].call > disk.operations[at].call;
            flushes++;
            judge(at, last, &unfinished, "after a flush");
        } else {
            cut_torn(first, at);
            cut_lossy(first, at, &seed);
        }
    }
    is_u64(unfinished, 0, "cut after each of %u flushes", flushes);
}

int main(void)
{
    run_scenario();
    cut_everywhere();
    is_u64(torn_wrong, 0, "cut at each write, after each of its sectors");
    is_u64(lost_wrong, 0, "cut at each write, any sectors lost that were not flushed");
    diag("%u calls, %u writes and flushes, %u power cuts", calls, disk.count, cuts);
    ok(cuts > 4000, "there were many");
    sim_reset(&disk);
    return done();
}
