/* SPDX-License-Identifier: MIT */
/* Reading the ACPI tables: RSDP → RSDT or XSDT → MADT, FADT (→ DSDT), HPET, SSDTs.
 *
 * Fields are fetched by offset with bounds checks instead of through structures: tables are
 * unaligned, and older revisions are shorter. Offsets: ACPI Specification 6.5, chapter 5.2.
 */
#include "arch/x86/acpi_tables.h"

#include "arch/x86/cpu.h"
#include "kernel/string.h"

#define TABLE_HEADER 36u
#define TABLE_MAX (16u << 20) /* no sane table is larger */
#define RSDP_V1_LENGTH 20u
#define RSDP_V2_LENGTH 36u

#define LENGTH_OF(array) (sizeof(array) / sizeof((array)[0]))

enum madt_type {
    MADT_LOCAL_APIC = 0,
    MADT_IO_APIC = 1,
    MADT_OVERRIDE = 2,
    MADT_LOCAL_APIC_ADDRESS = 5,
    MADT_LOCAL_X2APIC = 9,
};
#define MADT_CPU_ENABLED 1u
#define MADT_ENTRIES 44u
#define APIC_ID_NONE_8BIT 0xffu

#define FADT_DSDT 40u
#define FADT_SMI_COMMAND 48u
#define FADT_ACPI_ENABLE 52u
#define FADT_PM1A_CONTROL 64u
#define FADT_PM1B_CONTROL 68u
#define FADT_PM_TIMER 76u
#define FADT_FLAGS 112u
#define FADT_FLAG_TIMER_32BIT (1u << 8)
#define FADT_FLAG_RESET_REGISTER (1u << 10)
#define FADT_RESET_REGISTER 116u
#define FADT_RESET_VALUE 128u
#define FADT_X_DSDT 140u
#define FADT_X_PM1A_CONTROL 172u
#define FADT_X_PM1B_CONTROL 184u
#define FADT_X_PM_TIMER 208u

#define HPET_ADDRESS 40u

/* Generic address structure: space, width, offset, access size, 64-bit address. */
#define ADDRESS_SPACE_MEMORY 0
#define ADDRESS_SPACE_IO 1

/* The bytes of one table, or of a part of it. */
struct bytes {
    const uint8_t *start;
    uint64_t length;
};

struct reader {
    const struct acpi_access *access;
    struct acpi_info *info;
    struct acpi_handover *handover;
    bool have_madt, have_fadt;
};

/* Little-endian number; 0 where the table ends before it, as the specification wants it for fields
 * that an older revision lacks. */
static uint64_t bytes_get(struct bytes bytes, uint64_t offset, unsigned size)
{
    uint64_t value = 0;
    if (offset > bytes.length || size > bytes.length - offset)
        return 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)bytes.start[offset + i] << (8 * i);
    return value;
}

static bool bytes_sum_to_zero(const uint8_t *start, uint64_t length)
{
    uint8_t sum = 0;
    for (uint64_t i = 0; i < length; i++)
        sum = (uint8_t)(sum + start[i]);
    return sum == 0;
}

static bool table_is(struct bytes table, const char *signature)
{
    return memcmp(table.start, signature, 4) == 0;
}

/* Maps and checks one table. */
static bool table_open(const struct acpi_access *access, uint64_t physical, struct bytes *table)
{
    char name[5] = "?";
    const uint8_t *header = physical ? access->map(physical, TABLE_HEADER) : NULL;
    if (!header) {
        access->complain(name, "lies outside of readable memory");
        return false;
    }
    for (unsigned i = 0; i < 4; i++) /* may be garbage: nothing unprintable on the console */
        name[i] = header[i] > ' ' && header[i] < 0x7f ? (char)header[i] : '?';
    table->length = bytes_get((struct bytes){header, TABLE_HEADER}, 4, 4);
    if (table->length < TABLE_HEADER || table->length > TABLE_MAX) {
        access->complain(name, "has a length that makes no sense");
        return false;
    }
    table->start = access->map(physical, table->length);
    if (!table->start) {
        access->complain(name, "reaches outside of readable memory");
        return false;
    }
    if (!bytes_sum_to_zero(table->start, table->length)) {
        access->complain(name, "has a bad checksum");
        return false;
    }
    return true;
}

