/* SPDX-License-Identifier: MIT */
/* What events of a recording refer to by number, and its names: system calls, ordered objects. The
 * numbers stand in recordings' files. Pure; also on the host.
 */
#ifndef KERNEL_NAMES_H
#define KERNEL_NAMES_H

#include <stdint.h>

#define FUTEX_BUCKETS 16

/* Kernel objects of a process whose order of use is recorded (kernel/object.h). */
enum object_id {
    OBJECT_MAP,
    OBJECT_THREADS,
    OBJECT_OUTPUT,
    OBJECT_FUTEX, /* the first of FUTEX_BUCKETS */
    OBJECT_COUNT = OBJECT_FUTEX + FUTEX_BUCKETS,
};

const char *object_name(enum object_id id);
const char *syscall_name_x86_64(uint64_t number); /* "futex"; "?" */

#endif
