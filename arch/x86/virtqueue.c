/* SPDX-License-Identifier: MIT */
/* The split virtqueue: adding and taking chains. Sections are those of VIRTIO 1.2. */
#include "arch/x86/virtqueue.h"

#include "kernel/err.h"
#include "kernel/string.h"

#define AVAIL_NO_INTERRUPT 1 /* 2.7.6 */
#define USED_NO_NOTIFY 1     /* 2.7.8 */

void virtqueue_init(struct virtqueue *queue, void *memory, uint16_t size)
{
    uint8_t *bytes = memory;
    memset(memory, 0, VIRTQ_BYTES(size));
    *queue = (struct virtqueue){
        .size = size,
        .desc = memory,
        .avail = (void *)(bytes + sizeof(struct virtq_desc) * size),
        .used = (void *)(bytes + VIRTQ_USED_OFFSET(size)),
    };
    queue->avail->flags = AVAIL_NO_INTERRUPT;
}

/* The device may read the ring's entry as soon as the index shows it (2.7.13). x86 keeps the order
 * of stores; the fence below is for the load of `used->flags` behind them, which it may draw
 * forward (2.7.13.4.1). */
void virtqueue_add(struct virtqueue *queue, uint16_t head)
{
    queue->avail->ring[queue->next_avail % queue->size] = head;
    queue->next_avail++;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    queue->avail->index = queue->next_avail;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

bool virtqueue_wants_notification(const struct virtqueue *queue)
{
    return !(queue->used->flags & USED_NO_NOTIFY);
}

int virtqueue_take(struct virtqueue *queue, uint16_t *head)
{
    uint16_t finished = (uint16_t)(queue->used->index - queue->last_used);
    uint16_t given = (uint16_t)(queue->next_avail - queue->last_used);
    if (finished == 0)
        return 0;
    if (finished > given)
        return ERR_DISK_PROTOCOL;
    __atomic_thread_fence(__ATOMIC_ACQUIRE); /* the entry was written before the index */
    uint32_t id = queue->used->ring[queue->last_used % queue->size].id;
    if (id >= queue->size)
        return ERR_DISK_PROTOCOL;
    queue->last_used++;
    *head = (uint16_t)id;
    return 1;
}
