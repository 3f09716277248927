/* SPDX-License-Identifier: MIT */
/* Fuzzing of what reads recordings' files (fuzz_log.c). */
#ifndef TESTS_FUZZ_FUZZ_LOG_H
#define TESTS_FUZZ_FUZZ_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "replay/log_file.h"

/* Reads all that can be read of a file, decodes its events and checks what the reader says. */
enum log_verdict fuzz_read(const uint8_t *data, size_t size);

/* Makes numbers, padding and checksums of all chunks right that follow each other from the start.
 */
void fuzz_make_right(uint8_t *data, size_t size);

/* libFuzzer's interface: ours. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

/* libFuzzer's own: changes bytes and length, returns the new one. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

#endif
