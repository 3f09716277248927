/* SPDX-License-Identifier: MIT */
/* The PCI transport: finding the registers, and access to them. Sections are those of VIRTIO 1.2.
 *
 * What the device's configuration space says is checked against its BARs before anything is
 * touched.
 */
#include "arch/x86/virtio_pci.h"

#include "arch/x86/cpu.h"
#include "arch/x86/io.h"
#include "arch/x86/paging.h"
#include "arch/x86/timer.h"
#include "arch/x86/virtqueue.h"

#define RESET_LIMIT_NS 500000000ull /* may pass with interrupts off */
#define GENERATION_TRIES 16

/* struct virtio_pci_cap, 4.1.4 */
enum cap_field {
    CAP_LENGTH = 2, /* 8 bits */
    CAP_TYPE = 3,
    CAP_BAR = 4,
    CAP_OFFSET = 8, /* 32 bits */
    CAP_SIZE = 12,
    CAP_MULTIPLIER = 16, /* of CAP_NOTIFY */
};
enum cap_type { CAP_COMMON = 1, CAP_NOTIFY = 2, CAP_DEVICE = 4 };

/* struct virtio_pci_common_cfg, 4.1.4.3 */
enum common_field {
    COMMON_DEVICE_SELECT = 0, /* 32 bits */
    COMMON_DEVICE_FEATURES = 4,
    COMMON_DRIVER_SELECT = 8,
    COMMON_DRIVER_FEATURES = 12,
    COMMON_STATUS = 20, /* 8 bits */
    COMMON_GENERATION = 21,
    COMMON_QUEUE_SELECT = 22, /* 16 bits */
    COMMON_QUEUE_SIZE = 24,
    COMMON_QUEUE_ENABLE = 28,
    COMMON_QUEUE_NOTIFY = 30,
    COMMON_QUEUE_DESC = 32, /* 64 bits */
    COMMON_QUEUE_DRIVER = 40,
    COMMON_QUEUE_DEVICE = 48,
    COMMON_BYTES = 56,
};

/* The legacy header, 4.1.4.10 */
enum legacy_field {
    LEGACY_DEVICE_FEATURES = 0, /* 32 bits */
    LEGACY_DRIVER_FEATURES = 4,
    LEGACY_QUEUE_PAGE = 8,
    LEGACY_QUEUE_SIZE = 12, /* 16 bits */
    LEGACY_QUEUE_SELECT = 14,
    LEGACY_NOTIFY = 16,
    LEGACY_STATUS = 18, /* 8 bits */
    LEGACY_CONFIG = 20, /* while MSI-X is off */
    LEGACY_CONFIG_BYTES = 36,
};

/* Each field must be accessed by its own width (4.1.3.1). */
static uint8_t common8(const struct virtio_pci *pci, enum common_field field)
{
    return pci->common[field];
}

static uint16_t common16(const struct virtio_pci *pci, enum common_field field)
{
    return *(volatile uint16_t *)(pci->common + field);
}

static void set_common16(const struct virtio_pci *pci, enum common_field field, uint16_t value)
{
    *(volatile uint16_t *)(pci->common + field) = value;
}

static void set_common32(const struct virtio_pci *pci, enum common_field field, uint32_t value)
{
    *(volatile uint32_t *)(pci->common + field) = value;
}

static void set_common64(const struct virtio_pci *pci, enum common_field field, uint64_t value)
{
    set_common32(pci, field, (uint32_t)value); /* 4.1.3.1: as two halves */
    set_common32(pci, field + 4, (uint32_t)(value >> 32));
}

static uint16_t legacy(const struct virtio_pci *pci, enum legacy_field field)
{
    return (uint16_t)(pci->port + field);
}

/* --- finding the registers --- */

/* The part of a BAR that a capability names; NULL when that is not wholly there, or is in ports,
 * which the driver may pass over (4.1.4.1). */
