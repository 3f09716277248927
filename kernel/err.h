/* SPDX-License-Identifier: MIT */
/* Named error codes: functions return 0 or one of these, negative.
 *
 * Those that a system call can return have Linux' values (kernel/abi.h); the kernel's own start at
 * -1000 and never reach a program.
 */
#ifndef KERNEL_ERR_H
#define KERNEL_ERR_H

#include "kernel/abi.h"

#define ERR_TABLE(X)                                                                               \
    X(-1000, ERR_BAD_ELF, "not a program that can be loaded")                                      \
    X(-1001, ERR_BAD_ARCHIVE, "damaged program archive")                                           \
    X(-1002, ERR_NOT_FOUND, "no such program or log")                                              \
    X(-1003, ERR_NO_MEMORY, "out of memory")                                                       \
    X(-1004, ERR_LOG_FULL, "the recording reached its size limit")                                 \
    X(-1005, ERR_BAD_LOG, "damaged recording")                                                     \
    X(-1006, ERR_DIVERGED, "the replay diverged from the recording")                               \
    X(-1007, ERR_USAGE, "wrong arguments")                                                         \
    X(-1008, ERR_TOO_MANY_THREADS, "too many threads")                                             \
    X(-1009, ERR_NO_RECORDER, "no recorder is registered")                                         \
    X(-1014, ERR_NO_SOURCE, "no tick source that can be used")                                     \
    X(-1020, ERR_TEXT_RANGE, "not a place in the kernel's text, or two patches of one")            \
    X(-1021, ERR_TEXT_BYTES, "the text is not what the patch expects")                             \
    X(-1022, ERR_TEXT_OPCODE, "not an instruction that can be patched in")                         \
    X(-1010, ERR_BUSY, "busy")                                                                     \
    X(-1011, ERR_KILLED, "the program was killed")                                                 \
    X(-1012, ERR_FAILED, "failed")                                                                 \
    X(-1013, ERR_RESTART, "interrupted: the system call is to be started again")                   \
    X(-1030, ERR_TABLE_FULL, "a table of fixed size is full")                                      \
    X(-1031, ERR_BAD_NAME, "no usable name")                                                       \
    X(-1032, ERR_NO_PROBE, "no such probe")                                                        \
    X(-1033, ERR_NO_SYMBOL, "no such symbol in the kernel")                                        \
    X(-1034, ERR_NOT_PROBEABLE, "no probe can be set there")

enum err {
#define X(value, name, text) name = value,
    ERR_TABLE(X)
#undef X
#define X(value, name) ERR_##name = -(value), /* ERR_EFAULT … */
        ABI_ERROR_TABLE(X)
#undef X
};

/* "ERR_LOG_FULL: the recording reached its size limit"; for unknown codes "error N". The string is
 * static, but for unknown codes, where it is per call site of one thread at a time. */
const char *err_text(int64_t code);

#endif