/* --- RSDP --- */

static bool rsdp_valid(const uint8_t *rsdp)
{
    return memcmp(rsdp, "RSD PTR ", 8) == 0 && bytes_sum_to_zero(rsdp, RSDP_V1_LENGTH);
}

const void *acpi_find_rsdp(const void *area, size_t length)
{
    const uint8_t *start = area;
    for (size_t i = 0; i + RSDP_V1_LENGTH <= length; i += 16) {
        if (!rsdp_valid(start + i))
            continue;
        /* A version 2 structure at the very end would be read beyond the area. */
        if (start[i + 15] < 2 || i + RSDP_V2_LENGTH <= length)
            return start + i;
    }
    return NULL;
}

/* The XSDT where it is offered and sound, else the RSDT. */
static bool root_open(const struct acpi_access *access, const uint8_t *rsdp, struct bytes *root,
                      unsigned *entry_size)
{
    struct bytes fields = {rsdp, RSDP_V1_LENGTH};
    if (rsdp[15] >= 2) {
        fields.length = RSDP_V2_LENGTH;
        if (!bytes_sum_to_zero(rsdp, RSDP_V2_LENGTH))
            access->complain("RSDP", "has a bad extended checksum");
        else if (bytes_get(fields, 24, 8) && table_open(access, bytes_get(fields, 24, 8), root) &&
                 table_is(*root, "XSDT")) {
            *entry_size = 8;
            return true;
        }
    }
    *entry_size = 4;
    return table_open(access, bytes_get(fields, 16, 4), root) && table_is(*root, "RSDT");
}

/* --- MADT --- */

/* Firmware may list a CPU as type 0 and as type 9. */
static bool cpu_listed(const struct acpi_info *info, uint32_t apic_id)
{
    for (uint32_t i = 0; i < info->cpu_count; i++) {
        if (info->cpus[i].apic_id == apic_id)
            return true;
    }
    return false;
}

static void madt_add_cpu(struct reader *reader, uint32_t apic_id, uint32_t acpi_id, uint32_t flags)
{
    struct acpi_info *info = reader->info;
    if (!(flags & MADT_CPU_ENABLED))
        return;
    if (apic_id == reader->access->boot_apic_id) {
        info->cpus[0].acpi_id = acpi_id;
        return;
    }
    if (cpu_listed(info, apic_id))
        return;
    if (apic_id > reader->access->max_apic_id || info->cpu_count == MAX_CPUS) {
        info->cpus_left_out++;
        return;
    }
    info->cpus[info->cpu_count++] = (struct acpi_cpu){apic_id, acpi_id};
}

static void madt_add_ioapic(struct reader *reader, struct bytes entry)
{
    struct acpi_info *info = reader->info;
    uint32_t i = info->ioapic_count;
    if (i == LENGTH_OF(info->ioapics)) {
        reader->access->complain("APIC", "lists more I/O APICs than are used");
        return;
    }
    info->ioapics[i].id = (uint32_t)bytes_get(entry, 2, 1);
    info->ioapics[i].address = bytes_get(entry, 4, 4);
    info->ioapics[i].gsi_base = (uint32_t)bytes_get(entry, 8, 4);
    info->ioapic_count++;
}

static void madt_add_override(struct reader *reader, struct bytes entry)
{
    struct acpi_info *info = reader->info;
    uint32_t i = info->override_count;
    if (i == LENGTH_OF(info->overrides)) {
        reader->access->complain("APIC", "lists more interrupt overrides than are used");
        return;
    }
    info->overrides[i].irq = (uint8_t)bytes_get(entry, 3, 1);
    info->overrides[i].gsi = (uint32_t)bytes_get(entry, 4, 4);
    info->overrides[i].flags = (uint16_t)bytes_get(entry, 8, 2);
    info->override_count++;
}

