/* SPDX-License-Identifier: MIT */
/* Names and lines of kernel addresses: a search in the tables that the build links in, binary for
 * symbols, from the start for lines, which few ask for.
 *
 * Context: any, NMI included; reads constant data only, takes no lock.
 */
#include "kernel/symbols.h"

#include "arch/x86/layout.h"
#include "kernel/printf.h"
#include "kernel/string.h"

/* linker.ld, around the sections; absent or equal when the image was linked without a table. */
extern const uint32_t ksyms_start[] __attribute__((weak));
extern const uint32_t ksyms_end[] __attribute__((weak));

extern const uint32_t klines_start[] __attribute__((weak));
extern const uint32_t klines_end[] __attribute__((weak));

struct symbol_view {
    uint32_t count;
    const uint32_t *offsets;
    const uint32_t *names;
    const char *strings;
};

static struct symbol_view view_table(const uint32_t *table)
{
    uint32_t count = table[0];
    return (struct symbol_view){
        .count = count,
        .offsets = table + 1,
        .names = table + 1 + count,
        .strings = (const char *)(table + 1 + 2 * (size_t)count),
    };
}

static const uint32_t *linked_table(void)
{
    static const uint32_t none[1] = {0};
    return (uint64_t)ksyms_start < (uint64_t)ksyms_end ? ksyms_start : none;
}

/* How many symbols stand at or below offset. */
static uint32_t count_up_to(const struct symbol_view *view, uint32_t offset)
{
    uint32_t low = 0, high = view->count; /* offsets[0 … low) <= offset < offsets[high …) */

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (view->offsets[middle] <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool symbol_table_find(const uint32_t *table, uint32_t offset, const char **name, uint32_t *start)
{
    struct symbol_view view = view_table(table);
    uint32_t low = count_up_to(&view, offset);

    if (low == 0)
        return false;
    *name = view.strings + view.names[low - 1];
    *start = view.offsets[low - 1];
    return true;
}

bool symbol_table_address(const uint32_t *table, const char *name, uint32_t *offset)
{
    struct symbol_view view = view_table(table);

    for (uint32_t i = 0; i < view.count; i++)
        if (strcmp(view.strings + view.names[i], name) == 0) {
            *offset = view.offsets[i];
            return true;
        }
    return false;
}

bool symbol_find(uint64_t address, const char **name, uint64_t *offset)
{
    uint32_t start;

    if (address < (uint64_t)image_start || address >= (uint64_t)image_end)
        return false;
    if (!symbol_table_find(linked_table(), (uint32_t)(address - KERNEL_BASE), name, &start))
        return false;
    *offset = address - KERNEL_BASE - start;
    return true;
}

bool symbol_next(uint64_t address, uint64_t *start)
{
    struct symbol_view view = view_table(linked_table());
    uint32_t index = count_up_to(&view, (uint32_t)(address - KERNEL_BASE));

    if (index == view.count)
        return false;
    *start = KERNEL_BASE + view.offsets[index];
    return true;
}

bool symbol_address(const char *name, uint64_t *address)
{
    uint32_t offset;

    if (!symbol_table_address(linked_table(), name, &offset))
        return false;
    *address = KERNEL_BASE + offset;
    return true;
}

const char *symbol_format(char *out, size_t size, uint64_t address)
{
    const char *name;
    uint64_t offset;

    if (!symbol_find(address, &name, &offset))
        format_text(out, size, "0x%lx", address);
    else if (offset == 0)
        format_text(out, size, "%s", name);
    else
        format_text(out, size, "%s+0x%lx", name, offset);
    return out;
}

/* --- lines --- */

static uint64_t read_leb(const uint8_t **at)
{
    uint64_t value = 0;
    unsigned shift = 0;

    do {
        value |= (uint64_t)(**at & 0x7f) << shift;
        shift += 7;
    } while (*(*at)++ & 0x80);
    return value;
}

struct line_row {
    uint64_t offset, file;
    int64_t line;
};

static void read_row(const uint8_t **at, struct line_row *row)
{
    row->offset += read_leb(at);
    uint64_t word = read_leb(at), line = word >> 1;
    row->line += (int64_t)(line >> 1) ^ -(int64_t)(line & 1);
    if (word & 1)
        row->file = read_leb(at);
}

bool line_table_find(const uint32_t *table, uint32_t offset, const char **file, uint32_t *line)
{
    uint32_t rows = table[0], files = table[1];
    const uint32_t *names = table + 2;
    const char *strings = (const char *)(names + files + 1);
    const uint8_t *at = (const uint8_t *)strings + names[files];
    struct line_row row = {0}, found = {0};

    for (uint32_t i = 0; i < rows; i++) {
        read_row(&at, &row);
        if (row.offset > offset)
            break;
        found = row;
    }
    if (found.file == 0 || found.file >= files)
        return false;
    *file = strings + names[found.file];
    *line = (uint32_t)found.line;
    return true;
}

bool symbol_line(uint64_t address, const char **file, uint32_t *line)
{
    if (address < (uint64_t)text_start || address >= (uint64_t)text_end ||
        (uint64_t)klines_start >= (uint64_t)klines_end)
        return false;
    return line_table_find(klines_start, (uint32_t)(address - KERNEL_BASE), file, line);
}
