/* SPDX-License-Identifier: MIT */
/* The virtio block device: set-up, requests, completions. Sections are those of VIRTIO 1.2.
 *
 * A request is three descriptors, or two without data: header, data, status. Each slot has its own,
 * and its own header and status, so there is nothing to allocate. One data descriptor is enough,
 * since buffers are contiguous; therefore SEG_MAX is not asked for.
 */
#include "arch/x86/virtio_blk.h"

#include "arch/x86/layout.h"
#include "arch/x86/virtio_pci.h"
#include "arch/x86/virtqueue.h"
#include "kernel/err.h"
#include "kernel/panic.h"

#define DEVICE_MODERN 0x1042 /* 0x1040 and the block device's number: 4.1.2, 5 */
#define DEVICE_TRANSITIONAL 0x1001

#define QUEUE_SIZE_WANTED 16
#define QUEUE_SIZE_MAX 1024 /* the legacy interface may force us that far */
#define SLOT_DESCRIPTORS 3
#define REQUEST_SECTORS_MAX 2048u /* a request of 1 MiB: short enough for every time limit */

#define STATUS_OK 0 /* 5.2.6 */
#define STATUS_IO_ERROR 1
#define STATUS_UNSUPPORTED 2
#define STATUS_NONE 0xff /* ours: the device has not written it */

/* Feature bits, 5.2.3 and 6 */
#define FEATURES(X)                                                                                \
    X(1, SIZE_MAX)                                                                                 \
    X(2, SEG_MAX)                                                                                  \
    X(4, GEOMETRY)                                                                                 \
    X(5, RO)                                                                                       \
    X(6, BLK_SIZE)                                                                                 \
    X(7, SCSI)                                                                                     \
    X(9, FLUSH)                                                                                    \
    X(10, TOPOLOGY)                                                                                \
    X(11, CONFIG_WCE)                                                                              \
    X(12, MQ)                                                                                      \
    X(13, DISCARD)                                                                                 \
    X(14, WRITE_ZEROES)                                                                            \
    X(15, LIFETIME)                                                                                \
    X(16, SECURE_ERASE)                                                                            \
    X(24, NOTIFY_ON_EMPTY)                                                                         \
    X(27, ANY_LAYOUT)                                                                              \
    X(28, INDIRECT_DESC)                                                                           \
    X(29, EVENT_IDX)                                                                               \
    X(32, VERSION_1)                                                                               \
    X(33, ACCESS_PLATFORM)                                                                         \
    X(34, RING_PACKED)                                                                             \
    X(35, IN_ORDER)                                                                                \
    X(36, ORDER_PLATFORM)                                                                          \
    X(37, SR_IOV)                                                                                  \
    X(38, NOTIFICATION_DATA)                                                                       \
    X(40, RING_RESET)

#define X(bit, name) FEATURE_##name = 1ull << (bit),
enum feature { FEATURES(X) };
#undef X

#define FEATURES_WANTED                                                                            \
    (FEATURE_SIZE_MAX | FEATURE_RO | FEATURE_BLK_SIZE | FEATURE_FLUSH | FEATURE_VERSION_1)

/* struct virtio_blk_config, 5.2.4 */
enum config_field { CONFIG_CAPACITY = 0, CONFIG_SIZE_MAX = 8, CONFIG_BLK_SIZE = 20 };

struct request_header { /* 5.2.6; without the data and the status */
    uint32_t type, reserved;
    uint64_t sector;
};
_Static_assert(sizeof(struct request_header) == 16, "VIRTIO 1.2, 5.2.6");

struct slot {
    struct request_header header; /* the device reads it */
    volatile uint8_t status;      /* the device writes it */
    bool outstanding, finished;
};

/* Shared with the device: contiguous and below 4 GiB, as the whole image is. */
static uint8_t queue_memory[VIRTQ_BYTES(QUEUE_SIZE_MAX)] __attribute__((aligned(VIRTQ_ALIGN)));
static struct slot slots[VIRTIO_BLK_SLOTS];

static struct virtio_pci pci;
static struct virtqueue queue;
static const char *offence;

const char *virtio_blk_feature_name(unsigned bit)
{
    switch (bit) {
#define X(number, name)                                                                            \
    case number:                                                                                   \
        return #name;
        FEATURES(X)
#undef X
    default:
        return NULL;
    }
}

/* --- set-up: 3.1.1 --- */

static bool is_block_device(const struct pci_function *at)
{
    return at->vendor_id == VIRTIO_VENDOR &&
           (at->device_id == DEVICE_MODERN || at->device_id == DEVICE_TRANSITIONAL);
}

static const char *negotiate(struct virtio_blk *out)
{
    out->offered = virtio_pci_features(&pci);
    out->features = out->offered & FEATURES_WANTED;
    if (pci.modern && !(out->offered & FEATURE_VERSION_1))
        return "it has modern registers but not VERSION_1";
    if (!pci.modern)
        out->features &= UINT32_MAX;
    virtio_pci_accept(&pci, out->features);
    if (!pci.modern)
        return NULL; /* there was no such step: 3.1.2 */
    virtio_pci_add_status(&pci, VIRTIO_FEATURES_OK);
    if (virtio_pci_status(&pci) & VIRTIO_FEATURES_OK)
        return NULL;
    return out->offered & FEATURE_ACCESS_PLATFORM
               ? "it insists on ACCESS_PLATFORM (an IOMMU)"
               : "it insists on features that are not known here";
}

