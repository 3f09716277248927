/* SPDX-License-Identifier: MIT */
/* Symbols: search in synthetic tables of the layout in kernel/symbols.h. */
#include "arch/x86/layout.h"
#include "kernel/symbols.h"
#include "tests/host/tap.h"

/* Three symbols, as the build would link them in. */
__asm__(".section .rodata\n"
        ".balign 8\n"
        ".globl ksyms_start, ksyms_end\n"
        "ksyms_start:\n"
        ".long 3, 0x100000, 0x100040, 0x2fff00\n"
        ".long 6, 0, 12\n"
        ".ascii \"_init\\0start\\0last_one\\0\"\n"
        "ksyms_end:\n"
        ".text\n");
extern const uint32_t ksyms_start[];

/* Host addresses: no address of the kernel lies between them. */
char image_start[1], image_end[1], text_start[1], text_end[1];

/* Rows: 0x100000 a.c:10; 0x100020 a.c:7; 0x100150 b.asm:300; 0x100151 no code; 0x100160 a.c:1. */
__asm__(".section .rodata\n"
        ".balign 4\n"
        "lines_table:\n"
        ".long 5, 3, 0, 1, 5, 11\n"
        ".ascii \"\\0a.c\\0b.asm\\0\"\n"
        ".byte 0x80, 0x80, 0x40, 0x29, 1\n" /* +0x100000, line +10, file 1 */
        ".byte 0x20, 0x0a\n"                /* +0x20, line -3 */
        ".byte 0xb0, 0x02, 0x95, 0x09, 2\n" /* +0x130, line +293, file 2 */
        ".byte 1, 0xaf, 0x09, 0\n"          /* +1, line -300, file 0 */
        ".byte 0x0f, 5, 1\n"                /* +15, line +1, file 1 */
        ".text\n");
extern const uint32_t lines_table[];

static void expect_line(uint32_t offset, const char *file, uint32_t line)
{
    const char *found = NULL;
    uint32_t found_line = 0;
    bool result = line_table_find(lines_table, offset, &found, &found_line);

    ok(result == (file != NULL), "0x%x has %s line", offset, file ? "a" : "no");
    is_string(found, file, "file at 0x%x", offset);
    is_u64(found_line, line, "line at 0x%x", offset);
}

static void test_lines(void)
{
    expect_line(0, NULL, 0);
    expect_line(0xfffff, NULL, 0);
    expect_line(0x100000, "a.c", 10);
    expect_line(0x10001f, "a.c", 10);
    expect_line(0x100020, "a.c", 7);
    expect_line(0x100150, "b.asm", 300);
    expect_line(0x100151, NULL, 0);
    expect_line(0x100160, "a.c", 1);
    expect_line(UINT32_MAX, "a.c", 1);
}

static void expect_find(const uint32_t *table, uint32_t offset, const char *name, uint32_t start)
{
    const char *found = NULL;
    uint32_t found_start = 0xdead;
    bool result = symbol_table_find(table, offset, &found, &found_start);

    ok(result == (name != NULL), "0x%x is %s", offset, name ? "found" : "not found");
    is_string(found, name, "name at 0x%x", offset);
    is_u64(found_start, name ? start : 0xdead, "start of the one at 0x%x", offset);
}

static void test_find(void)
{
    expect_find(ksyms_start, 0, NULL, 0);
    expect_find(ksyms_start, 0xfffff, NULL, 0);
    expect_find(ksyms_start, 0x100000, "start", 0x100000);
    expect_find(ksyms_start, 0x10003f, "start", 0x100000);
    expect_find(ksyms_start, 0x100040, "_init", 0x100040);
    expect_find(ksyms_start, 0x2ffeff, "_init", 0x100040);
    expect_find(ksyms_start, 0x2fff00, "last_one", 0x2fff00);
    expect_find(ksyms_start, UINT32_MAX, "last_one", 0x2fff00);
}

static void test_empty(void)
{
    static const uint32_t empty[1] = {0};
    uint32_t offset;

    expect_find(empty, 0, NULL, 0);
    expect_find(empty, UINT32_MAX, NULL, 0);
    ok(!symbol_table_address(empty, "start", &offset), "no name in an empty table");
}

static void test_address(void)
{
    uint64_t address = 0;

    ok(symbol_address("last_one", &address) && address == KERNEL_BASE + 0x2fff00, "last_one");
    ok(symbol_address("start", &address) && address == KERNEL_BASE + 0x100000, "start");
    ok(symbol_address("_init", &address) && address == KERNEL_BASE + 0x100040, "_init");
    ok(!symbol_address("last", &address) && !symbol_address("last_one2", &address) &&
           !symbol_address("", &address),
       "names that are none");
}

static void test_outside(void)
{
    const char *name;
    uint64_t offset;
    char text[32];

    ok(!symbol_find(0, &name, &offset) && !symbol_find(UINT64_MAX, &name, &offset) &&
           !symbol_find(KERNEL_BASE + 0x100000, &name, &offset),
       "addresses outside of the image have no symbol");
    is_string(symbol_format(text, sizeof text, 0x1234), "0x1234", "they are shown as numbers");
    is_string(symbol_format(text, 5, 0x123456), "0x12", "cut to the buffer");
}

/* Against a linear search, in tables of each size. */
static void test_sizes(void)
{
    uint32_t table[1 + 2 * 64 + 16] = {0};
    unsigned wrong = 0;

    for (uint32_t count = 1; count <= 64; count++) {
        table[0] = count;
        for (uint32_t i = 0; i < count; i++) {
            table[1 + i] = 10 + 3 * i;
            table[1 + count + i] = 0;
        }
        table[1 + 2 * count] = 'x'; /* the one name */
        for (uint32_t offset = 0; offset < 10 + 3 * count + 5; offset++) {
            const char *name = "";
            uint32_t start = 0, expected = 0;
            for (uint32_t i = 0; i < count && table[1 + i] <= offset; i++)
                expected = table[1 + i];
            bool found = symbol_table_find(table, offset, &name, &start);
            wrong += found != (expected != 0) || (found && (start != expected || *name != 'x'));
        }
    }
    is_u64(wrong, 0, "tables of 1 to 64 symbols: as a linear search finds");
}

int main(void)
{
    test_find();
    test_lines();
    test_empty();
    test_address();
    test_outside();
    test_sizes();
    return done();
}
