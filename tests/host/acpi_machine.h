/* SPDX-License-Identifier: MIT */
/* A machine's ACPI tables in a fake physical memory, to be damaged by tests.
 *
 * The parser is given each table in a heap block of exactly the length it asked for, so that the
 * address sanitizer sees any byte read beyond.
 */
#ifndef TESTS_HOST_ACPI_MACHINE_H
#define TESTS_HOST_ACPI_MACHINE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "arch/x86/acpi_tables.h"

#define MEMORY_SIZE 0x10000u
#define AT_RSDP 0x1000u
#define AT_RSDT 0x2000u
#define AT_XSDT 0x3000u
#define AT_MADT 0x4000u
#define AT_FADT 0x6000u
#define AT_DSDT 0x7000u
#define AT_HPET 0x8000u
#define AT_SSDT 0x9000u
#define HEADER 36u
#define MADT_START 44u
#define FADT_SIZE 276u
#define BOOT_ID 0u

static uint8_t memory[MEMORY_SIZE];
static void *blocks[4096];
static unsigned block_count;
static unsigned complaints;
static char last_complaint[128];

static struct acpi_info info;
static struct acpi_handover handover;

/* --- what the parser is given --- */

static const void *fake_map(uint64_t physical, uint64_t length)
{
    if (physical >= MEMORY_SIZE || length > MEMORY_SIZE - physical)
        return NULL;
    if (block_count == sizeof(blocks) / sizeof(blocks[0]))
        abort();
    blocks[block_count] = malloc(length ? length : 1);
    memcpy(blocks[block_count], memory + physical, length);
    return blocks[block_count++];
}

static void fake_complain(const char *table, const char *why)
{
    complaints++;
    snprintf(last_complaint, sizeof(last_complaint), "%s %s", table, why);
}

static struct acpi_access access_xapic = {fake_map, fake_complain, BOOT_ID, 254};
static struct acpi_access access_x2apic = {fake_map, fake_complain, BOOT_ID, UINT32_MAX - 1};

static bool read_tables(const struct acpi_access *access)
{
    complaints = 0;
    last_complaint[0] = 0;
    bool valid = acpi_read_tables(access, fake_map(AT_RSDP, HEADER), &info, &handover);
    while (block_count > 0)
        free(blocks[--block_count]);
    return valid;
}

/* --- building tables --- */

static void put(uint32_t at, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        memory[at + i] = (uint8_t)(value >> (8 * i));
}

static void seal(uint32_t at, uint32_t length, uint32_t checksum_at)
{
    uint8_t sum = 0;
    memory[checksum_at] = 0;
    for (uint32_t i = 0; i < length; i++)
        sum = (uint8_t)(sum + memory[at + i]);
    memory[checksum_at] = (uint8_t)-sum;
}

static void table_seal(uint32_t at)
{
    uint32_t length;
    memcpy(&length, memory + at + 4, 4);
    seal(at, length, at + 9);
}

static void table_begin(uint32_t at, const char *signature, uint32_t length)
{
    memset(memory + at, 0, length);
    memcpy(memory + at, signature, 4);
    put(at + 4, length, 4);
    table_seal(at);
}

/* Appends bytes to a table and keeps its length and checksum right. */
static uint32_t table_append(uint32_t at, const void *bytes, uint32_t count)
{
    uint32_t length;
    memcpy(&length, memory + at + 4, 4);
    memcpy(memory + at + length, bytes, count);
    put(at + 4, length + count, 4);
    table_seal(at);
    return at + length;
}

static void append_lapic(uint8_t acpi_id, uint8_t apic_id, uint8_t flags)
{
    table_append(AT_MADT, (uint8_t[]){0, 8, acpi_id, apic_id, flags, 0, 0, 0}, 8);
}

static void append_x2apic(uint32_t acpi_id, uint32_t apic_id, uint32_t flags)
{
    uint32_t at = table_append(AT_MADT, (uint8_t[16]){9, 16}, 16);
    put(at + 4, apic_id, 4);
    put(at + 8, flags, 4);
    put(at + 12, acpi_id, 4);
    table_seal(AT_MADT);
}

static void set_s5(uint32_t table, const char *signature, const void *aml, uint32_t length)
{
    table_begin(table, signature, HEADER);
    table_append(table, aml, length);
}

#define S5_PLAIN "\x08_S5_\x12\x06\x04\x0a\x05\x0a\x06\x00\x00"
#define S5_PLAIN_LENGTH (sizeof(S5_PLAIN) - 1)

static void build_fadt(void)
{
    table_begin(AT_FADT, "FACP", FADT_SIZE);
    put(AT_FADT + 40, AT_DSDT, 4);
    put(AT_FADT + 48, 0xb2, 4);
    put(AT_FADT + 52, 0xf1, 1);
    put(AT_FADT + 64, 0x604, 4);
    put(AT_FADT + 76, 0x608, 4);
    put(AT_FADT + 112, 1u << 8 | 1u << 10, 4);
    memory[AT_FADT + 116] = 1; /* reset register: I/O space */
    put(AT_FADT + 120, 0xcf9, 8);
    put(AT_FADT + 128, 0x0f, 1);
    table_seal(AT_FADT);
}

/* A machine with one CPU, an I/O APIC, HPET, FADT and DSDT; RSDT and XSDT. */
static void build_machine(void)
{
    static const uint32_t tables[] = {AT_FADT, AT_MADT, AT_HPET, AT_SSDT};
    memset(memory, 0, sizeof(memory));
    table_begin(AT_MADT, "APIC", MADT_START);
    put(AT_MADT + 36, 0xfee00000, 4);
    append_lapic(0, BOOT_ID, 1);
    table_append(AT_MADT, (uint8_t[]){1, 12, 7, 0, 0, 0, 0xc0, 0xfe, 0, 0, 0, 0}, 12);
    table_append(AT_MADT, (uint8_t[]){2, 10, 0, 9, 20, 0, 0, 0, 0x0d, 0}, 10);
    build_fadt();
    set_s5(AT_DSDT, "DSDT", S5_PLAIN, S5_PLAIN_LENGTH);
    set_s5(AT_SSDT, "SSDT", "\x08TEST\x00", 6);
    table_begin(AT_HPET, "HPET", 56);
    put(AT_HPET + 44, 0xfed00000, 8);
    table_seal(AT_HPET);
    table_begin(AT_RSDT, "RSDT", HEADER);
    table_begin(AT_XSDT, "XSDT", HEADER);
    for (unsigned i = 0; i < 4; i++) {
        table_append(AT_RSDT, (uint8_t[]){(uint8_t)tables[i], (uint8_t)(tables[i] >> 8), 0, 0}, 4);
        table_append(AT_XSDT, (uint8_t[8]){(uint8_t)tables[i], (uint8_t)(tables[i] >> 8)}, 8);
    }
    memcpy(memory + AT_RSDP, "RSD PTR ", 8);
    put(AT_RSDP + 16, AT_RSDT, 4);
    seal(AT_RSDP, 20, AT_RSDP + 8);
}

static void make_rsdp_v2(void)
{
    memory[AT_RSDP + 15] = 2;
    put(AT_RSDP + 20, 36, 4);
    put(AT_RSDP + 24, AT_XSDT, 8);
    seal(AT_RSDP, 20, AT_RSDP + 8);
    seal(AT_RSDP, 36, AT_RSDP + 32);
}

#endif
