/* SPDX-License-Identifier: MIT */
/* Reads the oracle's file. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "tools/oracle/read.h"

struct run *oracle_runs;
size_t oracle_run_count;
uint64_t oracle_step;

void oracle_die(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fputs("oracle: error: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(2);
}

static void *grow(void *array, size_t count, size_t size)
{
    if (count & (count - 1)) /* room for the next power of two is there */
        return array;
    array = realloc(array, (count ? count * 2 : 1) * size);
    if (!array)
        oracle_die("out of memory");
    return array;
}

static struct run *find_run(uint64_t number)
{
    for (size_t i = 0; i < oracle_run_count; i++)
        if (oracle_runs[i].number == number)
            return &oracle_runs[i];
    return NULL;
}

struct run *oracle_need_run(uint64_t number, const char *complaint)
{
    struct run *run = find_run(number);

    if (!run)
        oracle_die("%s", complaint);
    return run;
}

static struct run *need_run(const struct oracle_record *record)
{
    struct run *run = find_run(record->run);

    if (!run || run->ended)
        oracle_die("damaged file: a record of run %" PRIu32 ", which is not under way",
                   record->run);
    return run;
}

static struct thread *need_thread(const struct oracle_record *record)
{
    struct run *run = need_run(record);

    if (record->slot >= ORACLE_MAX_SLOTS || run->threads[record->slot].ended)
        oracle_die("damaged file: a record of thread %" PRIu32 " of run %" PRIu32
                   ", which has ended or cannot be",
                   record->slot, record->run);
    return &run->threads[record->slot];
}

static void begin_run(const struct oracle_record *record)
{
    if (!record->run || find_run(record->run))
        oracle_die("damaged file: run %" PRIu32 " begins twice", record->run);
    oracle_runs = grow(oracle_runs, oracle_run_count, sizeof(*oracle_runs));
    oracle_runs[oracle_run_count] = (struct run){.number = record->run, .replayed = record->number};
    oracle_run_count++;
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
        break;
    case ORACLE_ENTRIES:
        add_entries(record);
        break;
    case ORACLE_ENDED:
        need_thread(record)->ended = record;
        break;
    case ORACLE_END:
        end_run(record);
        break;
    case ORACLE_CLOSE:
        return false;
    default:
        oracle_die("damaged file: a record of an unknown kind, %" PRIu32, record->kind);
    }
    return true;
}

static void read_records(const char *name, const char *at, const char *end)
{
    for (;;) {
        const struct oracle_record *record = (const void *)at;
        size_t room = (size_t)(end - at), size = sizeof(*record);

        if (room >= size)
            size += record->entries * sizeof(struct oracle_entry);
        if (room < size)
            oracle_die("%s is cut off: QEMU did not end by itself", name);
        if (!take_record(record))
            return;
        at += size;
    }
}

void oracle_read_file(const char *name)
{
    int descriptor = open(name, O_RDONLY);
    struct stat stat;
    const struct oracle_header *header;

    if (descriptor < 0 || fstat(descriptor, &stat) != 0)
        oracle_die("%s: %s", name, strerror(errno));
    if ((size_t)stat.st_size < sizeof(*header))
        oracle_die("%s is no file of the oracle's", name);
    header = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (header == MAP_FAILED)
        oracle_die("%s: %s", name, strerror(errno));
    if (memcmp(header->magic, ORACLE_MAGIC, sizeof(header->magic)) != 0 || !header->step)
        oracle_die("%s is no file of the oracle's, or one of another version", name);
    oracle_step = header->step;
    read_records(name, (const char *)(header + 1), (const char *)header + stat.st_size);
}
