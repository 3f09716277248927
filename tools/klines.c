/* SPDX-License-Identifier: MIT */
/* Writes the kernel's own line table from a linked kernel with debugging information.
 *
 *   klines KERNEL.elf OUT.bin
 *
 * The layout is that of kernel/symbols.h. Only code of the upper half is in it.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/dwarf_lines.h"

#define FILE_NAME_ROOM 256
#define MAX_ROWS (1u << 20)

/* --- what is collected --- */

struct row {
    uint32_t offset, file, line; /* file 0: no code from here on */
    uint32_t number;             /* in the order in which they were read */
};

static struct row rows[MAX_ROWS];
static size_t row_count;
static char file_texts[LINES_MAX_FILES][FILE_NAME_ROOM];
static const char *file_names[LINES_MAX_FILES] = {""}; /* without directories "." */
static uint32_t file_count = 1;

void lines_add_row(uint64_t address, uint32_t file, uint64_t line)
{
    if (address < KERNEL_BASE)
        return;
    if (row_count == MAX_ROWS)
        fail("klines", "too many rows");
    rows[row_count] =
        (struct row){(uint32_t)(address - KERNEL_BASE), file, (uint32_t)line, (uint32_t)row_count};
    row_count++;
}

uint32_t lines_add_file(const char *path, const char *directory, const char *name)
{
    char *text = file_texts[file_count < LINES_MAX_FILES ? file_count : 0];
    bool plain = name[0] == '/' || !directory || !directory[0] || strcmp(directory, ".") == 0;
    if (file_count == LINES_MAX_FILES)
        fail(path, "too many source files");
    snprintf(text, sizeof file_texts[0], "%s%s%s", plain ? "" : directory, plain ? "" : "/", name);
    const char *start = strncmp(text, "./", 2) == 0 ? text + 2 : text;
    for (uint32_t i = 1; i < file_count; i++)
        if (strcmp(file_names[i], start) == 0)
            return i;
    file_names[file_count] = start;
    return file_count++;
}

/* --- the table --- */

/* Of several rows for one address the last counts; an end of code only if nothing begins there. */
static int compare_rows(const void *left_pointer, const void *right_pointer)
{
    const struct row *left = left_pointer, *right = right_pointer;
    if (left->offset != right->offset)
        return left->offset < right->offset ? -1 : 1;
    if ((left->file == 0) != (right->file == 0))
        return left->file == 0 ? -1 : 1;
    return left->number < right->number ? -1 : 1;
}

static size_t drop_repeated(void)
{
    size_t kept = 0;
    for (size_t i = 0; i < row_count; i++) {
        if (i + 1 < row_count && rows[i + 1].offset == rows[i].offset)
            continue;
        if (kept && rows[kept - 1].file == rows[i].file && rows[kept - 1].line == rows[i].line)
            continue;
        rows[kept++] = rows[i];
    }
    return kept;
}

/* Numbers only the files that have code; 0 stays 0. */
static void renumber_files(size_t count)
{
    static uint32_t numbers[LINES_MAX_FILES];
    uint32_t used = 1;
    for (size_t i = 0; i < count; i++) {
        uint32_t *number = &numbers[rows[i].file];
        if (rows[i].file && !*number)
            *number = used++;
        rows[i].file = *number;
    }
    static const char *names[LINES_MAX_FILES];
    for (uint32_t i = 0; i < file_count; i++)
        names[numbers[i]] = file_names[i];
    names[0] = "";
    memcpy(file_names, names, sizeof file_names);
    file_count = used;
}

static void put_leb(FILE *file, uint64_t value)
{
    for (; value > 0x7f; value >>= 7)
        fputc((int)(0x80 | (value & 0x7f)), file);
    fputc((int)value, file);
}

static uint64_t zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

static void write_rows(FILE *file, size_t count)
{
    struct row last = {0};
    for (size_t i = 0; i < count; i++) {
        bool other = rows[i].file != last.file;
        put_leb(file, rows[i].offset - last.offset);
        put_leb(file, zigzag((int64_t)rows[i].line - last.line) << 1 | other);
        if (other)
            put_leb(file, rows[i].file);
        last = rows[i];
    }
}

static void write_table(const char *path, size_t count)
{
    FILE *file = create_file(path);
    uint32_t name_at = 0;
    put_word(file, (uint32_t)count);
    put_word(file, file_count);
    for (uint32_t i = 0; i < file_count; i++) {
        put_word(file, name_at);
        name_at += (uint32_t)strlen(file_names[i]) + 1;
    }
    put_word(file, name_at);
    for (uint32_t i = 0; i < file_count; i++)
        fwrite(file_names[i], 1, strlen(file_names[i]) + 1, file);
    write_rows(file, count);
    if (ferror(file) || fclose(file) != 0)
        fail(path, "cannot be written");
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: klines KERNEL.elf OUT.bin\n");
        return 2;
    }
    struct image image = image_read(argv[1]);
    dwarf_lines_read(&image);
    qsort(rows, row_count, sizeof rows[0], compare_rows);
    size_t count = drop_repeated();
    renumber_files(count);
    write_table(argv[2], count);
    return 0;
}
