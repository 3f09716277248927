/* SPDX-License-Identifier: MIT */
/* PCI configuration space and the virtio transport, on buses that are a table in this program.
 *
 * The ports are replaced: 0xCF8 and 0xCFC reach the table, 0xC000 the legacy registers.
 */
#define ARCH_X86_IO_H /* instead of arch/x86/io.h */
#include <stdint.h>

static uint8_t io_in8(uint16_t port);
static uint16_t io_in16(uint16_t port);
static uint32_t io_in32(uint16_t port);
static void io_out8(uint16_t port, uint8_t value);
static void io_out16(uint16_t port, uint16_t value);
static void io_out32(uint16_t port, uint32_t value);

#include "arch/x86/pci.c"
#include "arch/x86/virtio_pci.c"
#include "tests/host/tap.h"

#include <stdlib.h>

#define LEGACY_PORT 0xc000
#define BAR4_ADDRESS 0x3800000000ull /* above 4 GiB */
#define BAR4_SIZE 0x4000u

struct fake {
    uint8_t bus, device, function;
    uint8_t config[256];
    uint64_t sizes[PCI_BARS]; /* of the BARs; a 64-bit one has that of its lower half */
};

static struct fake fakes[8];
static unsigned fake_count, bar_writes_decoded;
static uint32_t address_register;
static bool no_pci;
static uint8_t registers[BAR4_SIZE]; /* what BAR 4 shows */
static uint8_t legacy_registers[64];
static bool never_resets;

/* --- the machine --- */

static struct fake *addressed(void)
{
    for (unsigned i = 0; i < fake_count; i++) {
        struct fake *fake = &fakes[i];
        if ((address_register & 0xffff00) ==
            ((uint32_t)fake->bus << 16 | (uint32_t)fake->device << 11 |
             (uint32_t)fake->function << 8))
            return fake;
    }
    return NULL;
}

static uint32_t port_in(uint16_t port, unsigned size)
{
    uint32_t value = ~0u;
    if (port == CONFIG_ADDRESS)
        return no_pci ? ~0u : address_register;
    if (port >= LEGACY_PORT && port + size <= LEGACY_PORT + sizeof(legacy_registers))
        memcpy(&value, legacy_registers + (port - LEGACY_PORT), size);
    else if (addressed())
        memcpy(&value, addressed()->config + (address_register & 0xfc) + (port & 3), size);
    return value;
}

static void write_bar(struct fake *fake, unsigned index, uint32_t value)
{
    uint32_t old;
    uint64_t mask = ~(fake->sizes[index] - 1);
    memcpy(&old, fake->config + PCI_BAR0 + 4 * index, 4);
    uint32_t flags = old & (old & 1 ? 3 : 15);
    bool upper = index > 0 && (fake->config[PCI_BAR0 + 4 * (index - 1)] & 7) == 4;
    if (upper) {
        mask = ~(fake->sizes[index - 1] - 1) >> 32;
        flags = 0;
    } else if (fake->sizes[index] == 0) {
        mask = 0;
    }
    bar_writes_decoded += fake->config[PCI_COMMAND] & 3;
    value = (value & (uint32_t)mask) | flags;
    memcpy(fake->config + PCI_BAR0 + 4 * index, &value, 4);
}

static void port_out(uint16_t port, uint32_t value, unsigned size)
{
    unsigned offset = (address_register & 0xfc) + (port & 3u);
    if (port == CONFIG_ADDRESS)
        address_register = value;
    else if (port >= LEGACY_PORT && port + size <= LEGACY_PORT + sizeof(legacy_registers))
        memcpy(legacy_registers + (port - LEGACY_PORT), &value, size);
    else if (addressed() && offset >= PCI_BAR0 && offset < PCI_BAR0 + 4 * PCI_BARS)
        write_bar(addressed(), (offset - PCI_BAR0) / 4, value);
    else if (addressed() && offset == PCI_COMMAND)
        memcpy(addressed()->config + offset, &value, 2);
}

static uint8_t io_in8(uint16_t port)
{
    uint8_t value = (uint8_t)port_in(port, 1);
    return never_resets && port == LEGACY_PORT + LEGACY_STATUS ? 1 : value;
}

static uint16_t io_in16(uint16_t port)
{
    return (uint16_t)port_in(port, 2);
}

static uint32_t io_in32(uint16_t port)
{
    return port_in(port, 4);
}

static void io_out8(uint16_t port, uint8_t value)
{
    port_out(port, value, 1);
}

static void io_out16(uint16_t port, uint16_t value)
{
    port_out(port, value, 2);
}

static void io_out32(uint16_t port, uint32_t value)
{
    port_out(port, value, 4);
}

