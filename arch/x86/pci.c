/* SPDX-License-Identifier: MIT */
/* PCI configuration space: access, enumeration, capabilities, base addresses.
 *
 * Sections are those of the PCI Local Bus Specification 3.0 and the PCI-to-PCI Bridge Architecture
 * Specification 1.2. What a device says is not trusted: every walk has a bound.
 */
#include "arch/x86/pci.h"

#include "arch/x86/io.h"

#define CONFIG_ADDRESS 0xcf8
#define CONFIG_DATA 0xcfc
#define CONFIG_ENABLE (1u << 31)
#define NO_VENDOR 0xffff /* what a read gives where nothing answers: 6.1 */
#define HEADER_MULTI (1u << 7)
#define HEADER_BRIDGE 1
#define FIRST_CAPABILITY 0x40 /* below are the standard header's registers: 6.7 */
#define CAPABILITIES_MAX 48   /* so many of 4 bytes fit into the rest */
#define BUSES 256

#define BAR_IO (1u << 0)
#define BAR_TYPE (3u << 1)
#define BAR_TYPE_64 (2u << 1)
#define BAR_MEMORY_FLAGS 0xfu
#define BAR_IO_FLAGS 0x3u

static void select_register(const struct pci_function *at, unsigned offset)
{
    io_out32(CONFIG_ADDRESS, CONFIG_ENABLE | (uint32_t)at->bus << 16 | (uint32_t)at->device << 11 |
                                 (uint32_t)at->function << 8 | (offset & 0xfc));
}

uint8_t pci_read8(const struct pci_function *at, unsigned offset)
{
    select_register(at, offset);
    return io_in8((uint16_t)(CONFIG_DATA + (offset & 3)));
}

uint16_t pci_read16(const struct pci_function *at, unsigned offset)
{
    select_register(at, offset);
    return io_in16((uint16_t)(CONFIG_DATA + (offset & 2)));
}

uint32_t pci_read32(const struct pci_function *at, unsigned offset)
{
    select_register(at, offset);
    return io_in32(CONFIG_DATA);
}

void pci_write16(const struct pci_function *at, unsigned offset, uint16_t value)
{
    select_register(at, offset);
    io_out16((uint16_t)(CONFIG_DATA + (offset & 2)), value);
}

void pci_write32(const struct pci_function *at, unsigned offset, uint32_t value)
{
    select_register(at, offset);
    io_out32(CONFIG_DATA, value);
}

/* --- enumeration --- */

/* The address register keeps what is written to it only where there is one (3.2.2.3.2). */
static bool mechanism_present(void)
{
    io_out32(CONFIG_ADDRESS, CONFIG_ENABLE);
    return io_in32(CONFIG_ADDRESS) == CONFIG_ENABLE;
}

/* Buses that were found behind bridges and have not been searched yet. */
struct search {
    pci_match *wanted;
    struct pci_function *out;
    uint8_t pending[BUSES];
    unsigned count; /* of pending */
    bool known[BUSES];
};

static void add_bus(struct search *search, uint8_t bus)
{
    if (search->known[bus])
        return;
    search->known[bus] = true;
    search->pending[search->count++] = bus;
}

static bool look_at(struct search *search, struct pci_function *at)
{
    at->vendor_id = pci_read16(at, PCI_VENDOR_ID);
    if (at->vendor_id == NO_VENDOR)
        return false;
    at->device_id = pci_read16(at, PCI_VENDOR_ID + 2);
    if ((pci_read8(at, PCI_HEADER_TYPE) & ~HEADER_MULTI) == HEADER_BRIDGE)
        add_bus(search, pci_read8(at, PCI_SECONDARY_BUS));
    if (!search->wanted(at))
        return false;
    *search->out = *at;
    return true;
}

/* Functions above 0 exist only on a device whose function 0 says so (6.2.1). */
static bool search_device(struct search *search, uint8_t bus, uint8_t device)
{
    struct pci_function at = {.bus = bus, .device = device};
    if (look_at(search, &at))
        return true;
    if (at.vendor_id == NO_VENDOR || !(pci_read8(&at, PCI_HEADER_TYPE) & HEADER_MULTI))
        return false;
    for (at.function = 1; at.function < 8; at.function++)
        if (look_at(search, &at))
            return true;
    return false;
}