static uint8_t madt_entry_minimum(unsigned type)
{
    switch (type) {
    case MADT_LOCAL_APIC:
        return 8;
    case MADT_IO_APIC:
    case MADT_LOCAL_APIC_ADDRESS:
        return 12;
    case MADT_OVERRIDE:
        return 10;
    case MADT_LOCAL_X2APIC:
        return 16;
    default:
        return 2;
    }
}

static void madt_read_entry(struct reader *reader, struct bytes entry)
{
    switch (entry.start[0]) {
    case MADT_LOCAL_APIC:
        if (bytes_get(entry, 3, 1) != APIC_ID_NONE_8BIT)
            madt_add_cpu(reader, (uint32_t)bytes_get(entry, 3, 1), (uint32_t)bytes_get(entry, 2, 1),
                         (uint32_t)bytes_get(entry, 4, 4));
        break;
    case MADT_LOCAL_X2APIC:
        if (bytes_get(entry, 4, 4) != UINT32_MAX)
            madt_add_cpu(reader, (uint32_t)bytes_get(entry, 4, 4),
                         (uint32_t)bytes_get(entry, 12, 4), (uint32_t)bytes_get(entry, 8, 4));
        break;
    case MADT_IO_APIC:
        madt_add_ioapic(reader, entry);
        break;
    case MADT_OVERRIDE:
        if (bytes_get(entry, 2, 1) == 0) /* ISA */
            madt_add_override(reader, entry);
        break;
    case MADT_LOCAL_APIC_ADDRESS:
        reader->info->lapic_address = bytes_get(entry, 4, 8);
        break;
    default: /* NMI sources, other architectures, future types */
        break;
    }
}

static void madt_read(struct reader *reader, struct bytes madt)
{
    if (reader->have_madt)
        return;
    if (madt.length < MADT_ENTRIES) {
        reader->access->complain("APIC", "is too short");
        return;
    }
    reader->have_madt = true;
    reader->info->lapic_address = bytes_get(madt, 36, 4);
    for (uint64_t at = MADT_ENTRIES; at < madt.length;) {
        uint8_t length = (uint8_t)bytes_get(madt, at + 1, 1);
        /* A length below 2 would never get on: the rest cannot be told apart. */
        if (length < 2 || length > madt.length - at) {
            reader->access->complain("APIC", "is cut short by an entry of bad length");
            return;
        }
        if (length < madt_entry_minimum(madt.start[at]))
            reader->access->complain("APIC", "has an entry too short for its type");
        else
            madt_read_entry(reader, (struct bytes){madt.start + at, length});
        at += length;
    }
}

/* --- FADT, DSDT, SSDT, HPET --- */

static void aml_read(struct reader *reader, struct bytes table)
{
    struct acpi_info *info = reader->info;
    if (!info->s5_valid)
        info->s5_valid = acpi_find_s5(table.start + TABLE_HEADER, table.length - TABLE_HEADER,
                                      &info->s5_type_a, &info->s5_type_b);
}

/* An I/O port from a generic address structure, else from the older field (0: none). */
static uint32_t fadt_port(struct bytes fadt, uint64_t extended, uint64_t legacy)
{
    uint64_t port = bytes_get(fadt, extended + 4, 8);
    if (bytes_get(fadt, extended, 1) == ADDRESS_SPACE_IO && port != 0 && port <= 0xffff)
        return (uint32_t)port;
    port = bytes_get(fadt, legacy, 4);
    return port <= 0xffff ? (uint32_t)port : 0;
}

static void fadt_read_reset(struct acpi_info *info, struct bytes fadt, uint32_t flags)
{
    uint64_t port = bytes_get(fadt, FADT_RESET_REGISTER + 4, 8);
    if (!(flags & FADT_FLAG_RESET_REGISTER) || port == 0 || port > 0xffff ||
        bytes_get(fadt, FADT_RESET_REGISTER, 1) != ADDRESS_SPACE_IO)
        return;
    info->reset_port = (uint32_t)port;
    info->reset_value = (uint8_t)bytes_get(fadt, FADT_RESET_VALUE, 1);
}

