/* SPDX-License-Identifier: MIT */
/* PCI configuration space by mechanism #1, ports 0xCF8 and 0xCFC (PCI Local Bus 3.0, 3.2.2.3.2).
 *
 * Registers 0 … 255 of every function on the buses below the host bridge's bus 0; that is where PCs
 * and emulators put their disks, so there is no need for the memory-mapped way (MCFG). Context:
 * boot CPU, or the one owner of a function that is already set up. Not for NMI.
 */
#ifndef ARCH_X86_PCI_H
#define ARCH_X86_PCI_H

#include <stdbool.h>
#include <stdint.h>

#define PCI_VENDOR_ID 0x00 /* 16 bits; the device ID follows */
#define PCI_COMMAND 0x04   /* 16 bits */
#define PCI_STATUS 0x06    /* 16 bits */
#define PCI_HEADER_TYPE 0x0e
#define PCI_BAR0 0x10
#define PCI_SECONDARY_BUS 0x19 /* of a PCI-to-PCI bridge */
#define PCI_CAPABILITIES 0x34

#define PCI_COMMAND_IO (1u << 0)
#define PCI_COMMAND_MEMORY (1u << 1)
#define PCI_COMMAND_MASTER (1u << 2)
#define PCI_COMMAND_NO_INTX (1u << 10)
#define PCI_STATUS_CAPABILITIES (1u << 4)
#define PCI_CAP_VENDOR 0x09
#define PCI_BARS 6

struct pci_function {
    uint8_t bus, device, function;
    uint16_t vendor_id, device_id;
};

uint8_t pci_read8(const struct pci_function *at, unsigned offset);
uint16_t pci_read16(const struct pci_function *at, unsigned offset);
uint32_t pci_read32(const struct pci_function *at, unsigned offset);
void pci_write16(const struct pci_function *at, unsigned offset, uint16_t value);
void pci_write32(const struct pci_function *at, unsigned offset, uint32_t value);

/* The first function, in the order of buses, that `wanted` says yes to. False: none, or no PCI. */
typedef bool pci_match(const struct pci_function *function);
bool pci_find(pci_match *wanted, struct pci_function *out);

/* Offset of the next capability with that ID after `previous` (0: the first one); 0 when there is
 * no more. A list that is a circle ends. */
uint8_t pci_capability(const struct pci_function *at, uint8_t id, uint8_t previous);

struct pci_bar {
    uint64_t address; /* physical, or a port */
    uint64_t size;    /* 0: not implemented, or no address was assigned */
    bool io;
};
/* Decoding is off while the size is asked for: nobody may use the function meanwhile. */
struct pci_bar pci_read_bar(const struct pci_function *at, unsigned index);

/* Memory and I/O decoding and bus mastering on, INTx off. */
void pci_enable(const struct pci_function *at);
void pci_disable_master(const struct pci_function *at); /* no more DMA */

#endif
