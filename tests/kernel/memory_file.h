/* SPDX-License-Identifier: MIT */
/* Recordings as files in memory, for suites. Thread context. */
#ifndef TESTS_KERNEL_MEMORY_FILE_H
#define TESTS_KERNEL_MEMORY_FILE_H

#include "replay/recording_file.h"

#define MEMORY_FILE_MAX (64u << 10)

/* bytes: MEMORY_FILE_MAX of them, here and below. */
int memory_file_write(struct recording *recording, uint8_t *bytes, uint64_t *size);

/* Records a program and keeps nothing but the file. Test points say what is wrong. */
bool memory_file_record(int count, char **words, uint8_t *bytes, uint64_t *size);

/* The recording needs the bytes for as long as it lives. */
int memory_file_read(const uint8_t *bytes, uint64_t size, struct recording **out,
                     char reason[RECORDING_REASON_MAX]);

#endif
