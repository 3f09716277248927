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
    X(-1004, ERR_LOG_FULL, "the recording was given up before the run ended")                      \
    X(-1005, ERR_BAD_LOG, "damaged recording")                                                     \
    X(-1006, ERR_DIVERGED, "the replay diverged from the recording")                               \
    X(-1007, ERR_USAGE, "wrong arguments")                                                         \
    X(-1008, ERR_TOO_MANY_THREADS, "too many threads")                                             \
    X(-1009, ERR_NO_RECORDER, "no recorder is registered")                                         \
    X(-1010, ERR_BUSY, "busy")                                                                     \
    X(-1011, ERR_KILLED, "the program was killed")                                                 \
    X(-1012, ERR_FAILED, "failed")                                                                 \
    X(-1014, ERR_NO_SOURCE, "no tick source that can be used")                                     \
    X(-1020, ERR_TEXT_RANGE, "not a place in the kernel's text, or two patches of one place")      \
    X(-1021, ERR_TEXT_BYTES, "the text is not what the patch expects")                             \
    X(-1022, ERR_TEXT_OPCODE, "not an instruction that can be patched in")                         \
    X(-1030, ERR_NO_DISK, "there is no disk")                                                      \
    X(-1031, ERR_IO, "the disk reports an error")                                                  \
    X(-1032, ERR_READ_ONLY, "the disk is read-only")                                               \
    X(-1033, ERR_RANGE, "beyond the end of the disk or recording")                                 \
    X(-1034, ERR_TIMED_OUT, "the disk did not answer in time")                                     \
    X(-1035, ERR_DISK_PROTOCOL, "the disk broke its protocol")                                     \
    X(-1036, ERR_UNSUPPORTED, "the disk does not know this request")                               \
    X(-1037, ERR_DISK_FAILED, "the disk has failed before and is not used any more")               \
    X(-1040, ERR_STORE_BLANK, "the disk is blank: it was never formatted")                         \
    X(-1041, ERR_STORE_FOREIGN, "the disk holds something else: it is not touched")                \
    X(-1042, ERR_STORE_VERSION, "the disk was formatted by another version")                       \
    X(-1043, ERR_STORE_DAMAGED, "the superblock or both directories of the disk are damaged")      \
    X(-1044, ERR_STORE_SIZE, "the disk is too small, or smaller than when it was formatted")       \
    X(-1045, ERR_STORE_FULL, "no room on the disk for another recording")                          \
    X(-1046, ERR_STORE_OPEN, "a recording on the disk is still open")                              \
    X(-1047, ERR_STORE_NAME, "the disk has a recording of that name, or it is no name")            \
    X(-1048, ERR_STORE_BROKEN,                                                                     \
      "the directory could not be written: the disk must be mounted anew")                         \
    X(-1060, ERR_TABLE_FULL, "a table of fixed size is full")                                      \
    X(-1061, ERR_BAD_NAME, "no usable name")                                                       \
    X(-1062, ERR_NO_PROBE, "no such probe")                                                        \
    X(-1063, ERR_NO_SYMBOL, "no such symbol in the kernel")                                        \
    X(-1064, ERR_NOT_PROBEABLE, "no probe can be set there")

enum err {
#define X(value, name, text) name = value,
    ERR_TABLE(X)
#undef X
#define X(value, name) ERR_##name = -(value), /* ERR_EFAULT … */
        ABI_ERROR_TABLE(X)
#undef X
};

/* "ERR_LOG_FULL: the recording was given up before …"; for unknown codes "error N". The string is
 * static, but for unknown codes, where it is per call site of one thread at a time. */
const char *err_text(int64_t code);

#endif
