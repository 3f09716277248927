/* SPDX-License-Identifier: MIT */
/* Local APIC (xAPIC and x2APIC), I/O APIC routing, and the machine's CPUs from ACPI.
 *
 * Context: any, interrupts may be on, but where said.
 */
#ifndef ARCH_X86_APIC_H
#define ARCH_X86_APIC_H

#include <stdbool.h>
#include <stdint.h>
#include "arch/x86/vectors.h"

/* Boot CPU: masks the 8259s, finds the mode (x2APIC where offered), maps registers. */
void apic_init(void);
void apic_setup_cpu(void); /* on every CPU: enable, spurious and error vectors, LINT1 = NMI */
bool apic_is_x2apic(void);
uint32_t apic_read_id(void);
void apic_eoi(void);

/* Sends a fixed interrupt, or an NMI, to one CPU by its index (this one, too). Interrupts may be on
 * or off; waits (bounded, named) for a previous send in xAPIC mode. NMI-safe. */
void apic_send_ipi(uint32_t cpu_index, enum vector vector);
void apic_send_nmi(uint32_t cpu_index);

/* INIT-SIPI-SIPI; the caller waits for the CPU. entry_page is a physical page below 1 MiB. */
void apic_start_cpu(uint32_t apic_id, uint32_t entry_page);

/* Routes an ISA interrupt (with the MADT's overrides) to a vector on the boot CPU. False when
 * there is no I/O APIC for it. */
bool ioapic_route_isa(uint8_t irq, enum vector vector);

/* --- ACPI (acpi.c) --- */

struct acpi_cpu {
    uint32_t apic_id;
    uint32_t acpi_id;
};

struct acpi_info {
    uint32_t cpu_count; /* enabled ones, MADT types 0 and 9, boot CPU included, at most MAX_CPUS */
    uint32_t cpus_left_out; /* enabled ones beyond MAX_CPUS */
    struct acpi_cpu cpus[64];
    uint64_t lapic_address;
    struct {
        uint32_t id, gsi_base;
        uint64_t address;
    } ioapics[8];
    uint32_t ioapic_count;
    struct {
        uint8_t irq;
        uint32_t gsi;
        uint16_t flags;
    } overrides[16];
    uint32_t override_count;
    uint64_t hpet_address;  /* 0: none */
    uint32_t pm_timer_port; /* 0: none */
    bool pm_timer_32bit;
    uint32_t pm1a_control, pm1b_control; /* I/O ports; 0: none */
    uint16_t s5_type_a, s5_type_b;       /* SLP_TYP values of \_S5 */
    bool s5_valid;
    uint32_t reset_port;
    uint8_t reset_value; /* with reset_port 0: no reset register */
};
extern struct acpi_info acpi_info;

/* rsdp: the copy that the boot loader handed over, or NULL: searched in the BIOS areas. False
 * (and one CPU assumed) when there is no valid RSDP/RSDT/XSDT/MADT. Checksums are verified;
 * lengths are never trusted. */
bool acpi_init(const void *rsdp);

#endif