static volatile uint8_t *map_capability(const struct virtio_pci *pci, uint8_t cap, uint32_t least,
                                        uint32_t *length)
{
    uint8_t index = pci_read8(&pci->function, cap + CAP_BAR);
    uint32_t offset = pci_read32(&pci->function, cap + CAP_OFFSET);
    uint32_t size = pci_read32(&pci->function, cap + CAP_SIZE);
    struct pci_bar bar = pci_read_bar(&pci->function, index);
    if (bar.io || size < least || offset % 4 != 0 || (uint64_t)offset + size > bar.size)
        return NULL;
    *length = size;
    return paging_map_device(bar.address + offset, size);
}

/* The first one of a type that can be used counts (4.1.4.1). */
static volatile uint8_t *find_part(const struct virtio_pci *pci, enum cap_type type, uint32_t least,
                                   uint32_t *length, uint8_t *where)
{
    const struct pci_function *at = &pci->function;
    uint8_t needed = type == CAP_NOTIFY ? CAP_MULTIPLIER + 4 : CAP_MULTIPLIER;
    for (*where = 0; (*where = pci_capability(at, PCI_CAP_VENDOR, *where)) != 0;) {
        if (pci_read8(at, *where + CAP_TYPE) != type ||
            pci_read8(at, *where + CAP_LENGTH) < needed || *where + needed > 256)
            continue;
        volatile uint8_t *part = map_capability(pci, *where, least, length);
        if (part)
            return part;
    }
    return NULL;
}

static bool open_modern(struct virtio_pci *pci)
{
    uint32_t common_length;
    uint8_t where;
    pci->common = find_part(pci, CAP_COMMON, COMMON_BYTES, &common_length, &where);
    pci->device = find_part(pci, CAP_DEVICE, 8, &pci->device_length, &where);
    pci->notify = find_part(pci, CAP_NOTIFY, 2, &pci->notify_length, &where);
    if (!pci->common || !pci->device || !pci->notify)
        return false;
    pci->notify_multiplier = pci_read32(&pci->function, where + CAP_MULTIPLIER);
    return true;
}

static bool is_transitional(const struct virtio_pci *pci)
{
    return pci->function.device_id < 0x1040; /* 4.1.2 */
}

const char *virtio_pci_open(struct virtio_pci *pci)
{
    pci->modern = open_modern(pci);
    if (!pci->modern) {
        struct pci_bar bar = pci_read_bar(&pci->function, 0);
        if (!is_transitional(pci))
            return "its registers are not where its capabilities say";
        if (!bar.io || bar.size < LEGACY_CONFIG + 8)
            return "it has neither modern registers nor a legacy I/O BAR";
        pci->port = (uint16_t)bar.address;
        pci->device_length = LEGACY_CONFIG_BYTES;
    }
    pci_enable(&pci->function);
    return NULL;
}

/* --- status --- */

uint8_t virtio_pci_status(const struct virtio_pci *pci)
{
    return pci->modern ? common8(pci, COMMON_STATUS) : io_in8(legacy(pci, LEGACY_STATUS));
}

static void set_status(const struct virtio_pci *pci, uint8_t status)
{
    if (pci->modern)
        pci->common[COMMON_STATUS] = status;
    else
        io_out8(legacy(pci, LEGACY_STATUS), status);
}

void virtio_pci_add_status(const struct virtio_pci *pci, uint8_t bits)
{
    set_status(pci, virtio_pci_status(pci) | bits);
}

/* The device shows 0 again when it is done (4.1.4.3.2). */
bool virtio_pci_reset(struct virtio_pci *pci)
{
    uint64_t started = timer_now_ns();
    set_status(pci, 0);
    while (virtio_pci_status(pci) != 0) {
        if (timer_now_ns() - started > RESET_LIMIT_NS)
            return false;
        cpu_pause();
    }
    return true;
}

/* --- features: 2.2 --- */

uint64_t virtio_pci_features(const struct virtio_pci *pci)
{
    uint64_t features = 0;
    if (!pci->modern)
        return io_in32(legacy(pci, LEGACY_DEVICE_FEATURES));
    for (uint32_t half = 0; half < 2; half++) {
        set_common32(pci, COMMON_DEVICE_SELECT, half);
        features |= (uint64_t) * (volatile uint32_t *)(pci->common + COMMON_DEVICE_FEATURES)
                    << 32 * half;
    }
    return features;
}