static void fadt_read(struct reader *reader, struct bytes fadt)
{
    struct acpi_info *info = reader->info;
    struct bytes dsdt;
    if (reader->have_fadt)
        return;
    reader->have_fadt = true;
    uint32_t flags = (uint32_t)bytes_get(fadt, FADT_FLAGS, 4);
    uint64_t smi_port = bytes_get(fadt, FADT_SMI_COMMAND, 4);
    reader->handover->smi_command_port = smi_port <= 0xffff ? (uint32_t)smi_port : 0;
    reader->handover->enable_value = (uint8_t)bytes_get(fadt, FADT_ACPI_ENABLE, 1);
    info->pm1a_control = fadt_port(fadt, FADT_X_PM1A_CONTROL, FADT_PM1A_CONTROL);
    info->pm1b_control = fadt_port(fadt, FADT_X_PM1B_CONTROL, FADT_PM1B_CONTROL);
    info->pm_timer_port = fadt_port(fadt, FADT_X_PM_TIMER, FADT_PM_TIMER);
    info->pm_timer_32bit = flags & FADT_FLAG_TIMER_32BIT;
    fadt_read_reset(info, fadt, flags);

    uint64_t physical = bytes_get(fadt, FADT_X_DSDT, 8);
    if (physical == 0)
        physical = bytes_get(fadt, FADT_DSDT, 4);
    if (table_open(reader->access, physical, &dsdt) && table_is(dsdt, "DSDT"))
        aml_read(reader, dsdt);
}

static void hpet_read(struct reader *reader, struct bytes hpet)
{
    if (reader->info->hpet_address == 0 && bytes_get(hpet, HPET_ADDRESS, 1) == ADDRESS_SPACE_MEMORY)
        reader->info->hpet_address = bytes_get(hpet, HPET_ADDRESS + 4, 8);
}

/* --- all of them --- */

static void table_read(struct reader *reader, struct bytes table)
{
    if (table_is(table, "APIC"))
        madt_read(reader, table);
    else if (table_is(table, "FACP"))
        fadt_read(reader, table);
    else if (table_is(table, "HPET"))
        hpet_read(reader, table);
    else if (table_is(table, "SSDT"))
        aml_read(reader, table);
}

/* Tables nobody asks for are not opened: a bad checksum there is not worth a word. */
static bool table_wanted(const struct acpi_access *access, uint64_t physical)
{
    static const char wanted[][5] = {"APIC", "FACP", "HPET", "SSDT"};
    const void *header = physical ? access->map(physical, TABLE_HEADER) : NULL;
    for (unsigned i = 0; header && i < LENGTH_OF(wanted); i++) {
        if (memcmp(header, wanted[i], 4) == 0)
            return true;
    }
    return false;
}

bool acpi_read_tables(const struct acpi_access *access, const void *rsdp, struct acpi_info *info,
                      struct acpi_handover *handover)
{
    struct reader reader = {.access = access, .info = info, .handover = handover};
    struct bytes root, table;
    unsigned entry_size;

    memset(info, 0, sizeof(*info));
    memset(handover, 0, sizeof(*handover));
    info->cpus[0].apic_id = access->boot_apic_id;
    info->cpu_count = 1;
    if (!rsdp || !rsdp_valid(rsdp)) {
        access->complain("RSDP", rsdp ? "is damaged" : "was not found");
        return false;
    }
    if (!root_open(access, rsdp, &root, &entry_size)) {
        access->complain("RSDT", "cannot be used, nor an XSDT");
        return false;
    }
    for (uint64_t at = TABLE_HEADER; at + entry_size <= root.length; at += entry_size) {
        uint64_t physical = bytes_get(root, at, entry_size);
        if (table_wanted(access, physical) && table_open(access, physical, &table))
            table_read(&reader, table);
    }
    if (!reader.have_madt)
        access->complain("APIC", "is missing: one CPU is assumed");
    return reader.have_madt;
}
