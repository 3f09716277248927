/* SPDX-License-Identifier: MIT */
/* The virtio block device (VIRTIO 1.2, 5.2): the first one on the PCI buses.
 *
 * Requests have slots: one may be outstanding in each. Completion is polled, so that it works with
 * interrupts off; nothing here waits but virtio_blk_init() and virtio_blk_stop(), both bounded.
 * Context: any but NMI. Locks: the caller's, one for all functions; the lock of kernel/disk.c.
 */
#ifndef ARCH_X86_VIRTIO_BLK_H
#define ARCH_X86_VIRTIO_BLK_H

#include <stdbool.h>
#include <stdint.h>

#define VIRTIO_BLK_SECTOR 512u
#define VIRTIO_BLK_SLOTS 2
#define VIRTIO_BLK_PENDING 1 /* of virtio_blk_poll: not finished yet */

enum virtio_blk_type { /* 5.2.6 */
                       VIRTIO_BLK_READ = 0,
                       VIRTIO_BLK_WRITE = 1,
                       VIRTIO_BLK_FLUSH = 4,
};

struct virtio_blk {
    const char *kind; /* which of the two interfaces is used */
    uint8_t bus, device, function;
    uint64_t offered, features; /* feature bits of the device; those in use */
    uint64_t sectors;
    uint32_t sectors_max; /* of one request */
    bool read_only, flushes;
};

/* Boot CPU, once. NULL, or why there is no disk. */
const char *virtio_blk_init(struct virtio_blk *out);

/* Gives the device a request for `count` sectors at the physical address `buffer`, which stays the
 * device's until virtio_blk_poll() says something else than VIRTIO_BLK_PENDING or virtio_blk_stop()
 * has returned. The slot must be free. */
void virtio_blk_submit(unsigned slot, enum virtio_blk_type type, uint64_t sector, uint32_t count,
                       uint64_t buffer);

/* VIRTIO_BLK_PENDING; 0: done; ERR_IO, ERR_UNSUPPORTED: the device says so; ERR_DISK_PROTOCOL: it
 * must be stopped, virtio_blk_offence() tells why. */
int virtio_blk_poll(unsigned slot);
const char *virtio_blk_offence(void);

/* Resets the device and takes its right to DMA: no buffer is its any more. There is no way back. */
void virtio_blk_stop(void);

/* Name of a feature bit of block devices ("FLUSH"), or NULL. */
const char *virtio_blk_feature_name(unsigned bit);

#endif
