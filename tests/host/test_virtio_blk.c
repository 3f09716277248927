/* SPDX-License-Identifier: MIT */
/* The virtio block driver and its queue against a device in this program, which can also break
 * every rule. The transport (arch/x86/virtio_pci.c) is replaced; "physical" addresses are those of
 * this program, as IMAGE_TO_PHYS() gives them.
 */
#include "arch/x86/virtio_blk.c"
#include "tests/host/tap.h"
#include "tests/host/virtio_machine.h"

/* --- tests --- */

static struct virtio_blk blk;

static void power_on(bool modern)
{
    memset(&device, 0, sizeof(device));
    memset(slots, 0, sizeof(slots));
    offence = NULL;
    device.modern = modern;
    device.features = (modern ? FEATURE_VERSION_1 : 0) | FEATURE_SEG_MAX | FEATURE_BLK_SIZE |
                      FEATURE_FLUSH | FEATURE_EVENT_IDX | FEATURE_INDIRECT_DESC;
    device.has_reset = true;
    device.queue_size = 256;
    device.block_size = 512;
    device.capacity = SECTORS;
}

static const char *init(void)
{
    return virtio_blk_init(&blk);
}

static void test_negotiation(void)
{
    power_on(true);
    is_string(init(), NULL, "modern: accepted");
    is_string(blk.kind, "modern", "modern: its kind");
    is_u64(device.accepted, FEATURE_VERSION_1 | FEATURE_BLK_SIZE | FEATURE_FLUSH,
           "modern: what is wanted of what is offered");
    is_u64(device.status, 15, "modern: status");
    is_u64(device.used_size, QUEUE_SIZE_WANTED, "modern: a small queue");
    is_u64(blk.sectors, SECTORS, "modern: sectors");
    ok(blk.flushes && !blk.read_only, "modern: flushes, can be written");
    power_on(false);
    device.features |= FEATURE_RO;
    is_string(init(), NULL, "legacy: accepted");
    is_u64(device.status, 7, "legacy: status, without FEATURES_OK");
    is_u64(device.used_size, 256, "legacy: the queue as the device wants it");
    ok(blk.read_only, "legacy: read-only");
    power_on(true);
    device.features |= FEATURE_SIZE_MAX;
    device.size_max = 5000;
    is_string(init(), NULL, "SIZE_MAX: accepted");
    is_u64(blk.sectors_max, 9, "SIZE_MAX: whole sectors");
}

static void refused(const char *why, const char *what)
{
    is_string(init(), why, "refused: %s", what);
    ok(device.status & VIRTIO_FAILED || !device.has_reset, "and it is told");
    ok(!device.master, "and gets no DMA");
}

static void test_refusals(void)
{
    static const uint16_t sizes[] = {0, 3, 4, 2048};
    power_on(true);
    device.features &= ~FEATURE_VERSION_1;
    refused("it has modern registers but not VERSION_1", "no VERSION_1");
    power_on(true);
    device.insists = true;
    refused("it insists on features that are not known here", "unknown features");
    power_on(true);
    device.insists = true;
    device.features |= FEATURE_ACCESS_PLATFORM;
    refused("it insists on ACCESS_PLATFORM (an IOMMU)", "an IOMMU");
    power_on(true);
    device.block_size = 4096;
    refused("its blocks are not of 512 bytes", "blocks of 4 KiB");
    power_on(true);
    device.capacity = 0;
    refused("it has no sectors", "no sectors");
    power_on(true);
    device.features |= FEATURE_SIZE_MAX;
    refused("it takes less than a sector at a time", "SIZE_MAX 0");
    for (unsigned i = 0; i < 4; i++) {
        power_on(false);
        device.queue_size = sizes[i];
        refused(i < 2 ? "its queue has no valid size" : "its queue is too small or too large",
                "the queue's size");
    }
    power_on(true);
    device.has_reset = false;
    refused("it does not come out of its reset", "no reset");
}

static int request(unsigned slot, enum virtio_blk_type type, uint64_t sector, uint32_t count,
                   void *buffer)
{
    virtio_blk_submit(slot, type, sector, count, IMAGE_TO_PHYS(buffer));
    return virtio_blk_poll(slot);
}

