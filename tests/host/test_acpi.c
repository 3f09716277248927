/* SPDX-License-Identifier: MIT */
/* ACPI tables as firmware has them, damaged, hostile, and random; \_S5 in all its encodings. */
#include "arch/x86/cpu.h"
#include "tests/host/acpi_machine.h"
#include "tests/host/random.h"
#include "tests/host/tap.h"

static void test_whole(void)
{
    build_machine();
    ok(read_tables(&access_xapic), "a sound machine is read");
    is_u64(complaints, 0, "and nothing complained about");
    is_u64(info.cpu_count, 1, "one CPU");
    is_u64(info.lapic_address, 0xfee00000, "local APIC address");
    is_u64(info.ioapic_count, 1, "one I/O APIC");
    ok(info.ioapics[0].id == 7 && info.ioapics[0].address == 0xfec00000, "its id and address");
    ok(info.override_count == 1 && info.overrides[0].irq == 9 && info.overrides[0].gsi == 20 &&
           info.overrides[0].flags == 0x0d,
       "interrupt override");
    is_u64(info.hpet_address, 0xfed00000, "HPET address");
    ok(info.pm1a_control == 0x604 && info.pm1b_control == 0, "PM1 control ports");
    ok(info.pm_timer_port == 0x608 && info.pm_timer_32bit, "PM timer");
    ok(info.reset_port == 0xcf9 && info.reset_value == 0x0f, "reset register");
    ok(handover.smi_command_port == 0xb2 && handover.enable_value == 0xf1, "ACPI enable");
    ok(info.s5_valid && info.s5_type_a == 5 && info.s5_type_b == 6, "S5 types");
}

static void test_roots(void)
{
    build_machine();
    make_rsdp_v2();
    put(AT_RSDT, 0, 4); /* must not be needed */
    ok(read_tables(&access_xapic) && info.hpet_address, "XSDT is used");
    build_machine();
    make_rsdp_v2();
    memory[AT_XSDT + 20] ^= 1;
    ok(read_tables(&access_xapic) && info.hpet_address, "damaged XSDT: the RSDT is used");
    is_string(last_complaint, "XSDT has a bad checksum", "and it is said");
    build_machine();
    make_rsdp_v2();
    memory[AT_RSDP + 33] ^= 1;
    ok(read_tables(&access_xapic), "bad extended checksum: the RSDT is used");
    is_string(last_complaint, "RSDP has a bad extended checksum", "and it is said");
    build_machine();
    memory[AT_RSDT + 9] ^= 1;
    ok(!read_tables(&access_xapic) && info.cpu_count == 1, "damaged RSDT: refused, one CPU");
    build_machine();
    memory[AT_RSDP + 10] ^= 1;
    ok(!read_tables(&access_xapic) && info.cpu_count == 1, "damaged RSDP: refused, one CPU");
    ok(!acpi_read_tables(&access_xapic, NULL, &info, &handover) && info.cpu_count == 1,
       "no RSDP: refused, one CPU");
    build_machine();
    put(AT_RSDP + 16, 0xfffffff0, 4);
    seal(AT_RSDP, 20, AT_RSDP + 8);
    ok(!read_tables(&access_xapic), "RSDT outside of memory: refused");
}

static void test_find_rsdp(void)
{
    uint8_t area[256] = {0};
    build_machine();
    ok(acpi_find_rsdp(area, sizeof(area)) == NULL, "no RSDP in an empty area");
    memcpy(area + 160, memory + AT_RSDP, 20);
    ok(acpi_find_rsdp(area, sizeof(area)) == area + 160, "RSDP found");
    ok(acpi_find_rsdp(area, 180) == area + 160, "at the very end of the area");
    ok(acpi_find_rsdp(area, 179) == NULL, "not when it does not fit");
    memmove(area + 168, area + 160, 20);
    memset(area + 160, 0, 8);
    ok(acpi_find_rsdp(area, sizeof(area)) == NULL, "not off a 16-byte boundary");
    make_rsdp_v2();
    memcpy(area + 208, memory + AT_RSDP, 36);
    ok(acpi_find_rsdp(area, 244) == area + 208, "version 2 with its 36 bytes");
    ok(acpi_find_rsdp(area, 243) == NULL, "not when the area ends within them");
    ok(acpi_find_rsdp(area, 0) == NULL, "an area of no bytes");
}