void *paging_map_device(uint64_t physical, uint64_t size)
{
    if (physical < BAR4_ADDRESS || physical + size > BAR4_ADDRESS + BAR4_SIZE) {
        printf("Bail out! mapped: 0x%" PRIx64 "\n", physical);
        exit(1);
    }
    return registers + (physical - BAR4_ADDRESS);
}

uint64_t timer_now_ns(void)
{
    static uint64_t now;
    return now += 1000000;
}

/* --- building it --- */

static void put16(struct fake *fake, unsigned offset, uint32_t value)
{
    memcpy(fake->config + offset, &value, 2);
}

static void put32(struct fake *fake, unsigned offset, uint32_t value)
{
    memcpy(fake->config + offset, &value, 4);
}

static struct fake *add_fake(uint8_t bus, uint8_t slot, uint8_t function, uint16_t id)
{
    struct fake *fake = &fakes[fake_count++];
    *fake = (struct fake){.bus = bus, .device = slot, .function = function};
    put16(fake, PCI_VENDOR_ID, VIRTIO_VENDOR);
    put16(fake, PCI_VENDOR_ID + 2, id);
    return fake;
}

static struct fake *add_bridge(uint8_t bus, uint8_t slot, uint8_t secondary)
{
    struct fake *fake = add_fake(bus, slot, 0, 1);
    fake->config[PCI_HEADER_TYPE] = HEADER_BRIDGE;
    fake->config[PCI_SECONDARY_BUS] = secondary;
    return fake;
}

static void add_cap(struct fake *fake, uint8_t where, uint8_t next, const uint8_t type_bar[2],
                    uint32_t offset, uint32_t size)
{
    fake->config[where] = PCI_CAP_VENDOR;
    fake->config[where + 1] = next;
    fake->config[where + CAP_LENGTH] = 20;
    fake->config[where + CAP_TYPE] = type_bar[0];
    fake->config[where + CAP_BAR] = type_bar[1];
    put32(fake, where + CAP_OFFSET, offset);
    put32(fake, where + CAP_SIZE, size);
}

#define COMMON_AT 0x40
#define NOTIFY_AT 0x60
#define DEVICE_AT 0x80

/* A block device with both interfaces. */
static struct fake *add_disk(uint16_t id)
{
    fake_count = 0;
    memset(registers, 0, sizeof(registers));
    memset(legacy_registers, 0, sizeof(legacy_registers));
    struct fake *fake = add_fake(0, 3, 0, id);
    put16(fake, PCI_STATUS, PCI_STATUS_CAPABILITIES);
    put16(fake, PCI_COMMAND, 3);
    put32(fake, PCI_BAR0, LEGACY_PORT | 1);
    fake->sizes[0] = 64;
    put32(fake, PCI_BAR0 + 16, (uint32_t)BAR4_ADDRESS | 0xc);
    put32(fake, PCI_BAR0 + 20, (uint32_t)(BAR4_ADDRESS >> 32));
    fake->sizes[4] = BAR4_SIZE;
    fake->config[PCI_CAPABILITIES] = COMMON_AT;
    add_cap(fake, COMMON_AT, NOTIFY_AT, (uint8_t[2]){CAP_COMMON, 4}, 0, 0x1000);
    add_cap(fake, NOTIFY_AT, DEVICE_AT, (uint8_t[2]){CAP_NOTIFY, 4}, 0x3000, 0x1000);
    put32(fake, NOTIFY_AT + CAP_MULTIPLIER, 4);
    add_cap(fake, DEVICE_AT, 0, (uint8_t[2]){CAP_DEVICE, 4}, 0x2000, 0x40);
    return fake;
}

static struct virtio_pci opened;

static bool any_disk(const struct pci_function *function)
{
    return function->device_id >= 0x1001;
}

static const char *open_disk(void)
{
    memset(&opened, 0, sizeof(opened));
    if (!pci_find(any_disk, &opened.function))
        return "not found";
    return virtio_pci_open(&opened);
}

/* --- PCI --- */

static void test_enumeration(void)
{
    struct pci_function found;
    fake_count = 0;
    no_pci = true;
    ok(!pci_find(any_disk, &found), "no PCI");
    no_pci = false;
    ok(!pci_find(any_disk, &found), "no functions");
    add_bridge(0, 1, 0); /* to itself */
    add_bridge(0, 2, 5);
    add_bridge(5, 31, 0); /* and back */
    add_bridge(5, 30, 9);
    add_fake(9, 7, 3, 0x1042);
    ok(!pci_find(any_disk, &found), "function 3 of a device without function 0");
    struct fake *first = add_fake(9, 7, 0, 1);
    ok(!pci_find(any_disk, &found), "function 3 of a device with one function");
    first->config[PCI_HEADER_TYPE] = HEADER_MULTI;
    ok(pci_find(any_disk, &found), "behind two bridges, in a circle of them");
    is_u64(found.bus << 8 | found.device << 3 | found.function, 9 << 8 | 7 << 3 | 3, "its place");
}