static const char *read_config(struct virtio_blk *out)
{
    out->read_only = out->features & FEATURE_RO;
    out->flushes = out->features & FEATURE_FLUSH;
    out->sectors = virtio_pci_config64(&pci, CONFIG_CAPACITY);
    out->sectors_max = REQUEST_SECTORS_MAX;
    if (out->features & FEATURE_BLK_SIZE &&
        virtio_pci_config32(&pci, CONFIG_BLK_SIZE) != VIRTIO_BLK_SECTOR)
        return "its blocks are not of 512 bytes";
    if (out->features & FEATURE_SIZE_MAX) {
        uint32_t most = virtio_pci_config32(&pci, CONFIG_SIZE_MAX) / VIRTIO_BLK_SECTOR;
        if (most == 0)
            return "it takes less than a sector at a time";
        if (most < out->sectors_max)
            out->sectors_max = most;
    }
    return out->sectors ? NULL : "it has no sectors";
}

static const char *set_up_queue(void)
{
    uint16_t size = virtio_pci_queue_size(&pci);
    if (pci.modern && size > QUEUE_SIZE_WANTED)
        size = QUEUE_SIZE_WANTED;
    if (size == 0 || (size & (size - 1)) != 0)
        return "its queue has no valid size";
    if (size < VIRTIO_BLK_SLOTS * SLOT_DESCRIPTORS || size > QUEUE_SIZE_MAX)
        return "its queue is too small or too large";
    virtqueue_init(&queue, queue_memory, size);
    return virtio_pci_set_queue(&pci, IMAGE_TO_PHYS(queue_memory), size);
}

static const char *set_up(struct virtio_blk *out)
{
    const char *problem = virtio_pci_open(&pci);
    if (problem)
        return problem;
    out->kind = !pci.modern                               ? "legacy interface"
                : pci.function.device_id == DEVICE_MODERN ? "modern"
                                                          : "transitional, used as modern";
    if (!virtio_pci_reset(&pci))
        return "it does not come out of its reset";
    virtio_pci_add_status(&pci, VIRTIO_ACKNOWLEDGE);
    virtio_pci_add_status(&pci, VIRTIO_DRIVER);
    problem = negotiate(out);
    if (!problem)
        problem = read_config(out);
    if (!problem)
        problem = set_up_queue();
    virtio_pci_add_status(&pci, problem ? VIRTIO_FAILED : VIRTIO_DRIVER_OK);
    return problem;
}

const char *virtio_blk_init(struct virtio_blk *out)
{
    *out = (struct virtio_blk){0};
    if (!pci_find(is_block_device, &pci.function))
        return "no virtio-blk device";
    out->bus = pci.function.bus;
    out->device = pci.function.device;
    out->function = pci.function.function;
    const char *problem = set_up(out);
    if (problem)
        pci_disable_master(&pci.function);
    return problem;
}

/* --- requests: 5.2.6 --- */

static void set_descriptor(unsigned index, uint64_t address, uint32_t length, uint16_t flags)
{
    volatile struct virtq_desc *desc = &queue.desc[index];
    desc->address = address;
    desc->length = length;
    desc->flags = flags;
    desc->next = (uint16_t)(index + 1);
}

void virtio_blk_submit(unsigned index, enum virtio_blk_type type, uint64_t sector, uint32_t count,
                       uint64_t buffer)
{
    struct slot *slot = &slots[index];
    unsigned first = index * SLOT_DESCRIPTORS, next = first;
    kassert(index < VIRTIO_BLK_SLOTS && !slot->outstanding);
    *slot = (struct slot){
        .header = {type, 0, sector},
        .status = STATUS_NONE,
        .outstanding = true,
    };
    set_descriptor(next++, IMAGE_TO_PHYS(&slot->header), sizeof(slot->header), VIRTQ_DESC_NEXT);
    if (type != VIRTIO_BLK_FLUSH)
        set_descriptor(next++, buffer, count * VIRTIO_BLK_SECTOR,
                       VIRTQ_DESC_NEXT | (type == VIRTIO_BLK_READ ? VIRTQ_DESC_WRITE : 0));
    set_descriptor(next, IMAGE_TO_PHYS(&slot->status), 1, VIRTQ_DESC_WRITE);
    virtqueue_add(&queue, (uint16_t)first);
    if (virtqueue_wants_notification(&queue))
        virtio_pci_notify(&pci);
}

static int give_up(const char *why)
{
    offence = why;
    return ERR_DISK_PROTOCOL;
}

/* Notes all that the device has finished, for whichever slot. */
static int take_finished(void)
{
    for (;;) {
        uint16_t head;
        int taken = virtqueue_take(&queue, &head);
        if (taken < 0)
            return give_up("its used ring names more than it was given");
        if (taken == 0)
            return 0;
        unsigned index = head / SLOT_DESCRIPTORS;
        if (head % SLOT_DESCRIPTORS != 0 || index >= VIRTIO_BLK_SLOTS ||
            !slots[index].outstanding || slots[index].finished)
            return give_up("it finished a request that it was not given");
        slots[index].finished = true;
    }
}

int virtio_blk_poll(unsigned index)
{
    struct slot *slot = &slots[index];
    kassert(index < VIRTIO_BLK_SLOTS && slot->outstanding);
    if (!slot->finished) {
        int error = take_finished();
        if (error)
            return error;
        if (!slot->finished)
            return VIRTIO_BLK_PENDING;
    }
    slot->outstanding = false;
    switch (slot->status) {
    case STATUS_OK:
        return 0;
    case STATUS_IO_ERROR:
        return ERR_IO;
    case STATUS_UNSUPPORTED:
        return ERR_UNSUPPORTED;
    default:
        return give_up("it finished a request with a status that does not exist");
    }
}

const char *virtio_blk_offence(void)
{
    return offence ? offence : "none";
}

void virtio_blk_stop(void)
{
    virtio_pci_reset(&pci);
    pci_disable_master(&pci.function);
    for (unsigned i = 0; i < VIRTIO_BLK_SLOTS; i++)
        slots[i].outstanding = false;
}
