/* SPDX-License-Identifier: MIT */
/* I/O APICs: routing of the ISA interrupts that are used; all other inputs stay masked.
 *
 * Boot CPU during boot only: index and data register are a pair without a lock.
 * Source: Intel 82093AA datasheet; ACPI Specification 6.5, 5.2.12.5 (override flags).
 */
#include "arch/x86/ioapic.h"

#include "arch/x86/apic.h"
#include "arch/x86/cpu.h"
#include "arch/x86/layout.h"
#include "arch/x86/paging.h"
#include "kernel/printf.h"

#define IOAPIC_SELECT 0x00
#define IOAPIC_WINDOW 0x10
#define IOAPIC_REGISTERS_SIZE 0x20

#define IOAPIC_VERSION 1
#define IOAPIC_ENTRY_LOW(input) (0x10 + 2 * (input))
#define IOAPIC_ENTRY_HIGH(input) (0x11 + 2 * (input))
#define ENTRY_ACTIVE_LOW (1u << 13)
#define ENTRY_LEVEL (1u << 15)
#define ENTRY_MASKED (1u << 16)
#define DESTINATION_MAX 254u /* eight bits, without interrupt remapping */

#define OVERRIDE_POLARITY 3u
#define OVERRIDE_ACTIVE_LOW 3u
#define OVERRIDE_TRIGGER (3u << 2)
#define OVERRIDE_LEVEL (3u << 2)

#define MAX_IOAPICS (sizeof(acpi_info.ioapics) / sizeof(acpi_info.ioapics[0]))

static volatile uint8_t *windows[MAX_IOAPICS];
static uint32_t inputs[MAX_IOAPICS];

static uint32_t ioapic_read(uint32_t which, uint32_t index)
{
    *(volatile uint32_t *)(windows[which] + IOAPIC_SELECT) = index;
    return *(volatile uint32_t *)(windows[which] + IOAPIC_WINDOW);
}

static void ioapic_write(uint32_t which, uint32_t index, uint32_t value)
{
    *(volatile uint32_t *)(windows[which] + IOAPIC_SELECT) = index;
    *(volatile uint32_t *)(windows[which] + IOAPIC_WINDOW) = value;
}

void ioapic_init(void)
{
    for (uint32_t i = 0; i < acpi_info.ioapic_count; i++) {
        windows[i] = paging_map_device(acpi_info.ioapics[i].address, IOAPIC_REGISTERS_SIZE);
        uint32_t version = ioapic_read(i, IOAPIC_VERSION);
        if (version == UINT32_MAX) {
            printk("I/O APIC %u does not answer\n", acpi_info.ioapics[i].id);
            continue; /* no inputs */
        }
        inputs[i] = (version >> 16 & 0xff) + 1;
        for (uint32_t input = 0; input < inputs[i]; input++)
            ioapic_write(i, IOAPIC_ENTRY_LOW(input), ENTRY_MASKED);
    }
}

/* Where an ISA interrupt arrives: identity, edge and active high, but for the overrides. */
static uint32_t isa_find_gsi(uint8_t irq, uint32_t *entry_flags)
{
    *entry_flags = 0;
    for (uint32_t i = 0; i < acpi_info.override_count; i++) {
        if (acpi_info.overrides[i].irq != irq)
            continue;
        uint16_t flags = acpi_info.overrides[i].flags;
        if ((flags & OVERRIDE_POLARITY) == OVERRIDE_ACTIVE_LOW)
            *entry_flags |= ENTRY_ACTIVE_LOW;
        if ((flags & OVERRIDE_TRIGGER) == OVERRIDE_LEVEL)
            *entry_flags |= ENTRY_LEVEL;
        return acpi_info.overrides[i].gsi;
    }
    return irq;
}

bool ioapic_route_isa(uint8_t irq, enum vector vector)
{
    uint32_t flags, boot_apic_id = cpus[0]->apic_id;
    uint32_t gsi = isa_find_gsi(irq, &flags);
    if (boot_apic_id > DESTINATION_MAX)
        return false;
    for (uint32_t i = 0; i < acpi_info.ioapic_count; i++) {
        uint32_t base = acpi_info.ioapics[i].gsi_base;
        if (gsi < base || gsi - base >= inputs[i])
            continue;
        ioapic_write(i, IOAPIC_ENTRY_LOW(gsi - base), ENTRY_MASKED);
        ioapic_write(i, IOAPIC_ENTRY_HIGH(gsi - base), boot_apic_id << 24);
        ioapic_write(i, IOAPIC_ENTRY_LOW(gsi - base), flags | (uint32_t)vector);
        return true;
    }
    return false;
}
