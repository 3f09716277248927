/* SPDX-License-Identifier: MIT */
/* Finds the ACPI tables in physical memory; acpi_tables.c reads them.
 *
 * Boot CPU only, before the others run. What it leaves in acpi_info never changes again.
 */
#include "arch/x86/apic.h"

#include "arch/x86/acpi_tables.h"
#include "arch/x86/cpu.h"
#include "arch/x86/layout.h"
#include "kernel/printf.h"
#include "kernel/string.h"

/* The direct map covers everything below, RAM or not; firmware keeps its tables there. */
#define READABLE_END (1ull << 32)

#define BDA_EBDA_SEGMENT 0x40eull
#define EBDA_SEARCHED 1024u
#define BIOS_AREA 0xe0000ull
#define BIOS_AREA_SIZE 0x20000u
#define LOW_MEMORY_END 0xa0000ull

#define XAPIC_MAX_ID 254u /* 255 is the broadcast */
#define X2APIC_MAX_ID (UINT32_MAX - 1)

struct acpi_info acpi_info;
struct acpi_handover acpi_handover;

static const void *physical_map(uint64_t physical, uint64_t length)
{
    if (physical >= READABLE_END || length > READABLE_END - physical)
        return NULL;
    return PHYS_TO_VIRT(physical);
}

static void table_complain(const char *table, const char *why)
{
    printk("ACPI: table %s %s\n", table, why);
}

static const void *rsdp_search(void)
{
    uint16_t segment;
    memcpy(&segment, PHYS_TO_VIRT(BDA_EBDA_SEGMENT), sizeof(segment));
    uint64_t ebda = (uint64_t)segment << 4;
    const void *rsdp = NULL;
    if (ebda >= 0x400 && ebda + EBDA_SEARCHED <= LOW_MEMORY_END)
        rsdp = acpi_find_rsdp(PHYS_TO_VIRT(ebda), EBDA_SEARCHED);
    return rsdp ? rsdp : acpi_find_rsdp(PHYS_TO_VIRT(BIOS_AREA), BIOS_AREA_SIZE);
}

bool acpi_init(const void *rsdp)
{
    struct acpi_access access = {
        .map = physical_map,
        .complain = table_complain,
        .boot_apic_id = apic_read_id(),
        .max_apic_id = cpu_features.x2apic ? X2APIC_MAX_ID : XAPIC_MAX_ID,
    };
    return acpi_read_tables(&access, rsdp ? rsdp : rsdp_search(), &acpi_info, &acpi_handover);
}