static void test_cpus(void)
{
    build_machine();
    append_lapic(1, 4, 1);
    append_lapic(2, 6, 0);
    append_lapic(3, 8, 2); /* could be enabled later */
    append_lapic(4, 255, 1);
    append_x2apic(5, 200, 1);
    append_x2apic(6, 300, 1);
    append_x2apic(7, UINT32_MAX, 1);
    append_x2apic(8, 0x12345, 0);
    append_lapic(9, 200, 1);
    ok(read_tables(&access_x2apic), "mixed list");
    is_u64(info.cpu_count, 4, "enabled CPUs only, each once");
    ok(info.cpus[0].apic_id == BOOT_ID && info.cpus[1].apic_id == 4, "type 0, sparse IDs");
    ok(info.cpus[2].apic_id == 200 && info.cpus[2].acpi_id == 5, "type 9, small ID");
    ok(info.cpus[3].apic_id == 300 && info.cpus[3].acpi_id == 6, "type 9, 32-bit ID");
    is_u64(info.cpus_left_out, 0, "none left out");
    ok(read_tables(&access_xapic) && info.cpu_count == 3 && info.cpus_left_out == 1,
       "without x2APIC the 32-bit ID is left out");
}

static void test_boot_cpu(void)
{
    struct acpi_access access = access_x2apic;
    build_machine();
    append_lapic(1, 4, 1);
    append_lapic(2, 6, 1);
    access.boot_apic_id = 6;
    ok(read_tables(&access) && info.cpu_count == 3, "boot CPU listed last");
    ok(info.cpus[0].apic_id == 6 && info.cpus[0].acpi_id == 2, "comes first");
    ok(info.cpus[1].apic_id == 0 && info.cpus[2].apic_id == 4, "the others in order");
    access.boot_apic_id = 99;
    ok(read_tables(&access) && info.cpu_count == 4 && info.cpus[0].apic_id == 99,
       "a boot CPU that is not listed counts all the same");
}

static void test_many_cpus(void)
{
    struct acpi_access access = access_x2apic;
    build_machine();
    for (uint32_t i = 1; i < 100; i++)
        append_x2apic(i, 2 * i, 1);
    access.boot_apic_id = 2 * 90;
    ok(read_tables(&access), "a hundred CPUs");
    is_u64(info.cpu_count, MAX_CPUS, "as many as fit");
    is_u64(info.cpus_left_out, 100 - MAX_CPUS, "the others counted");
    ok(info.cpus[0].apic_id == 180 && info.cpus[0].acpi_id == 90, "boot CPU among them");
    ok(info.cpus[63].apic_id == 2 * 62, "the others in order");
}

static void test_many_ioapics(void)
{
    build_machine();
    for (uint8_t i = 0; i < 20; i++) {
        table_append(AT_MADT, (uint8_t[]){1, 12, i, 0, 0, 0, 0xc0, 0xfe, i, 0, 0, 0}, 12);
        table_append(AT_MADT, (uint8_t[]){2, 10, 0, i, i, 0, 0, 0, 0, 0}, 10);
    }
    table_append(AT_MADT, (uint8_t[]){5, 12, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}, 12);
    ok(read_tables(&access_xapic), "too many I/O APICs and overrides");
    ok(info.ioapic_count == 8 && info.override_count == 16, "as many as fit");
    ok(complaints == 13 + 5, "each other one complained about");
    is_u64(info.lapic_address, 0x100000000, "64-bit local APIC address");
}

static void test_bad_entries(void)
{
    build_machine();
    table_append(AT_MADT, (uint8_t[]){0, 0, 0, 0, 0, 0, 0, 0}, 8);
    append_lapic(1, 4, 1);
    ok(read_tables(&access_xapic) && info.cpu_count == 1, "entry of length 0 ends the list");
    is_string(last_complaint, "APIC is cut short by an entry of bad length", "and it is said");
    build_machine();
    table_append(AT_MADT, (uint8_t[]){77, 1}, 2);
    ok(read_tables(&access_xapic) && complaints == 1, "entry of length 1 ends the list");
    build_machine();
    table_append(AT_MADT, (uint8_t[]){0, 200, 1, 4, 1, 0, 0, 0}, 8);
    ok(read_tables(&access_xapic) && info.cpu_count == 1 && complaints == 1,
       "entry that reaches beyond the table ends the list");
    build_machine();
    table_append(AT_MADT, (uint8_t[]){0}, 1);
    ok(read_tables(&access_xapic) && complaints == 1, "half an entry header");
    build_machine();
    table_append(AT_MADT, (uint8_t[]){0, 4, 1, 4}, 4);
    table_append(AT_MADT, (uint8_t[]){99, 3, 0}, 3);
    append_lapic(1, 5, 1);
    ok(read_tables(&access_xapic) && info.cpu_count == 2 && info.cpus[1].apic_id == 5,
       "entry too short for its type, unknown type: passed over");
}