static void test_capabilities(void)
{
    struct fake *fake = add_disk(0x1042);
    struct pci_function at = {.device = 3};
    is_u64(pci_capability(&at, PCI_CAP_VENDOR, 0), COMMON_AT, "capabilities: the first");
    is_u64(pci_capability(&at, PCI_CAP_VENDOR, COMMON_AT), NOTIFY_AT, "capabilities: the next");
    is_u64(pci_capability(&at, PCI_CAP_VENDOR, DEVICE_AT), 0, "capabilities: no more");
    is_u64(pci_capability(&at, 0x11, 0), 0, "capabilities: no such");
    fake->config[DEVICE_AT + 1] = COMMON_AT;
    is_u64(pci_capability(&at, 0x11, 0), 0, "capabilities: none in a circle");
    fake->config[DEVICE_AT + 1] = 0x10;
    is_u64(pci_capability(&at, 0x11, 0), 0, "capabilities: a pointer into the header");
    put16(fake, PCI_STATUS, 0);
    is_u64(pci_capability(&at, PCI_CAP_VENDOR, 0), 0, "capabilities: no list");
}

static void test_bars(void)
{
    struct fake *fake = add_disk(0x1042);
    struct pci_function at = {.device = 3};
    bar_writes_decoded = 0;
    struct pci_bar bar = pci_read_bar(&at, 0);
    ok(bar.io && bar.address == LEGACY_PORT && bar.size == 64, "BAR: ports");
    bar = pci_read_bar(&at, 4);
    ok(!bar.io && bar.address == BAR4_ADDRESS && bar.size == BAR4_SIZE, "BAR: 64 bits");
    fake->sizes[4] = 1ull << 33;
    is_u64(pci_read_bar(&at, 4).size, 1ull << 33, "BAR: 8 GiB");
    put32(fake, PCI_BAR0 + 4, 0xfebf0000);
    fake->sizes[1] = 0x1000;
    bar = pci_read_bar(&at, 1);
    ok(!bar.io && bar.address == 0xfebf0000 && bar.size == 0x1000, "BAR: 32 bits");
    is_u64(pci_read_bar(&at, 2).size, 0, "BAR: none");
    put32(fake, PCI_BAR0 + 4, 0);
    is_u64(pci_read_bar(&at, 1).size, 0, "BAR: without an address");
    put32(fake, PCI_BAR0 + 20, 0xc);
    is_u64(pci_read_bar(&at, 5).size, 0, "BAR: 64 bits in the last one");
    is_u64(pci_read_bar(&at, 6).size, 0, "BAR: no such");
    is_u64(bar_writes_decoded, 0, "BAR: never asked while it is decoded");
    is_u64(fake->config[PCI_COMMAND], 3, "BAR: decoding as before");
}

/* --- the transport --- */

static void test_modern(void)
{
    struct fake *fake = add_disk(0x1042);
    is_string(open_disk(), NULL, "modern: opened");
    ok(opened.modern && opened.common == registers && opened.notify == registers + 0x3000 &&
           opened.device == registers + 0x2000,
       "modern: its registers");
    is_u64(fake->config[PCI_COMMAND] | fake->config[PCI_COMMAND + 1] << 8, 0x407,
           "modern: decoding, DMA, no INTx");
    registers[COMMON_QUEUE_SIZE + 1] = 1;
    registers[COMMON_QUEUE_NOTIFY] = 3;
    is_u64(virtio_pci_queue_size(&opened), 256, "modern: the queue's size");
    is_string(virtio_pci_set_queue(&opened, 0x123456000, 16), NULL, "modern: the queue");
    uint64_t parts[3];
    memcpy(parts, registers + COMMON_QUEUE_DESC, sizeof(parts));
    is_u64(parts[0], 0x123456000, "modern: descriptors");
    is_u64(parts[1], 0x123456100, "modern: available ring");
    is_u64(parts[2], 0x123457000, "modern: used ring");
    is_u64(registers[COMMON_QUEUE_SIZE], 16, "modern: size");
    is_u64(registers[COMMON_QUEUE_ENABLE], 1, "modern: enabled");
    registers[0x3000 + 12] = 0xff;
    virtio_pci_notify(&opened);
    is_u64(registers[0x3000 + 12], 0, "modern: doorbell 3, 4 bytes apart");
    registers[COMMON_QUEUE_NOTIFY + 1] = 4;
    is_string(virtio_pci_set_queue(&opened, 0x1000, 16),
              "its queue's doorbell is outside of its registers", "modern: a doorbell outside");
    memcpy(registers + 0x2000, "\1\2\3\4\5\6\7\10", 8);
    is_u64(virtio_pci_config64(&opened, 0), 0x0807060504030201, "modern: configuration");
    is_u64(virtio_pci_config32(&opened, 0x40), 0, "modern: configuration that is not there");
    virtio_pci_add_status(&opened, 5);
    ok(virtio_pci_reset(&opened) && registers[COMMON_STATUS] == 0, "modern: reset");
    virtio_pci_accept(&opened, 0x100000200);
    is_u64(registers[COMMON_DRIVER_FEATURES], 1, "modern: features, upper half last");
}

