/* SPDX-License-Identifier: MIT */
/* The disk: one block device, found at boot, for the layers above.
 *
 * Sectors are 512 bytes. Buffers lie in the direct map (heap, frames) or in the kernel's image
 * (static objects), not on stacks: they must be contiguous in physical memory. Any length and
 * alignment.
 *
 * Nothing here hangs or panics because of a bad disk: a request has a time limit, and a device that
 * is late or breaks its protocol is reset and stays failed; every later request then gives the same
 * error. Errors: ERR_NO_DISK, ERR_IO, ERR_READ_ONLY, ERR_RANGE, ERR_DISK_FAILED, ERR_TIMED_OUT.
 *
 * Locks: disk_mutex (one request of threads at a time), disk lock (LOCK_DISK, interrupts off: the
 * device's queue).
 */
#ifndef KERNEL_DISK_H
#define KERNEL_DISK_H

#include <stdbool.h>
#include <stdint.h>

#define DISK_SECTOR 512u

void disk_init(
    void); /* boot, once the timer runs; registers nothing, prints one line if a disk is there */

bool disk_present(void);        /* there is one, and it has not failed */
const char *disk_absence(void); /* why not: "no virtio-blk device", … ; NULL when present */
uint64_t disk_sectors(void);    /* 0 without a disk */
bool disk_read_only(void);      /* writes give ERR_READ_ONLY */

/* Context: thread, interrupts on, no spinlock; waiting threads give the CPU away. */
int disk_read(uint64_t sector, uint32_t count, void *buffer);
int disk_write(uint64_t sector, uint32_t count, const void *buffer);
int disk_flush(void); /* what was written before is durable when it returns 0 */

/* The same as disk_read, in any context but NMI: interrupts off, spinlocks of ranks below LOCK_DISK
 * held. Polls with interrupts off, so keep it short (DISK_NOW_LIMIT sectors at a time). */
int disk_read_now(uint64_t sector, uint32_t count, void *buffer);

/* For the command `disk` and for tests. */
struct disk_info {
    const char *kind;  /* "virtio-blk, modern" … */
    uint64_t features; /* negotiated feature bits */
    uint64_t offered;  /* those that the device offers */
    bool flushes;      /* it has a write cache, and disk_flush() empties it */
    uint64_t reads, writes, flush_requests, errors; /* requests to the device since boot */
    uint64_t sectors_read, sectors_written;
};
void disk_get_info(struct disk_info *out);

#endif