void virtio_pci_accept(const struct virtio_pci *pci, uint64_t features)
{
    if (!pci->modern) {
        io_out32(legacy(pci, LEGACY_DRIVER_FEATURES), (uint32_t)features);
        return;
    }
    for (uint32_t half = 0; half < 2; half++) {
        set_common32(pci, COMMON_DRIVER_SELECT, half);
        set_common32(pci, COMMON_DRIVER_FEATURES, (uint32_t)(features >> 32 * half));
    }
}

/* --- the queue: 4.1.5.1.3 --- */

uint16_t virtio_pci_queue_size(const struct virtio_pci *pci)
{
    if (!pci->modern) {
        io_out16(legacy(pci, LEGACY_QUEUE_SELECT), 0);
        return io_in16(legacy(pci, LEGACY_QUEUE_SIZE));
    }
    set_common16(pci, COMMON_QUEUE_SELECT, 0);
    return common16(pci, COMMON_QUEUE_SIZE);
}

static const char *set_modern_queue(struct virtio_pci *pci, uint64_t physical, uint16_t size)
{
    set_common16(pci, COMMON_QUEUE_SELECT, 0);
    uint64_t doorbell = (uint64_t)common16(pci, COMMON_QUEUE_NOTIFY) * pci->notify_multiplier;
    if (doorbell % 2 != 0 || doorbell + 2 > pci->notify_length)
        return "its queue's doorbell is outside of its registers";
    pci->doorbell = (volatile uint16_t *)(pci->notify + doorbell);
    set_common16(pci, COMMON_QUEUE_SIZE, size);
    set_common64(pci, COMMON_QUEUE_DESC, physical);
    set_common64(pci, COMMON_QUEUE_DRIVER, physical + sizeof(struct virtq_desc) * size);
    set_common64(pci, COMMON_QUEUE_DEVICE, physical + VIRTQ_USED_OFFSET(size));
    set_common16(pci, COMMON_QUEUE_ENABLE, 1);
    return NULL;
}

const char *virtio_pci_set_queue(struct virtio_pci *pci, uint64_t physical, uint16_t size)
{
    if (pci->modern)
        return set_modern_queue(pci, physical, size);
    if (physical / VIRTQ_ALIGN > UINT32_MAX)
        return "its queue's memory is out of its reach";
    io_out16(legacy(pci, LEGACY_QUEUE_SELECT), 0);
    io_out32(legacy(pci, LEGACY_QUEUE_PAGE), (uint32_t)(physical / VIRTQ_ALIGN));
    return NULL;
}

void virtio_pci_notify(const struct virtio_pci *pci)
{
    if (pci->modern)
        *pci->doorbell = 0; /* the queue's number: 4.1.5.2 */
    else
        io_out16(legacy(pci, LEGACY_NOTIFY), 0);
}

/* --- configuration --- */

uint32_t virtio_pci_config32(const struct virtio_pci *pci, unsigned offset)
{
    if (offset + 4 > pci->device_length)
        return 0;
    if (pci->modern)
        return *(volatile uint32_t *)(pci->device + offset);
    return io_in32((uint16_t)(pci->port + LEGACY_CONFIG + offset));
}

uint64_t virtio_pci_config64(const struct virtio_pci *pci, unsigned offset)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < GENERATION_TRIES; i++) {
        uint8_t before = pci->modern ? common8(pci, COMMON_GENERATION) : 0;
        uint64_t again =
            virtio_pci_config32(pci, offset) | (uint64_t)virtio_pci_config32(pci, offset + 4) << 32;
        uint8_t after = pci->modern ? common8(pci, COMMON_GENERATION) : 0;
        bool same = pci->modern ? before == after : i > 0 && again == value; /* 2.5.1 */
        value = again;
        if (same)
            break;
    }
    return value;
}