static void test_legacy(void)
{
    struct fake *fake = add_disk(0x1001);
    put16(fake, PCI_STATUS, 0); /* no capabilities */
    is_string(open_disk(), NULL, "legacy: opened");
    ok(!opened.modern && opened.port == LEGACY_PORT, "legacy: its ports");
    legacy_registers[LEGACY_QUEUE_SIZE] = 128;
    legacy_registers[LEGACY_CONFIG] = 99;
    legacy_registers[LEGACY_DEVICE_FEATURES + 1] = 2;
    is_u64(virtio_pci_queue_size(&opened), 128, "legacy: the queue's size");
    is_string(virtio_pci_set_queue(&opened, 0x123000, 128), NULL, "legacy: the queue");
    is_u64(legacy_registers[LEGACY_QUEUE_PAGE + 1] << 8 | legacy_registers[LEGACY_QUEUE_PAGE],
           0x123, "legacy: its page");
    ok(virtio_pci_set_queue(&opened, 1ull << 50, 128) != NULL, "legacy: out of reach");
    is_u64(virtio_pci_config64(&opened, 0), 99, "legacy: configuration");
    is_u64(virtio_pci_features(&opened), 512, "legacy: features");
    virtio_pci_accept(&opened, 512);
    is_u64(legacy_registers[LEGACY_DRIVER_FEATURES + 1], 2, "legacy: accepted");
    legacy_registers[LEGACY_NOTIFY] = 9;
    virtio_pci_notify(&opened);
    is_u64(legacy_registers[LEGACY_NOTIFY], 0, "legacy: doorbell");
    virtio_pci_add_status(&opened, 3);
    is_u64(virtio_pci_status(&opened), 3, "legacy: status");
    never_resets = true;
    ok(!virtio_pci_reset(&opened), "legacy: a reset that does not end");
    never_resets = false;
}

/* Capabilities that lead out of a BAR, into ports, or nowhere. */
static void test_bad_capabilities(void)
{
    static const struct {
        const char *what;
        uint8_t offset, size;
        uint32_t value;
    } cases[] = {
        {"common registers in no BAR", COMMON_AT + CAP_BAR, 1, 7},
        {"common registers in ports", COMMON_AT + CAP_BAR, 1, 0},
        {"common registers behind the BAR", COMMON_AT + CAP_OFFSET, 4, BAR4_SIZE},
        {"common registers partly behind it", COMMON_AT + CAP_SIZE, 4, BAR4_SIZE + 1},
        {"an offset that wraps", COMMON_AT + CAP_OFFSET, 4, 0xfffffffc},
        {"common registers that are too few", COMMON_AT + CAP_SIZE, 4, 40},
        {"registers at an odd place", NOTIFY_AT + CAP_OFFSET, 4, 0x3001},
        {"no doorbells", NOTIFY_AT + CAP_TYPE, 1, 9},
        {"doorbells without their distance", NOTIFY_AT + CAP_LENGTH, 1, 16},
        {"no configuration", DEVICE_AT + CAP_SIZE, 4, 0},
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (uint16_t id = 0x1001; id <= 0x1042; id += 0x41) {
            struct fake *fake = add_disk(id);
            memcpy(fake->config + cases[i].offset, &cases[i].value, cases[i].size);
            const char *problem = open_disk();
            if (id == 0x1001)
                ok(!problem && !opened.modern, "%s: used as legacy", cases[i].what);
            else
                is_string(problem, "its registers are not where its capabilities say",
                          "%s: refused", cases[i].what);
        }
    struct fake *fake = add_disk(0x1001);
    put16(fake, PCI_STATUS, 0);
    put32(fake, PCI_BAR0, 0xfebf0000);
    is_string(open_disk(), "it has neither modern registers nor a legacy I/O BAR",
              "nothing at all");
}

int main(void)
{
    test_enumeration();
    test_capabilities();
    test_bars();
    test_modern();
    test_legacy();
    test_bad_capabilities();
    return done();
}
