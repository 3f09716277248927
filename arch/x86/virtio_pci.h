/* SPDX-License-Identifier: MIT */
/* The PCI transport of VIRTIO 1.2 (4.1): one device, its registers behind one set of functions for
 * the modern interface (capabilities, memory BARs) and the legacy one (an I/O BAR).
 *
 * Context: boot CPU to open and set up; then the owner, which serialises. Any context but NMI.
 */
#ifndef ARCH_X86_VIRTIO_PCI_H
#define ARCH_X86_VIRTIO_PCI_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/x86/pci.h"

#define VIRTIO_VENDOR 0x1af4

/* Device status: 2.1 */
#define VIRTIO_ACKNOWLEDGE 1u
#define VIRTIO_DRIVER 2u
#define VIRTIO_DRIVER_OK 4u
#define VIRTIO_FEATURES_OK 8u
#define VIRTIO_NEEDS_RESET 64u
#define VIRTIO_FAILED 128u

struct virtio_pci {
    struct pci_function function;
    bool modern;                       /* else legacy */
    uint16_t port;                     /* legacy */
    volatile uint8_t *common, *device; /* modern; 4.1.4.3, 4.1.4.6 */
    volatile uint8_t *notify;          /* modern; 4.1.4.4 */
    uint32_t device_length, notify_length, notify_multiplier;
    volatile uint16_t *doorbell; /* modern; of the one queue */
};

/* Finds the registers of pci->function and maps them. NULL, or why it cannot be used. */
const char *virtio_pci_open(struct virtio_pci *pci);

bool virtio_pci_reset(struct virtio_pci *pci); /* bounded; false: it does not come to an end */
uint8_t virtio_pci_status(const struct virtio_pci *pci);
void virtio_pci_add_status(const struct virtio_pci *pci, uint8_t bits);

uint64_t virtio_pci_features(const struct virtio_pci *pci);
void virtio_pci_accept(const struct virtio_pci *pci, uint64_t features);

/* Queue 0: the size that the device wants at most (0: there is none), and then its memory in the
 * legacy layout (arch/x86/virtqueue.h). The legacy interface lets nobody choose a smaller size. */
uint16_t virtio_pci_queue_size(const struct virtio_pci *pci);
const char *virtio_pci_set_queue(struct virtio_pci *pci, uint64_t physical, uint16_t size);
void virtio_pci_notify(const struct virtio_pci *pci);

/* Fields of the device's own configuration; 64 bits in two reads that belong together (4.1.3.1). */
uint32_t virtio_pci_config32(const struct virtio_pci *pci, unsigned offset);
uint64_t virtio_pci_config64(const struct virtio_pci *pci, unsigned offset);

#endif
