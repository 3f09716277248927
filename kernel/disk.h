/* SPDX-License-Identifier: MIT */
/* The disk: one block device, found at boot, for the layers above.
 *
 * Buffers lie in the direct map (heap, frames) or in the kernel's image (static objects), not on
 * stacks: they must be contiguous in physical memory. Any length and alignment.
 *
 * Nothing here hangs or panics because of a bad disk: a request has a time limit, and a device that
 * is late or breaks its protocol is reset and stays out of use; the request gets ERR_TIMED_OUT or
 * ERR_DISK_PROTOCOL, every later one ERR_DISK_FAILED. Other errors: ERR_NO_DISK, ERR_RANGE,
 * ERR_READ_ONLY, and what the device reports: ERR_IO, ERR_UNSUPPORTED.
 *
 * Locks: a mutex (requests of threads one by one), LOCK_DISK (the device's queue, the counters).
 */
#ifndef KERNEL_DISK_H
#define KERNEL_DISK_H

#include <stdbool.h>
#include <stdint.h>

#define DISK_SECTOR 512u

void disk_init(void); /* boot CPU, once the timer runs; prints a line when there is a disk */

bool disk_present(void);        /* there is one, and it has not failed */
const char *disk_absence(void); /* why not: "no virtio-blk device", …; NULL when present */
uint64_t disk_sectors(void);    /* 0 without a disk */
bool disk_read_only(void);      /* writes give ERR_READ_ONLY */

/* Context: thread, interrupts on, no spinlock held. While it waits, others get the CPU. */
int disk_read(uint64_t sector, uint32_t count, void *buffer);
int disk_write(uint64_t sector, uint32_t count, const void *buffer);
int disk_flush(void); /* what was written before is durable when it returns 0 */

/* The same as disk_read in any context but NMI: interrupts off, locks held that rank below
 * LOCK_DISK. Interrupts stay off until the data is there, so it is for a few sectors at a time. */
int disk_read_now(uint64_t sector, uint32_t count, void *buffer);

struct disk_info {
    const char *kind; /* the device's interface: "modern", … */
    uint8_t bus, device, function;
    uint64_t offered, features; /* feature bits of the device; those in use */
    uint32_t sectors_max;       /* of one request */
    bool flushes;               /* has a volatile cache, which disk_flush() empties */
    uint64_t reads, writes, flush_requests, errors; /* requests to the device since boot */
    uint64_t sectors_read, sectors_written;
};
void disk_get_info(struct disk_info *out); /* zeroes without a disk */

#endif