static void test_bad_tables(void)
{
    static const uint32_t lengths[] = {0, 1, 35, 36, 43, 0x7fffffff, 0xffffffff};
    for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        build_machine();
        put(AT_MADT + 4, lengths[i], 4);
        if (lengths[i] <= 43)
            seal(AT_MADT, lengths[i], AT_MADT + 9);
        ok(!read_tables(&access_xapic) && info.cpu_count == 1 && info.hpet_address,
           "MADT of length 0x%x: refused, the other tables are read", lengths[i]);
    }
    build_machine();
    memory[AT_MADT + 20] ^= 1;
    ok(!read_tables(&access_xapic) && info.s5_valid, "MADT with a bad checksum: refused");
    build_machine();
    memory[AT_FADT + 20] ^= 1;
    ok(read_tables(&access_xapic) && !info.s5_valid && !info.pm1a_control, "bad FADT: ignored");
    build_machine();
    memory[AT_HPET + 40] = 1;
    table_seal(AT_HPET);
    ok(read_tables(&access_xapic) && info.hpet_address == 0, "HPET in I/O space: ignored");
    build_machine();
    put(AT_RSDT + 36, 0xffffff00, 4);
    put(AT_RSDT + 44, 0, 4);
    table_seal(AT_RSDT);
    ok(read_tables(&access_xapic) && info.hpet_address == 0, "entries to nowhere: passed over");
}

static void test_fadt(void)
{
    build_machine();
    put(AT_FADT + 4, 116, 4); /* ACPI 1.0 */
    put(AT_FADT + 68, 0x704, 4);
    table_seal(AT_FADT);
    ok(read_tables(&access_xapic) && info.pm1a_control == 0x604 && info.pm1b_control == 0x704,
       "short FADT: its old fields");
    ok(info.reset_port == 0 && info.s5_valid, "no reset register in it, but a DSDT");
    build_machine();
    put(AT_FADT + 172, 1, 1);
    put(AT_FADT + 176, 0x804, 8);
    put(AT_FADT + 208, 1, 1);
    put(AT_FADT + 212, 0x808, 8);
    put(AT_FADT + 140, AT_SSDT, 8);
    table_seal(AT_FADT);
    set_s5(AT_SSDT, "DSDT", "\x08_S5_\x12\x04\x02\x01\x00", 10);
    ok(read_tables(&access_xapic) && info.pm1a_control == 0x804 && info.pm_timer_port == 0x808,
       "extended addresses win");
    ok(info.s5_valid && info.s5_type_a == 1 && info.s5_type_b == 0, "so does the extended DSDT");
    build_machine();
    put(AT_FADT + 172, 0, 1);
    put(AT_FADT + 176, 0xfe000000, 8);
    put(AT_FADT + 116, 0, 1);
    put(AT_FADT + 76, 0x10608, 4);
    table_seal(AT_FADT);
    ok(read_tables(&access_xapic) && info.pm1a_control == 0x604, "memory space: the old field");
    ok(info.reset_port == 0, "reset register in memory space: none");
    ok(info.pm_timer_port == 0, "a port beyond 16 bits: none");
    build_machine();
    set_s5(AT_DSDT, "DSDT", "\x08_S3_\x00", 6);
    set_s5(AT_SSDT, "SSDT", S5_PLAIN, S5_PLAIN_LENGTH);
    ok(read_tables(&access_xapic) && info.s5_valid && info.s5_type_a == 5, "S5 in an SSDT");
    build_machine();
    memory[AT_DSDT + 8] ^= 1;
    ok(read_tables(&access_xapic) && !info.s5_valid, "damaged DSDT: no S5");
}

struct s5_case {
    const char *name;
    const char *aml;
    unsigned length;
    bool valid;
    uint16_t a, b;
};
#define AML(text) text, sizeof(text) - 1

