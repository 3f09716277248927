/* SPDX-License-Identifier: MIT */
/* A recording: where it began (checkpoint), what happened (streams), where it ended.
 *
 * Made by record.c, finished when its process ends or stop_rec is called, or read from a file
 * (recording_file.h), and then never changed. The registry owns it. Locks: registry mutex.
 */
#ifndef REPLAY_RECORDING_H
#define REPLAY_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/x86/arch.h"
#include "arch/x86/frame.h"
#include "kernel/process.h"
#include "replay/log_format.h"
#include "replay/stream.h"

#define STATE_HASH_BYTES 16
#define RECORDING_REASON_MAX 96
#define RECORDING_NAME_MAX 40

/* A thread at the checkpoint. fpu_present is false for those that came later. */
struct checkpoint_thread {
    bool present;
    uint32_t index; /* struct thread's: gives the tid */
    struct trap_frame frame;
    struct user_segments segments;
    uint64_t clear_child_tid;
    uint64_t fpu; /* frame with the FPU area */
};

struct checkpoint_page {
    uint64_t address;
    uint64_t frame; /* a copy */
};

struct checkpoint_vma {
    uint64_t start, end;
    uint32_t prot;
};

struct checkpoint {
    uint32_t pid, next_index;
    struct checkpoint_thread threads[LOG_MAX_SLOTS];
    struct checkpoint_page *pages; /* ascending; pages of zeroes only are left out */
    uint64_t page_count;
    struct checkpoint_vma *vmas;
    uint64_t vma_count;
    struct hash output_hash;
    uint64_t output_bytes;
};

struct end_thread {
    bool present;
    uint64_t ticks;
    uint64_t events;
};

struct end_state {
    uint8_t hash[STATE_HASH_BYTES]; /* all user pages, mappings, registers, ticks, output */
    uint8_t output_hash[STATE_HASH_BYTES];
    struct end_thread threads[LOG_MAX_SLOTS];
    struct process_end process;
};

struct recording {
    struct recording *next;
    uint32_t number;
    struct log_header header; /* program, ticks, machine */
    char command[128];        /* program and arguments, for people */
    uint64_t started_ns, elapsed_ns;
    bool finished;
    /* "", or why the streams do not reach to the end of the run, and nothing is known of that. */
    char incomplete[RECORDING_REASON_MAX];
    struct checkpoint checkpoint;
    uint32_t slots; /* threads, the ended ones included */
    struct stream streams[LOG_MAX_SLOTS];
    struct end_state end;
    uint32_t witness;      /* the run that it was, for arch/x86/witness.h; 0: not watched here */
    uint64_t bytes, limit; /* in memory: streams and checkpoint; atomic while recording */

    /* The file that holds it. */
    char file[RECORDING_NAME_MAX]; /* "": it is in memory only */
    bool on_disk;                  /* else the boot loader brought the file */
    struct stream_backing backing; /* where blocks that are not in memory come from */
};

struct recording *recording_create(void); /* NULL: out of memory */
void recording_free(struct recording *recording);

/* Hands a finished recording to the registry, which numbers it. */
void recording_publish(struct recording *recording);
struct recording *recording_find(uint32_t number); /* 0: the last one. NULL: none */
void recording_for_each(void (*function)(struct recording *, void *), void *argument);
bool recording_delete(uint32_t number);

/* No part of it is only in a file. */
bool recording_in_memory(const struct recording *recording);

/* The file on the disk is gone: no recording is in it any more. NULL: all files. */
void recording_forget_file(const char *name);

uint64_t recording_events(const struct recording *recording);
uint64_t recording_ticks(const struct recording *recording);
uint64_t recording_bytes(const struct recording *recording); /* of the streams */
static inline bool recording_complete(const struct recording *recording)
{
    return recording->incomplete[0] == 0;
}

/* Sets `command` from the header's arguments. */
void recording_set_command(struct recording *recording);

#endif
