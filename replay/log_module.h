/* SPDX-License-Identifier: MIT */
/* Recordings that the boot loader brought as multiboot modules, behind the program archive. */
#ifndef REPLAY_LOG_MODULE_H
#define REPLAY_LOG_MODULE_H

#include "replay/recording_file.h"

struct log_module {
    const char *name; /* the last part of what the boot loader calls it */
    const void *data;
    uint64_t size;
};

/* The n-th of them, from 0: those that begin as recordings do. */
bool log_module_get(unsigned n, struct log_module *out);

/* As recording_read. The memory must stay as long as the recording. */
int log_module_read(const struct log_module *module, struct recording **out,
                    char reason[RECORDING_REASON_MAX]);

/* name NULL: the first. ERR_NOT_FOUND, and as recording_read. Thread context. */
int log_module_load(const char *name, struct recording **out, char reason[RECORDING_REASON_MAX]);

#endif
