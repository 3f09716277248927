/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the oracle's file. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tools/qemu-pmu/pmu_oracle_file.h"
#include "tools/qemu-pmu/pmu_qemu.h"

static pthread_mutex_t file_lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *file; /* file_lock */
static const char *file_name;

bool oracle_file_open(const char *name, uint64_t step)
{
    struct oracle_header header = {.magic = ORACLE_MAGIC, .step = step};

    file_name = name;
    file = fopen(name, "wb");
    if (file && fwrite(&header, sizeof(header), 1, file) == 1)
        return true;
    pmu_message("error: oracle=%s: %s", name, strerror(errno));
    return false;
}

static bool write_out(const struct oracle_record *record, const struct oracle_entry *entries)
{
    if (fwrite(record, sizeof(*record), 1, file) != 1)
        return false;
    return !entries || fwrite(entries, sizeof(*entries), record->entries, file) == record->entries;
}

void oracle_file_write(const struct oracle_record *record, const struct oracle_entry *entries)
{
    bool written = true;

    pthread_mutex_lock(&file_lock);
    if (file) /* a vCPU may still run while QEMU ends */
        written = write_out(record, entries);
    pthread_mutex_unlock(&file_lock);
    if (!written)
        pmu_fatal("oracle=%s: %s", file_name, strerror(errno));
}

void oracle_file_close(void)
{
    struct oracle_record record = {.kind = ORACLE_CLOSE};
    bool written;

    pthread_mutex_lock(&file_lock);
    written = write_out(&record, NULL) && fclose(file) == 0;
    file = NULL;
    pthread_mutex_unlock(&file_lock);
    if (!written)
        pmu_message("error: oracle=%s: %s", file_name, strerror(errno));
}
