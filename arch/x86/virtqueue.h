/* SPDX-License-Identifier: MIT */
/* The split virtqueue (VIRTIO 1.2, 2.7), as its driver sees it.
 *
 * Memory that driver and device share: descriptors and the available ring are written by the
 * driver, the used ring by the device, which is not trusted. Completion is polled; the device is
 * asked for no interrupts. Pure: no registers. Locks: the caller's.
 */
#ifndef ARCH_X86_VIRTQUEUE_H
#define ARCH_X86_VIRTQUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VIRTQ_DESC_NEXT 1  /* `next` is valid */
#define VIRTQ_DESC_WRITE 2 /* the device writes it; else it reads it */
#define VIRTQ_ALIGN 4096u  /* of the used ring in the legacy layout: 2.7.2 */

struct virtq_desc { /* 2.7.5 */
    uint64_t address;
    uint32_t length;
    uint16_t flags, next;
};

struct virtq_avail { /* 2.7.6 */
    uint16_t flags, index;
    uint16_t ring[];
};

struct virtq_used_element { /* 2.7.8 */
    uint32_t id, length;
};

struct virtq_used {
    uint16_t flags, index;
    struct virtq_used_element ring[];
};

_Static_assert(sizeof(struct virtq_desc) == 16, "VIRTIO 1.2, 2.7.5");
_Static_assert(offsetof(struct virtq_avail, ring) == 4, "VIRTIO 1.2, 2.7.6");
_Static_assert(sizeof(struct virtq_used_element) == 8, "VIRTIO 1.2, 2.7.8");
_Static_assert(offsetof(struct virtq_used, ring) == 4, "VIRTIO 1.2, 2.7.8");

struct virtqueue {
    uint16_t size; /* fixed; a power of two */
    volatile struct virtq_desc *desc;
    volatile struct virtq_avail *avail;
    volatile struct virtq_used *used;
    uint16_t next_avail; /* the index that the device sees next */
    uint16_t last_used;  /* up to here the used ring was taken */
};

/* The legacy layout, which a modern device takes as well (2.7.2): the three parts one after the
 * other, the used ring on a boundary of VIRTQ_ALIGN. Also gives the last two bytes each for event
 * indices. */
#define VIRTQ_USED_OFFSET(size)                                                                    \
    ((16u * (size) + 6 + 2u * (size) + VIRTQ_ALIGN - 1) & ~(VIRTQ_ALIGN - 1))
#define VIRTQ_BYTES(size) (VIRTQ_USED_OFFSET(size) + 6 + 8u * (size))

/* memory: VIRTQ_BYTES(size), aligned to VIRTQ_ALIGN; it is cleared. */
void virtqueue_init(struct virtqueue *queue, void *memory, uint16_t size);

/* Makes the chain of descriptors that begins at `head` available. Then the device must be notified,
 * if virtqueue_wants_notification() says so. */
void virtqueue_add(struct virtqueue *queue, uint16_t head);
bool virtqueue_wants_notification(const struct virtqueue *queue);

/* Takes one finished chain: 1 and its head; 0 when there is none; ERR_DISK_PROTOCOL when the device
 * claims to have finished more than it was given, or a descriptor that does not exist. */
int virtqueue_take(struct virtqueue *queue, uint16_t *head);

#endif
