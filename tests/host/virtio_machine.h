/* SPDX-License-Identifier: MIT */
/* A virtio block device in place of arch/x86/virtio_pci.c, which can also break every rule.
 * Included behind arch/x86/virtio_blk.c, whose queue it serves.
 */
#ifndef TESTS_HOST_VIRTIO_MACHINE_H
#define TESTS_HOST_VIRTIO_MACHINE_H

#define SECTORS 64u

enum fault {
    NONE,
    SILENT,       /* never answers */
    INDEX_JUMPS,  /* claims to have finished more than it was given */
    INDEX_BACK,   /* the index moves backwards */
    ID_HUGE,      /* a descriptor that does not exist */
    ID_MIDDLE,    /* not the first descriptor of a request */
    ID_OTHER,     /* another request, which it was not given */
    TWICE,        /* the same request again */
    STATUS_WRONG, /* a status that does not exist */
    STATUS_UNSET, /* finished without a status */
    FAILS,
    UNKNOWN,
};

static struct {
    uint64_t features, accepted;
    bool modern, insists, has_reset;
    uint8_t status;
    uint16_t queue_size, used_size, seen;
    uint32_t block_size, size_max;
    uint64_t capacity;
    enum fault fault;
    bool no_notify, master;
    unsigned notified;
    uint8_t disk[SECTORS * 512];
} device;

static void *at(uint64_t physical)
{
    return (void *)(physical + KERNEL_BASE);
}

/* --- the transport --- */

bool pci_find(pci_match *wanted, struct pci_function *out)
{
    *out = (struct pci_function){0, 3, 0, VIRTIO_VENDOR, device.modern ? 0x1042 : 0x1001};
    return wanted(out);
}

void pci_disable_master(const struct pci_function *function)
{
    (void)function;
    device.master = false;
}

const char *virtio_pci_open(struct virtio_pci *opened)
{
    opened->modern = device.modern;
    device.master = true;
    return NULL;
}

bool virtio_pci_reset(struct virtio_pci *of)
{
    (void)of;
    device.status = 0;
    device.seen = 0;
    return device.has_reset;
}

uint8_t virtio_pci_status(const struct virtio_pci *of)
{
    (void)of;
    return device.status;
}

void virtio_pci_add_status(const struct virtio_pci *of, uint8_t bits)
{
    (void)of;
    if (device.insists)
        bits &= (uint8_t)~VIRTIO_FEATURES_OK;
    device.status |= bits;
}

uint64_t virtio_pci_features(const struct virtio_pci *of)
{
    (void)of;
    return device.features;
}

void virtio_pci_accept(const struct virtio_pci *of, uint64_t features)
{
    (void)of;
    device.accepted = features;
}

uint16_t virtio_pci_queue_size(const struct virtio_pci *of)
{
    (void)of;
    return device.queue_size;
}

const char *virtio_pci_set_queue(struct virtio_pci *of, uint64_t physical, uint16_t size)
{
    (void)of;
    device.used_size = size;
    return at(physical) == queue_memory ? NULL : "wrong memory";
}

uint32_t virtio_pci_config32(const struct virtio_pci *of, unsigned offset)
{
    (void)of;
    return offset == 20 ? device.block_size : offset == 8 ? device.size_max : 0;
}

uint64_t virtio_pci_config64(const struct virtio_pci *of, unsigned offset)
{
    (void)of;
    return offset == 0 ? device.capacity : 0;
}

/* --- the device --- */

static uint8_t transfer_sectors(const struct request_header *header,
                                volatile struct virtq_desc *data)
{
    uint8_t *place = device.disk + header->sector * 512;
    if (device.fault == FAILS)
        return STATUS_IO_ERROR;
    if (device.fault == UNKNOWN)
        return STATUS_UNSUPPORTED;
    if (header->sector * 512 + data->length > sizeof(device.disk))
        return STATUS_IO_ERROR;
    if (header->type == VIRTIO_BLK_READ && data->flags & VIRTQ_DESC_WRITE)
        memcpy(at(data->address), place, data->length);
    else if (header->type == VIRTIO_BLK_WRITE && !(data->flags & VIRTQ_DESC_WRITE))
        memcpy(place, at(data->address), data->length);
    else
        return STATUS_UNSUPPORTED;
    return STATUS_OK;
}

/* Carries the request of a chain out; the shape of the chain is checked as a strict device would.
 */
static void carry_out(uint16_t head)
{
    volatile struct virtq_desc *desc = &queue.desc[head], *last = desc;
    const struct request_header *header = at(desc->address);
    unsigned length = 1;
    while (last->flags & VIRTQ_DESC_NEXT) {
        last = &queue.desc[last->next];
        length++;
    }
    uint8_t *status = at(last->address);
    bool flush = header->type == VIRTIO_BLK_FLUSH;
    if (desc->length != 16 || desc->flags & VIRTQ_DESC_WRITE || last->length != 1 ||
        !(last->flags & VIRTQ_DESC_WRITE) || length != (flush ? 2 : 3))
        *status = STATUS_UNSUPPORTED;
    else
        *status = flush ? STATUS_OK : transfer_sectors(header, &queue.desc[desc->next]);
    if (device.fault == STATUS_WRONG)
        *status = 77;
    if (device.fault == STATUS_UNSET)
        *status = 0xff;
}

static void finish(uint32_t id)
{
    queue.used->ring[queue.used->index % queue.size].id = id;
    queue.used->index++;
}

static uint32_t finished_id(uint32_t head)
{
    switch (device.fault) {
    case ID_HUGE:
        return queue.size + 1000u;
    case ID_MIDDLE:
        return head + 1;
    case ID_OTHER:
        return SLOT_DESCRIPTORS - head;
    default:
        return head;
    }
}

static void run_device(void)
{
    while (device.seen != queue.avail->index && device.fault != SILENT) {
        uint16_t head = queue.avail->ring[device.seen++ % queue.size];
        carry_out(head);
        finish(finished_id(head));
        if (device.fault == TWICE)
            finish(head);
        if (device.fault == INDEX_JUMPS)
            queue.used->index += 5;
        if (device.fault == INDEX_BACK)
            queue.used->index -= 2;
    }
}

void virtio_pci_notify(const struct virtio_pci *of)
{
    (void)of;
    device.notified++;
    run_device();
}

#endif
