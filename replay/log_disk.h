/* SPDX-License-Identifier: MIT */
/* Recordings on the disk, in its store (store_disk.h).
 *
 * Context: threads, interrupts on, no spinlock, but where said. Lock: the store's mutex.
 */
#ifndef REPLAY_LOG_DISK_H
#define REPLAY_LOG_DISK_H

#include "replay/recording_file.h"
#include "replay/store.h"

void log_disk_mount(void); /* at boot; ends what a power cut left open, says what there is */

/* NULL: it can be used. Else why not, for people. */
const char *log_disk_absence(void);

/* --- writing: one file at a time, by one thread at a time --- */

struct log_disk_file {
    struct recording_sink sink;
    char name[STORE_NAME_SIZE];
    uint8_t *buffer; /* whole chunks that are not on the disk yet, from a sector's begin on */
    uint32_t used;
};

/* A new file PROGRAM.N; older ones that were not saved may be removed for it, which is said on the
 * console. 0 with *file, which log_disk_close frees; ERR_BUSY, ERR_NO_MEMORY, those of store.h. */
int log_disk_create(const char *program, struct log_disk_file **file);
int log_disk_flush(struct log_disk_file *file); /* what was written so far survives a power cut */
int log_disk_room(const struct log_disk_file *file, uint64_t *room); /* bytes still to be written */

/* Writes what is left and closes; frees file. After an error nothing more can be done with it, but
 * what had reached the disk is there, if that is anything. */
int log_disk_close(struct log_disk_file *file, bool complete);

/* --- reading, listing --- */

/* name NULL: the newest. ERR_NOT_FOUND, and as recording_read. */
int log_disk_load(const char *name, struct recording **out, char reason[RECORDING_REASON_MAX]);
/* The recording is all in that file: blocks that have left memory come from there, unless it was
 * read from another one. Lock order: the store's mutex, the registry's. */
void log_disk_adopt(const char *name, struct recording *recording);
int log_disk_delete(const char *name);
int log_disk_keep(const char *name);
void log_disk_for_each(store_function *function, void *argument); /* the oldest first */

#endif