static void test_requests(bool modern)
{
    static uint8_t data[4 * 512], back[4 * 512];
    unsigned wrong = 0;
    power_on(modern);
    init();
    for (unsigned i = 0; i < 70000; i++) { /* past the wrap of the 16-bit indices */
        unsigned slot = i % 2, sector = i % (SECTORS - 4), count = 1 + i % 4;
        memset(data, (int)(i % 251), sizeof(data));
        wrong += request(slot, VIRTIO_BLK_WRITE, sector, count, data) != 0;
        wrong += request(!slot, VIRTIO_BLK_READ, sector, count, back) != 0;
        wrong += memcmp(data, back, count * 512u) != 0;
    }
    is_u64(wrong, 0, "%s: many requests", modern ? "modern" : "legacy");
    is_u64((uint64_t)request(0, VIRTIO_BLK_FLUSH, 0, 0, data), 0, "flush");
    unsigned notified = device.notified;
    queue.used->flags = 1;
    is_u64((uint64_t)request(0, VIRTIO_BLK_READ, 0, 1, back), VIRTIO_BLK_PENDING,
           "a device that polls by itself");
    is_u64(device.notified, notified, "is not notified");
    run_device();
    is_u64((uint64_t)virtio_blk_poll(0), 0, "and finishes");
}

static void test_two_at_once(void)
{
    static uint8_t first[512], second[512];
    power_on(true);
    init();
    memset(device.disk, 7, 512);
    memset(device.disk + 512, 8, 512);
    device.fault = SILENT;
    virtio_blk_submit(0, VIRTIO_BLK_READ, 0, 1, IMAGE_TO_PHYS(first));
    virtio_blk_submit(1, VIRTIO_BLK_READ, 1, 1, IMAGE_TO_PHYS(second));
    is_u64((uint64_t)virtio_blk_poll(0), VIRTIO_BLK_PENDING, "two at once: pending");
    carry_out(SLOT_DESCRIPTORS); /* the second one first */
    finish(SLOT_DESCRIPTORS);
    is_u64((uint64_t)virtio_blk_poll(0), VIRTIO_BLK_PENDING, "two at once: the first still is");
    is_u64((uint64_t)virtio_blk_poll(1), 0, "two at once: the second is not");
    carry_out(0);
    finish(0);
    is_u64((uint64_t)virtio_blk_poll(0), 0, "two at once: both");
    ok(first[511] == 7 && second[0] == 8, "two at once: each its data");
}

static void test_faults(void)
{
    static const struct {
        enum fault fault;
        int error;
        const char *what, *offence;
    } cases[] = {
        {FAILS, ERR_IO, "an I/O error", "none"},
        {UNKNOWN, ERR_UNSUPPORTED, "an unknown request", "none"},
        {SILENT, VIRTIO_BLK_PENDING, "no answer", "none"},
        {INDEX_JUMPS, ERR_DISK_PROTOCOL, "the index jumps",
         "its used ring names more than it was given"},
        {INDEX_BACK, ERR_DISK_PROTOCOL, "the index moves back",
         "its used ring names more than it was given"},
        {ID_HUGE, ERR_DISK_PROTOCOL, "a descriptor that is none",
         "its used ring names more than it was given"},
        {ID_MIDDLE, ERR_DISK_PROTOCOL, "the middle of a chain",
         "it finished a request that it was not given"},
        {ID_OTHER, ERR_DISK_PROTOCOL, "a request that is not outstanding",
         "it finished a request that it was not given"},
        {TWICE, ERR_DISK_PROTOCOL, "a request twice", "its used ring names more than it was given"},
        {STATUS_WRONG, ERR_DISK_PROTOCOL, "a status that is none",
         "it finished a request with a status that does not exist"},
        {STATUS_UNSET, ERR_DISK_PROTOCOL, "no status",
         "it finished a request with a status that does not exist"},
    };
    static uint8_t data[512];
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        power_on(true);
        init();
        request(0, VIRTIO_BLK_READ, 1, 1, data);
        device.fault = cases[i].fault;
        int error = request(0, VIRTIO_BLK_READ, 1, 1, data);
        is_u64((uint64_t)error, (uint64_t)cases[i].error, "fault: %s", cases[i].what);
        is_string(virtio_blk_offence(), cases[i].offence, "fault: and what is said");
    }
    virtio_blk_stop();
    ok(!device.master && device.status == 0, "stopped: reset, no DMA");
}

int main(void)
{
    test_negotiation();
    test_refusals();
    test_requests(true);
    test_requests(false);
    test_two_at_once();
    test_faults();
    is_string(virtio_blk_feature_name(9), "FLUSH", "a feature's name");
    is_string(virtio_blk_feature_name(63), NULL, "an unknown feature");
    return done();
}