static const struct s5_case s5_cases[] = {
    {"bytes", AML(S5_PLAIN), true, 5, 6},
    {"from the root", AML("\x08\\_S5_\x12\x06\x02\x0a\x07\x0a\x03"), true, 7, 3},
    {"zero and one", AML("\x08_S5_\x12\x06\x04\x00\x01\x00\x00"), true, 0, 1},
    {"word and double word", AML("\x08_S5_\x12\x0a\x02\x0b\x05\x00\x0c\x06\x00\x00\x00"), true, 5,
     6},
    {"long package length", AML("\x08_S5_\x12\x47\x00\x02\x0a\x05\x0a\x06"), true, 5, 6},
    {"longest package length", AML("\x08_S5_\x12\xc9\x00\x00\x00\x02\x0a\x05\x0a\x06"), true, 5, 6},
    {"one element with both", AML("\x08_S5_\x12\x05\x01\x0b\x05\x06"), true, 5, 6},
    {"after a mention", AML("\x00_S5_\x12\x70_S5_\x08_S5_\x12\x04\x02\x01\x01"), true, 1, 1},
    {"no name operator", AML("\x00_S5_\x12\x06\x04\x0a\x05\x0a\x06"), false, 0, 0},
    {"at the very start", AML("_S5_\x12\x06\x04\x0a\x05\x0a\x06"), false, 0, 0},
    {"not a package", AML("\x08_S5_\x11\x06\x04\x0a\x05\x0a\x06"), false, 0, 0},
    {"empty package", AML("\x08_S5_\x12\x02\x00\x0a\x05\x0a\x06"), false, 0, 0},
    {"not integers", AML("\x08_S5_\x12\x06\x02\x0d\x05\x0a\x06"), false, 0, 0},
    {"first too large", AML("\x08_S5_\x12\x06\x02\x0a\x08\x0a\x06"), false, 0, 0},
    {"second too large", AML("\x08_S5_\x12\x06\x02\x0a\x05\x0b\x06\x01"), false, 0, 0},
};

static void test_s5(void)
{
    uint16_t a, b;
    for (unsigned i = 0; i < sizeof(s5_cases) / sizeof(s5_cases[0]); i++) {
        const struct s5_case *test = &s5_cases[i];
        uint8_t *aml = malloc(test->length);
        memcpy(aml, test->aml, test->length);
        a = b = 0;
        bool valid = acpi_find_s5(aml, test->length, &a, &b);
        ok(valid == test->valid && a == test->a && b == test->b, "S5: %s", test->name);
        free(aml);
    }
    /* Every shorter piece of a good package: nothing found, nothing read beyond. */
    unsigned found = 0;
    for (unsigned length = 0; length < S5_PLAIN_LENGTH - 2; length++) {
        uint8_t *aml = malloc(length ? length : 1);
        memcpy(aml, S5_PLAIN, length);
        found += acpi_find_s5(aml, length, &a, &b);
        free(aml);
    }
    is_u64(found, 0, "S5: cut off anywhere");
}

/* Random damage with checksums made right again; the sanitizers and the end of the loop judge. */
static void test_random(void)
{
    static const uint32_t tables[] = {AT_MADT, AT_FADT, AT_DSDT, AT_HPET, AT_RSDT, AT_XSDT};
    uint64_t random = 20240229;
    unsigned sane = 0, rounds = 20000, read = 0;
    for (unsigned i = 0; i < rounds; i++) {
        build_machine();
        make_rsdp_v2();
        append_lapic(1, 4, 1);
        append_x2apic(2, 300, 1);
        for (unsigned changes = 1 + (unsigned)random_below(&random, 6); changes > 0; changes--) {
            uint32_t at = tables[random_below(&random, 6)];
            memory[at + 4 + random_below(&random, 80)] = (uint8_t)random_u64(&random);
            uint32_t length;
            memcpy(&length, memory + at + 4, 4);
            if (length >= HEADER && length <= MEMORY_SIZE - at)
                table_seal(at);
        }
        read += read_tables(&access_x2apic);
        sane += info.cpu_count >= 1 && info.cpu_count <= MAX_CPUS && info.ioapic_count <= 8 &&
                info.override_count <= 16 && info.s5_type_a <= 7 && info.s5_type_b <= 7;
    }
    is_u64(sane, rounds, "random damage never gives counts out of range");
    ok(read > rounds / 10 && read < rounds, "and both outcomes occur (%u of %u read)", read,
       rounds);
}

int main(void)
{
    test_whole();
    test_roots();
    test_find_rsdp();
    test_cpus();
    test_boot_cpu();
    test_many_cpus();
    test_many_ioapics();
    test_bad_entries();
    test_bad_tables();
    test_fadt();
    test_s5();
    test_random();
    return done();
}
