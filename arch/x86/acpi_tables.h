/* SPDX-License-Identifier: MIT */
/* Reading the ACPI tables: pure, knows neither physical memory nor registers (host-tested).
 *
 * Everything that comes from the firmware is hostile: signatures, checksums and lengths are
 * checked before anything behind them is read.
 */
#ifndef ARCH_X86_ACPI_TABLES_H
#define ARCH_X86_ACPI_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "arch/x86/apic.h"

/* What the parser needs from its surroundings. */
struct acpi_access {
    /* The bytes [physical, physical + length), or NULL when they cannot be read. */
    const void *(*map)(uint64_t physical, uint64_t length);
    /* A table, named by its signature, is ignored or cut short, and why. */
    void (*complain)(const char *table, const char *why);
    uint32_t boot_apic_id; /* of the CPU that asks: always in the list, and its first */
    uint32_t max_apic_id;  /* the highest that the APICs can address */
};

/* How the firmware hands the power registers to the system, from the FADT. */
struct acpi_handover {
    uint32_t smi_command_port; /* 0: ACPI is always on */
    uint8_t enable_value;
};

/* A valid RSDP on a 16-byte boundary of an area, or NULL. */
const void *acpi_find_rsdp(const void *area, size_t length);

/* Fills *info and *handover. False when there is no valid RSDP, RSDT/XSDT or MADT: then *info names
 * one CPU, and whatever the other tables tell. `rsdp` has 20 readable bytes; 36 when its revision
 * is 2 or more. */
bool acpi_read_tables(const struct acpi_access *access, const void *rsdp, struct acpi_info *info,
                      struct acpi_handover *handover);

/* SLP_TYP values of the package \_S5 in AML code; false when there is none that makes sense. */
bool acpi_find_s5(const uint8_t *aml, size_t length, uint16_t *type_a, uint16_t *type_b);

extern struct acpi_handover acpi_handover; /* acpi.c; filled by acpi_init() */

#endif
