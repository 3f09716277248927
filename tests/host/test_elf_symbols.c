/* SPDX-License-Identifier: MIT */
/* Symbols of a program by address: in a file built in memory, and in the same one damaged.
 *
 * Files are passed in blocks of exactly their size, so that the sanitizer sees each byte too many.
 */
#include <elf.h>
#include <stdlib.h>

#include "kernel/elf_symbols.h"
#include "tests/host/random.h"
#include "tests/host/tap.h"

#define SYMBOLS 6
#define NAMES_SIZE 128

/* An ELF file of section headers, symbols and names only. */
struct file {
    Elf64_Ehdr header;
    Elf64_Shdr sections[3]; /* none, symbols, names */
    Elf64_Sym symbols[SYMBOLS + 1];
    char names[NAMES_SIZE];
};

static struct file file;

static void add_symbol(unsigned index, const char *name, uint64_t address, uint64_t size,
                       unsigned type)
{
    static size_t used = 1; /* the first name is the empty one */

    file.symbols[index] = (Elf64_Sym){.st_name = (Elf64_Word)used,
                                      .st_info = ELF64_ST_INFO(STB_GLOBAL, type),
                                      .st_shndx = 1,
                                      .st_value = address,
                                      .st_size = size};
    strcpy(file.names + used, name);
    used += strlen(name) + 1;
}

static void build(void)
{
    memcpy(file.header.e_ident, ELFMAG, SELFMAG);
    file.header.e_ident[EI_CLASS] = ELFCLASS64;
    file.header.e_ident[EI_DATA] = ELFDATA2LSB;
    file.header.e_shoff = offsetof(struct file, sections);
    file.header.e_shentsize = sizeof(Elf64_Shdr);
    file.header.e_shnum = 3;
    file.sections[1] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
                                    .sh_offset = offsetof(struct file, symbols),
                                    .sh_size = sizeof file.symbols,
                                    .sh_link = 2,
                                    .sh_entsize = sizeof(Elf64_Sym)};
    file.sections[2] = (Elf64_Shdr){
        .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct file, names), .sh_size = NAMES_SIZE};
    add_symbol(1, "main", 0x401000, 0x40, STT_FUNC);
    add_symbol(2, "label", 0x401100, 0, STT_NOTYPE);
    add_symbol(3, "work", 0x401100, 0x20, STT_FUNC);
    add_symbol(4, "data", 0x403000, 8, STT_OBJECT);
    add_symbol(5, "source.c", 0x401000, 0, STT_FILE);
    add_symbol(6, "section", 0x401000, 0, STT_SECTION);
}

static bool find_in_copy(size_t size, uint64_t address, struct elf_symbol *symbol)
{
    char *copy = malloc(size ? size : 1);

    memcpy(copy, &file, size);
    bool found = elf_symbol_find(size ? copy : copy + 1, size, address, symbol);
    free(copy);
    return found;
}

static void finds(uint64_t address, const char *name, uint64_t offset)
{
    struct elf_symbol symbol;
    bool found = find_in_copy(sizeof file, address, &symbol);

    if (!name) {
        ok(!found, "0x%" PRIx64 " has no symbol", address);
        return;
    }
    ok(found && strcmp(symbol.name, name) == 0 && symbol.offset == offset,
       "0x%" PRIx64 " is %s+0x%" PRIx64, address, name, offset);
}

static void test_lookup(void)
{
    finds(0x401000, "main", 0);
    finds(0x40103f, "main", 0x3f);
    finds(0x401040, NULL, 0);
    finds(0x401100, "work", 0);
    finds(0x401110, "work", 0x10);
    finds(0x401130, "label", 0x30); /* it has no size, so it goes on */
    finds(0x403007, "data", 7);
    finds(0x400fff, NULL, 0);
    finds(0, NULL, 0);
}

static void test_cut_off(void)
{
    struct elf_symbol symbol;
    unsigned wrong = 0;

    for (size_t size = 0; size < offsetof(struct file, names); size++)
        if (find_in_copy(size, 0x401000, &symbol))
            wrong += strlen(symbol.name) >= ELF_SYMBOL_NAME_MAX;
    ok(!find_in_copy(offsetof(struct file, sections), 0x401000, &symbol),
       "a file that is only a header has no symbols");
    is_u64(wrong, 0, "a file cut off anywhere gives none, or one with a name");
}

static bool printable(const char *text)
{
    size_t length = strnlen(text, ELF_SYMBOL_NAME_MAX);

    for (size_t i = 0; i < length; i++)
        if (text[i] > 0 && text[i] < ' ')
            return false;
    return length > 0 && length < ELF_SYMBOL_NAME_MAX;
}

static void test_damage(void)
{
    uint64_t seed = 12;
    unsigned wrong = 0, found = 0;
    const struct file whole = file;

    for (unsigned i = 0; i < 200000; i++) {
        struct elf_symbol symbol;
        size_t place = random_below(&seed, sizeof file - 8);
        uint64_t value = random_u64(&seed) >> random_below(&seed, 64);
        memcpy((char *)&file + place, &value, 1 + random_below(&seed, 8));
        if (find_in_copy(sizeof file, 0x401000 + random_below(&seed, 0x140), &symbol)) {
            found++;
            wrong += !printable(symbol.name);
        }
        file = whole;
    }
    ok(found > 0, "in files with a few bytes changed %u of 200000 look-ups find something", found);
    is_u64(wrong, 0, "always a name that can be printed");
}

int main(void)
{
    build();
    test_lookup();
    test_cut_off();
    test_damage();
    return done();
}