bool pci_find(pci_match *wanted, struct pci_function *out)
{
    struct search search = {.wanted = wanted, .out = out};
    if (!mechanism_present())
        return false;
    add_bus(&search, 0);
    for (unsigned next = 0; next < search.count; next++)
        for (uint8_t device = 0; device < 32; device++)
            if (search_device(&search, search.pending[next], device))
                return true;
    return false;
}

/* --- capabilities: 6.7 --- */

uint8_t pci_capability(const struct pci_function *at, uint8_t id, uint8_t previous)
{
    if (!(pci_read16(at, PCI_STATUS) & PCI_STATUS_CAPABILITIES))
        return 0;
    uint8_t offset = pci_read8(at, PCI_CAPABILITIES) & 0xfc;
    bool passed = previous == 0;
    for (unsigned i = 0; i < CAPABILITIES_MAX && offset >= FIRST_CAPABILITY; i++) {
        if (passed && pci_read8(at, offset) == id)
            return offset;
        passed = passed || offset == previous;
        offset = pci_read8(at, offset + 1) & 0xfc;
    }
    return 0;
}

/* --- base addresses: 6.2.5 --- */

/* Writes all ones: what stays 0 are the address bits below the size. */
static uint32_t probe_bar(const struct pci_function *at, unsigned offset)
{
    uint32_t value = pci_read32(at, offset);
    pci_write32(at, offset, ~0u);
    uint32_t mask = pci_read32(at, offset);
    pci_write32(at, offset, value);
    return mask;
}

static struct pci_bar read_undecoded(const struct pci_function *at, unsigned offset, bool last)
{
    uint32_t low = pci_read32(at, offset), low_mask = probe_bar(at, offset);
    if (low & BAR_IO) {
        uint16_t port = (uint16_t)(low & ~BAR_IO_FLAGS);
        uint16_t size = (uint16_t)(~(low_mask & ~BAR_IO_FLAGS) + 1); /* ports have 16 bits */
        return (struct pci_bar){port, port && low_mask ? size : 0, true};
    }
    uint64_t address = low & ~BAR_MEMORY_FLAGS;
    uint64_t mask = 0xffffffff00000000ull | (low_mask & ~BAR_MEMORY_FLAGS);
    if ((low & BAR_TYPE) == BAR_TYPE_64) {
        if (last)
            return (struct pci_bar){0}; /* its upper half would be no BAR */
        address |= (uint64_t)pci_read32(at, offset + 4) << 32;
        mask = (uint64_t)probe_bar(at, offset + 4) << 32 | (uint32_t)mask;
    }
    return (struct pci_bar){address, address && low_mask ? ~mask + 1 : 0, false};
}

struct pci_bar pci_read_bar(const struct pci_function *at, unsigned index)
{
    if (index >= PCI_BARS)
        return (struct pci_bar){0};
    uint16_t command = pci_read16(at, PCI_COMMAND);
    pci_write16(at, PCI_COMMAND, (uint16_t)(command & ~(PCI_COMMAND_IO | PCI_COMMAND_MEMORY)));
    struct pci_bar bar = read_undecoded(at, PCI_BAR0 + 4 * index, index == PCI_BARS - 1);
    pci_write16(at, PCI_COMMAND, command);
    return bar;
}

void pci_enable(const struct pci_function *at)
{
    pci_write16(at, PCI_COMMAND,
                (uint16_t)(pci_read16(at, PCI_COMMAND) | PCI_COMMAND_IO | PCI_COMMAND_MEMORY |
                           PCI_COMMAND_MASTER | PCI_COMMAND_NO_INTX));
}

void pci_disable_master(const struct pci_function *at)
{
    pci_write16(at, PCI_COMMAND, (uint16_t)(pci_read16(at, PCI_COMMAND) & ~PCI_COMMAND_MASTER));
}
