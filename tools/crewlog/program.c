/* SPDX-License-Identifier: MIT */
/* Names of a program's addresses. Source: System V ABI, "Sections" and "Symbol Table". */
#include "tools/crewlog/program.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/hash.h"
#include "tools/crewlog/lines.h"
#include "tools/crewlog/log.h"

#define MAX_SYMBOLS 4000000
#define MAX_NESTING 32 /* symbols looked at for one address */

/* --- the symbol table --- */

static bool read_at(const struct program *program, uint64_t offset, void *out, uint64_t length)
{
    if (offset > program->size || length > program->size - offset)
        return false;
    memcpy(out, program->bytes + offset, length);
    return true;
}

static bool read_section(const struct program *program, const Elf64_Ehdr *header, uint32_t index,
                         Elf64_Shdr *out)
{
    if (index >= header->e_shnum || header->e_shentsize != sizeof(*out) ||
        header->e_shoff > program->size)
        return false;
    return read_at(program, header->e_shoff + (uint64_t)index * sizeof(*out), out, sizeof(*out));
}

static bool within(const struct program *program, const Elf64_Shdr *section)
{
    return section->sh_offset <= program->size &&
           section->sh_size <= program->size - section->sh_offset;
}

/* A name that ends within its table; NULL otherwise. */
static const char *name_at(const struct program *program, const Elf64_Shdr *names, uint32_t offset)
{
    if (offset == 0 || offset >= names->sh_size)
        return NULL;
    const char *name = (const char *)program->bytes + names->sh_offset + offset;
    return *name && memchr(name, 0, names->sh_size - offset) ? name : NULL;
}

static void add_symbol(struct program *program, const Elf64_Sym *entry, const Elf64_Shdr *names)
{
    unsigned type = ELF64_ST_TYPE(entry->st_info);
    const char *name = name_at(program, names, entry->st_name);
    if ((type != STT_NOTYPE && type != STT_OBJECT && type != STT_FUNC) || !name ||
        entry->st_shndx == SHN_UNDEF || entry->st_shndx >= SHN_LORESERVE)
        return;
    program->symbols[program->symbol_count++] = (struct symbol){
        .address = entry->st_value,
        .size = entry->st_size,
        .name = name,
        .object = type == STT_OBJECT,
    };
}

/* Of several at one address the largest comes last: it says most. */
static int compare_symbols(const void *left, const void *right)
{
    const struct symbol *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void read_symbols(struct program *program, const Elf64_Ehdr *header)
{
    Elf64_Shdr table = {0}, names;
    Elf64_Sym entry;
    for (uint32_t i = 0; read_section(program, header, i, &table); i++)
        if (table.sh_type == SHT_SYMTAB)
            break;
    if (table.sh_type != SHT_SYMTAB || table.sh_entsize != sizeof(entry) ||
        !read_section(program, header, table.sh_link, &names) || !within(program, &table) ||
        !within(program, &names))
        return;
    uint64_t count = table.sh_size / sizeof(entry);
    if (count > MAX_SYMBOLS)
        count = MAX_SYMBOLS;
    program->symbols = grow(NULL, count + 1, sizeof(program->symbols[0]));
    for (uint64_t i = 0; i < count; i++)
        if (read_at(program, table.sh_offset + i * sizeof(entry), &entry, sizeof(entry)))
            add_symbol(program, &entry, &names);
    qsort(program->symbols, program->symbol_count, sizeof(program->symbols[0]), compare_symbols);
}

/* --- opening --- */

static void check_program(const struct program *program, const struct log_header *header,
                          bool force)
{
    struct hash hash;
    uint8_t digest[sizeof(header->program_hash)];
    hash_init(&hash, sizeof(digest));
    hash_update(&hash, program->bytes, program->size);
    hash_final(&hash, digest);
    if (memcmp(digest, header->program_hash, sizeof(digest)) == 0)
        return;
    if (!force)
        die("%s is not the program that was recorded (its hash differs); --force takes it",
            program->name);
    warn("%s is not the program that was recorded: names may be wrong", program->name);
}

void program_open(struct program *program, const char *name, const struct log_header *header,
                  bool force)
{
    Elf64_Ehdr elf;
    memset(program, 0, sizeof(*program));
    program->line_socket = -1;
    if (!name)
        return;
    program->name = name;
    program->bytes = file_map(name, &program->size);
    if (!read_at(program, 0, &elf, sizeof(elf)) || memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
        elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_ident[EI_DATA] != ELFDATA2LSB)
        die("%s: not an ELF64 file", name);
    check_program(program, header, force);
    read_symbols(program, &elf);
    if (program->symbol_count == 0)
        warn("%s has no symbols", name);
    lines_open(program);
}

void program_close(struct program *program)
{
    lines_close(program);
    free(program->symbols);
    file_unmap(program->bytes, program->size);
}

/* --- looking up --- */

/* How many symbols begin at or below the address. */
static uint64_t count_up_to(const struct program *program, uint64_t address)
{
    uint64_t low = 0, high = program->symbol_count;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (program->symbols[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct symbol *program_find(const struct program *program, uint64_t address)
{
    uint64_t index = count_up_to(program, address);
    for (unsigned i = 0; i < MAX_NESTING && index > 0; i++) {
        const struct symbol *symbol = &program->symbols[--index];
        if (symbol->size == 0 || address - symbol->address < symbol->size)
            return symbol;
    }
    return NULL;
}

/* Names come from the file: what could harm a terminal is replaced. */
static void copy_name(char *out, unsigned size, const char *name)
{
    unsigned i = 0;
    for (; name[i] && i + 1 < size; i++)
        out[i] = (uint8_t)name[i] <= ' ' || name[i] == 127 ? '?' : name[i];
    out[i] = 0;
}

const char *program_symbol(const struct program *program, uint64_t address, char *out,
                           unsigned size)
{
    const struct symbol *symbol = program_find(program, address);
    char name[128];
    if (!symbol) {
        snprintf(out, size, "0x%" PRIx64, address);
        return out;
    }
    copy_name(name, sizeof(name), symbol->name);
    snprintf(out, size, "%s+0x%" PRIx64, name, address - symbol->address);
    return out;
}

const struct symbol *program_next_object(const struct program *program, uint64_t start,
                                         uint64_t end, uint64_t *index)
{
    for (; *index < program->symbol_count; ++*index) {
        const struct symbol *symbol = &program->symbols[*index];
        if (symbol->address >= end)
            return NULL;
        if (symbol->object && (symbol->address >= start || start - symbol->address < symbol->size))
            return &program->symbols[(*index)++];
    }
    return NULL;
}
