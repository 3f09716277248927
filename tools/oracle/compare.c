/* SPDX-License-Identifier: MIT */
/* Compares the runs of an oracle's file (format.h): each replay with its recording, thread by
 * thread, and names the first difference.
 *
 *   compare FILE [--program ELF] [--runs A B]
 *
 * --program: names places by its symbols, with addr2line. --runs: compares these two runs instead,
 * whatever they are. Exit status: 0 equal, 1 something differs, 2 the file or the call is wrong,
 * or there is nothing to compare.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "tools/oracle/format.h"

struct thread {
    const struct oracle_record **records; /* ORACLE_ENTRIES, in order */
    size_t count;
    const struct oracle_record *ended;
};

struct run {
    uint32_t number;
    uint64_t replayed; /* 0: a recording */
    bool ended, given_up;
    unsigned replays; /* of this recording, so far */
    struct thread threads[ORACLE_MAX_SLOTS];
};

static struct run *runs;
static size_t run_count;
static uint64_t step;
static const char *program;

static _Noreturn void __attribute__((format(printf, 1, 2))) die(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fputs("oracle: error: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(2);
}

/* --- reading --------------------------------------------------------------------------------- */

static void *grow(void *array, size_t count, size_t size)
{
    if (count & (count - 1)) /* room for the next power of two is there */
        return array;
    array = realloc(array, (count ? count * 2 : 1) * size);
    if (!array)
        die("out of memory");
    return array;
}

static struct run *find_run(uint64_t number)
{
    for (size_t i = 0; i < run_count; i++)
        if (runs[i].number == number)
            return &runs[i];
    return NULL;
}

static struct run *need_run(const struct oracle_record *record)
{
    struct run *run = find_run(record->run);

    if (!run || run->ended)
        die("damaged file: a record of run %" PRIu32 ", which is not under way", record->run);
    return run;
}

static struct thread *need_thread(const struct oracle_record *record)
{
    struct run *run = need_run(record);

    if (record->slot >= ORACLE_MAX_SLOTS || run->threads[record->slot].ended)
        die("damaged file: a record of thread %" PRIu32 " of run %" PRIu32
            ", which has ended or cannot be",
            record->slot, record->run);
    return &run->threads[record->slot];
}

static void begin_run(const struct oracle_record *record)
{
    if (!record->run || find_run(record->run))
        die("damaged file: run %" PRIu32 " begins twice", record->run);
    runs = grow(runs, run_count, sizeof(*runs));
    runs[run_count] = (struct run){.number = record->run, .replayed = record->number};
    run_count++;
}

static void add_entries(const struct oracle_record *record)
{
    struct thread *thread = need_thread(record);

    thread->records = grow(thread->records, thread->count, sizeof(*thread->records));
    thread->records[thread->count++] = record;
}

static void end_run(const struct oracle_record *record)
{
    struct run *run = need_run(record);

    run->ended = true;
    run->given_up = record->number != 0;
}

/* False: it was the last one. */
static bool take_record(const struct oracle_record *record)
{
    switch (record->kind) {
    case ORACLE_BEGIN:
        begin_run(record);
        return true;
    case ORACLE_ENTRIES:
        add_entries(record);
        return true;
    case ORACLE_ENDED:
        need_thread(record)->ended = record;
        return true;
    case ORACLE_END:
        end_run(record);
        return true;
    case ORACLE_CLOSE:
        return false;
    }
    die("damaged file: a record of an unknown kind, %" PRIu32, record->kind);
}

static void read_records(const char *name, const char *at, const char *end)
{
    for (;;) {
        const struct oracle_record *record = (const void *)at;
        size_t room = (size_t)(end - at), size = sizeof(*record);

        if (room >= size)
            size += record->entries * sizeof(struct oracle_entry);
        if (room < size)
            die("%s is cut off: QEMU did not end by itself", name);
        if (!take_record(record))
            return;
        at += size;
    }
}

static void read_file(const char *name)
{
    int descriptor = open(name, O_RDONLY);
    struct stat stat;
    const struct oracle_header *header;

    if (descriptor < 0 || fstat(descriptor, &stat) != 0)
        die("%s: %s", name, strerror(errno));
    if ((size_t)stat.st_size < sizeof(*header))
        die("%s is no file of the oracle's", name);
    header = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (header == MAP_FAILED)
        die("%s: %s", name, strerror(errno));
    if (memcmp(header->magic, ORACLE_MAGIC, sizeof(header->magic)) != 0 || !header->step)
        die("%s is no file of the oracle's, or one of another version", name);
    step = header->step;
    read_records(name, (const char *)(header + 1), (const char *)header + stat.st_size);
}

/* --- reporting ------------------------------------------------------------------------------- */

/* ` = function at file:line`, or nothing. */
static void print_symbol(uint64_t rip)
{
    char command[1200], line[400];
    FILE *pipe;

    if (!program)
        return;
    snprintf(command, sizeof(command), "addr2line -fspe '%s' 0x%" PRIx64, program, rip);
    pipe = popen(command, "r");
    if (pipe && fgets(line, sizeof(line), pipe)) {
        line[strcspn(line, "\n")] = 0;
        printf(" (%s)", line);
    }
    if (pipe)
        pclose(pipe);
}

static void print_place(const char *who, uint64_t rip)
{
    printf("    %s: RIP 0x%" PRIx64, who, rip);
    print_symbol(rip);
    putchar('\n');
}

static uint64_t run_instructions(const struct run *run)
{
    uint64_t sum = 0;

    for (unsigned slot = 0; slot < ORACLE_MAX_SLOTS; slot++)
        if (run->threads[slot].ended)
            sum += run->threads[slot].ended->number;
    return sum;
}

static unsigned run_threads(const struct run *run)
{
    unsigned count = 0;

    for (unsigned slot = 0; slot < ORACLE_MAX_SLOTS; slot++)
        count += run->threads[slot].ended != NULL;
    return count;
}

/* --- comparing ------------------------------------------------------------------------------- */

struct cursor {
    const struct thread *thread;
    size_t record;
    uint32_t entry;
    uint64_t number; /* of the entry that was returned last */
};

static const struct oracle_entry *next_entry(struct cursor *cursor)
{
    const struct oracle_record *record;

    if (cursor->record == cursor->thread->count)
        return NULL;
    record = cursor->thread->records[cursor->record];
    cursor->number = record->number + cursor->entry * step;
    const struct oracle_entry *entry = (const struct oracle_entry *)(record + 1) + cursor->entry;
    if (++cursor->entry == record->entries) {
        cursor->record++;
        cursor->entry = 0;
    }
    return entry;
}

/* What differs lies behind instruction `before` and not behind instruction `until`. */
static void print_difference(unsigned slot, uint64_t before, uint64_t until)
{
    if (until == before + 1)
        printf("  thread %u: instruction %" PRIu64 " is the first one that differs\n", slot, until);
    else
        printf("  thread %u: the first difference is one of the instructions %" PRIu64 " … %" PRIu64
               " (oracle-step=1 would name it)\n",
               slot, before + 1, until);
}

static void print_end(const char *who, const struct thread *thread)
{
    printf("    %s: ends after %" PRIu64 " instructions\n", who, thread->ended->number);
    print_place(who, thread->ended->rip);
}

/* All entries that both have are equal. */
static bool compare_ends(unsigned slot, const struct thread *a, const struct thread *b,
                         uint64_t equal_until)
{
    uint64_t shorter = a->ended->number < b->ended->number ? a->ended->number : b->ended->number;

    if (a->ended->number == b->ended->number && a->ended->hash == b->ended->hash)
        return true;
    if (a->ended->number != b->ended->number && shorter == equal_until)
        printf("  thread %u: equal up to instruction %" PRIu64 ", where one of them ends\n", slot,
               shorter);
    else
        print_difference(slot, equal_until, shorter > equal_until ? shorter : equal_until + 1);
    print_end("first", a);
    print_end("second", b);
    return false;
}

static bool compare_threads(unsigned slot, const struct thread *a, const struct thread *b)
{
    struct cursor at_a = {.thread = a}, at_b = {.thread = b};
    const struct oracle_entry *entry_a, *entry_b, *equal = NULL;
    uint64_t equal_until = 0;

    for (;;) {
        entry_a = next_entry(&at_a);
        entry_b = next_entry(&at_b);
        if (!entry_a || !entry_b)
            return compare_ends(slot, a, b, equal_until);
        if (at_a.number != at_b.number)
            die("damaged file: entries of thread %u are missing", slot);
        if (entry_a->rip != entry_b->rip || entry_a->hash != entry_b->hash)
            break;
        equal_until = at_a.number;
        equal = entry_a;
    }
    print_difference(slot, equal_until, at_a.number);
    if (equal)
        print_place("last equal", equal->rip);
    printf("    at instruction %" PRIu64 "%s:\n", at_a.number,
           entry_a->rip == entry_b->rip ? ", same place, what was loaded or stored differs" : "");
    print_place("first", entry_a->rip);
    print_place("second", entry_b->rip);
    return false;
}

static bool compare_runs(const struct run *a, const struct run *b)
{
    bool equal = true;

    for (unsigned slot = 0; slot < ORACLE_MAX_SLOTS; slot++) {
        const struct thread *in_a = &a->threads[slot], *in_b = &b->threads[slot];

        if (in_a->ended && in_b->ended) {
            equal &= compare_threads(slot, in_a, in_b);
        } else if (in_a->ended || in_b->ended) {
            printf("  thread %u: is not in the %s run\n", slot, in_a->ended ? "second" : "first");
            equal = false;
        }
    }
    return equal;
}

static void check_ended(const struct run *run)
{
    if (!run->ended)
        die("run %" PRIu32 " has not ended", run->number);
    for (unsigned slot = 0; slot < ORACLE_MAX_SLOTS; slot++)
        if (run->threads[slot].count && !run->threads[slot].ended && !run->given_up)
            die("thread %u of run %" PRIu32 " has not ended", slot, run->number);
}

/* True: equal. The recording is the first one, the replay the second one. */
static bool compare_replay(const struct run *replay)
{
    struct run *recording = find_run(replay->replayed);
    bool equal;

    if (!recording || recording->replayed)
        die("run %" PRIu32 " replays a recording that is not in this file", replay->number);
    if (!run_instructions(recording))
        die("nothing was seen of the recording that run %" PRIu32 " replays", replay->number);
    equal = compare_runs(recording, replay);
    printf("run %" PRIu32 ": replay %u of run %" PRIu32 ": %u threads, %" PRIu64
           " instructions: %s\n",
           replay->number, ++recording->replays, recording->number, run_threads(replay),
           run_instructions(replay), equal ? "equal" : "DIFFERS, see above");
    return equal;
}

static int compare_all(void)
{
    unsigned recordings = 0, replays = 0, equal = 0;

    for (size_t i = 0; i < run_count; i++) {
        const struct run *run = &runs[i];

        check_ended(run);
        if (run->replayed) {
            replays++;
            equal += compare_replay(run);
            continue;
        }
        recordings++;
        printf("run %" PRIu32 ": recording: %u threads, %" PRIu64 " instructions%s\n", run->number,
               run_threads(run), run_instructions(run), run->given_up ? ", given up" : "");
    }
    printf("@oracle recordings=%u replays=%u equal=%u step=%" PRIu64 "\n", recordings, replays,
           equal, step);
    if (!replays)
        die("there is no replay in this file");
    return equal == replays ? 0 : 1;
}

static int compare_two(const char *first, const char *second)
{
    const struct run *a = find_run(strtoull(first, NULL, 10));
    const struct run *b = find_run(strtoull(second, NULL, 10));

    if (!a || !b)
        die("there is no run %s in this file", a ? second : first);
    check_ended(a);
    check_ended(b);
    bool equal = compare_runs(a, b);
    printf("@oracle runs=%s,%s equal=%s\n", first, second, equal ? "yes" : "no");
    return equal ? 0 : 1;
}

int main(int count, char **words)
{
    static const char usage[] = "usage: compare FILE [--program ELF] [--runs A B]";
    const char *two[2] = {NULL, NULL};

    if (count < 2)
        die("%s", usage);
    for (int i = 2; i < count; i++) {
        if (!strcmp(words[i], "--program") && i + 1 < count) {
            program = words[++i];
        } else if (!strcmp(words[i], "--runs") && i + 2 < count) {
            two[0] = words[++i];
            two[1] = words[++i];
        } else {
            die("%s", usage);
        }
    }
    read_file(words[1]);
    return two[0] ? compare_two(two[0], two[1]) : compare_all();
}
