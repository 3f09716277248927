/* SPDX-License-Identifier: MIT */
/* Looking up symbols in an ELF64 file in memory. Source: System V ABI, "Symbol Table". */
#include "kernel/elf_symbols.h"

#include "kernel/string.h"

#define SECTION_SYMTAB 2
#define TYPE_NOTYPE 0
#define TYPE_OBJECT 1
#define TYPE_FUNCTION 2

struct file_header {
    uint8_t identification[16];
    uint16_t type, machine;
    uint32_t version;
    uint64_t entry, program_offset, section_offset;
    uint32_t flags;
    uint16_t header_size, program_size, program_count;
    uint16_t section_size, section_count, section_names;
};

struct section_header {
    uint32_t name, type;
    uint64_t flags, address, offset, size;
    uint32_t link, info;
    uint64_t alignment, entry_size;
};

struct symbol {
    uint32_t name;
    uint8_t info, other;
    uint16_t section;
    uint64_t value, size;
};

_Static_assert(sizeof(struct file_header) == 64, "ELF64");
_Static_assert(sizeof(struct section_header) == 64, "ELF64");
_Static_assert(sizeof(struct symbol) == 24, "ELF64");

struct image {
    const uint8_t *bytes;
    size_t size;
};

static bool read_at(const struct image *image, uint64_t offset, void *out, size_t length)
{
    if (offset > image->size || length > image->size - offset)
        return false;
    memcpy(out, image->bytes + offset, length);
    return true;
}

static bool read_section(const struct image *image, const struct file_header *header,
                         uint32_t index, struct section_header *out)
{
    if (index >= header->section_count || header->section_size != sizeof(*out) ||
        header->section_offset > image->size)
        return false;
    return read_at(image, header->section_offset + (uint64_t)index * sizeof(*out), out,
                   sizeof(*out));
}

static bool find_tables(const struct image *image, struct section_header *symbols,
                        struct section_header *names)
{
    struct file_header header;
    if (!read_at(image, 0, &header, sizeof(header)) ||
        memcmp(header.identification, "\177ELF\2\1", 6) != 0)
        return false;
    for (uint32_t i = 0; read_section(image, &header, i, symbols); i++)
        if (symbols->type == SECTION_SYMTAB)
            return symbols->entry_size == sizeof(struct symbol) &&
                   read_section(image, &header, symbols->link, names);
    return false;
}

static bool describes(const struct symbol *symbol, uint64_t address)
{
    unsigned type = symbol->info & 15;
    return (type == TYPE_NOTYPE || type == TYPE_OBJECT || type == TYPE_FUNCTION) &&
           symbol->section != 0 && symbol->value <= address && symbol->name != 0 &&
           (symbol->size == 0 || address - symbol->value < symbol->size);
}

static void copy_name(const struct image *image, const struct section_header *names,
                      uint32_t offset, char *out)
{
    size_t used = 0;
    char byte = 1;
    while (used < ELF_SYMBOL_NAME_MAX - 1 && offset + used < names->size && byte) {
        if (!read_at(image, names->offset + offset + used, &byte, 1))
            break;
        if (byte)
            out[used++] = byte < ' ' ? '?' : byte;
    }
    out[used] = 0;
}

bool elf_symbol_find(const void *file, size_t size, uint64_t address, struct elf_symbol *out)
{
    const struct image image = {.bytes = file, .size = size};
    struct section_header symbols, names;
    struct symbol symbol, best = {0};
    bool found = false;
    if (!find_tables(&image, &symbols, &names) || names.offset > size || symbols.offset > size)
        return false;
    for (uint64_t at = 0; at + sizeof(symbol) <= symbols.size; at += sizeof(symbol)) {
        if (!read_at(&image, symbols.offset + at, &symbol, sizeof(symbol)))
            break;
        /* Of several at one address a sized one says most. */
        if (describes(&symbol, address) &&
            (!found || symbol.value > best.value ||
             (symbol.value == best.value && symbol.size > best.size))) {
            best = symbol;
            found = true;
        }
    }
    if (!found)
        return false;
    copy_name(&image, &names, best.name, out->name);
    out->offset = address - best.value;
    return out->name[0] != 0;
}
