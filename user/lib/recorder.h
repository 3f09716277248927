/* SPDX-License-Identifier: MIT */
/* The three calls of the recorder, for a program that records a part of itself.
 *
 * All return a negated error where there is no recorder. On Linux these numbers belong to other
 * calls; with the arguments used here those only fail.
 */
#ifndef USER_LIB_RECORDER_H
#define USER_LIB_RECORDER_H

#include "user/lib/syscall.h"

/* Records the calling process from here on, all its threads; 0 when that was accepted. */
static inline long recorder_start(void)
{
    return syscall_raw(SYS_start_rec, 0, 0, 0, 0, 0, 0);
}

/* Ends the recording and stores the end state. */
static inline long recorder_stop(void)
{
    return syscall_raw(SYS_stop_rec, 0, 0, 0, 0, 0, 0);
}

/* Acquires all pages of [address, address + length) at once (none if length is 0) and records the
 * caller's point; returns how many pages it holds. access: REC_OWNER_READ or REC_OWNER_WRITE. */
static inline long recorder_own(const void *address, size_t length, int access)
{
    return syscall_raw(SYS_rec_owner, (unsigned long)address, length, (unsigned long)access, 0, 0,
                       0);
}

#endif
