/* SPDX-License-Identifier: MIT */
/* Writes the kernel's own symbol table from a linked kernel, to be linked in again.
 *
 *   ksyms KERNEL.elf OUT.bin       writes the table
 *   ksyms --same A.elf B.elf       fails, naming the first difference, unless both tables are equal
 *
 * The layout is the one of kernel/symbols.h: count, offsets[count] from the kernel's base,
 * ascending, names[count], strings; all little-endian 32-bit. Of several names for one address the
 * best stands last, where symbol_find() looks: functions and objects after plain labels, global
 * ones after local ones. NASM's local labels (`name.part`, untyped) are left out, so that an
 * address inside of a function is named after the function.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/elf_image.h"

struct symbol {
    uint32_t offset;
    unsigned preference;
    const char *name;
};

struct table {
    struct symbol *symbols;
    uint32_t count;
};

static bool symbol_wanted(const Elf64_Sym *symbol, const char *name)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS)
        return false; /* constants of linker.ld among them */
    if (type == STT_SECTION || type == STT_FILE)
        return false;
    if (symbol->st_value < KERNEL_BASE || !name[0] ||
        name[0] == '.') /* labels of NASM macros: ..@17.site */
        return false;
    return type != STT_NOTYPE || !strchr(name, '.');
}

static int symbol_compare(const void *left_pointer, const void *right_pointer)
{
    const struct symbol *left = left_pointer, *right = right_pointer;
    if (left->offset != right->offset)
        return left->offset < right->offset ? -1 : 1;
    if (left->preference != right->preference)
        return left->preference < right->preference ? -1 : 1;
    return strcmp(left->name, right->name);
}

static struct table table_collect(const struct image *image)
{
    unsigned section_count;
    const Elf64_Shdr *sections = image_sections(image, &section_count);
    const Elf64_Shdr *symtab = NULL;
    for (unsigned i = 0; i < section_count; i++)
        if (sections[i].sh_type == SHT_SYMTAB)
            symtab = &sections[i];
    if (!symtab || symtab->sh_link >= section_count || symtab->sh_offset % 8 != 0)
        fail(image->path, "no symbol table");

    const Elf64_Shdr *strtab = &sections[symtab->sh_link];
    const char *strings = image_part(image, strtab->sh_offset, strtab->sh_size);
    if (strtab->sh_size == 0 || strings[strtab->sh_size - 1] != 0)
        fail(image->path, "bad string table");
    const Elf64_Sym *symbols = image_part(image, symtab->sh_offset, symtab->sh_size);
    size_t count = symtab->sh_size / sizeof(Elf64_Sym);

    struct table table = {.symbols = calloc(count + 1, sizeof(struct symbol))};
    if (!table.symbols)
        fail(image->path, "out of memory");
    for (size_t i = 0; i < count; i++) {
        if (symbols[i].st_name >= strtab->sh_size)
            fail(image->path, "a symbol's name lies outside of the string table");
        const char *name = strings + symbols[i].st_name;
        if (!symbol_wanted(&symbols[i], name))
            continue;
        bool typed = ELF64_ST_TYPE(symbols[i].st_info) != STT_NOTYPE;
        bool global = ELF64_ST_BIND(symbols[i].st_info) != STB_LOCAL;
        table.symbols[table.count++] = (struct symbol){
            .offset = (uint32_t)(symbols[i].st_value - KERNEL_BASE),
            .preference = 2u * typed + global,
            .name = name,
        };
    }
    qsort(table.symbols, table.count, sizeof table.symbols[0], symbol_compare);
    return table;
}

static void table_write(const struct table *table, const char *path)
{
    FILE *file = create_file(path);
    put_word(file, table->count);
    for (uint32_t i = 0; i < table->count; i++)
        put_word(file, table->symbols[i].offset);
    uint32_t name_at = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        put_word(file, name_at);
        name_at += (uint32_t)strlen(table->symbols[i].name) + 1;
    }
    for (uint32_t i = 0; i < table->count; i++)
        fwrite(table->symbols[i].name, 1, strlen(table->symbols[i].name) + 1, file);
    if (ferror(file) || fclose(file) != 0)
        fail(path, "cannot be written");
}

static void tables_compare(const struct table *left, const struct table *right, const char *path)
{
    for (uint32_t i = 0; i < left->count || i < right->count; i++) {
        if (i < left->count && i < right->count &&
            left->symbols[i].offset == right->symbols[i].offset &&
            strcmp(left->symbols[i].name, right->symbols[i].name) == 0)
            continue;
        const struct symbol *other = i < right->count ? &right->symbols[i] : &left->symbols[i];
        fprintf(stderr, "ksyms: symbols moved: entry %" PRIu32 ", %s+0x%" PRIx32 "\n", i,
                other->name, other->offset);
        fail(path, "its symbol table does not describe it");
    }
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--same") == 0) {
        struct image left = image_read(argv[2]), right = image_read(argv[3]);
        struct table left_table = table_collect(&left), right_table = table_collect(&right);
        tables_compare(&left_table, &right_table, argv[3]);
        return 0;
    }
    if (argc != 3) {
        fprintf(stderr, "usage: ksyms KERNEL.elf OUT.bin | ksyms --same A.elf B.elf\n");
        return 2;
    }
    struct image image = image_read(argv[1]);
    struct table table = table_collect(&image);
    if (table.count == 0)
        fail(argv[1], "no kernel symbols");
    table_write(&table, argv[2]);
    return 0;
}
