/* SPDX-License-Identifier: MIT */
/* Reading a linked kernel: see tools/elf_image.h. */
#include "tools/elf_image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void fail(const char *path, const char *why)
{
    fprintf(stderr, "%s: %s\n", path, why);
    exit(1);
}

struct image image_read(const char *path)
{
    struct image image = {.path = path};
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        fail(path, "cannot be opened");
    long size = ftell(file);
    if (size < (long)sizeof(Elf64_Ehdr))
        fail(path, "too short for an ELF file");
    rewind(file);
    image.size = (size_t)size;
    image.bytes = malloc(image.size);
    if (!image.bytes || fread(image.bytes, 1, image.size, file) != image.size)
        fail(path, "cannot be read");
    fclose(file);
    return image;
}

const void *image_part(const struct image *image, uint64_t offset, uint64_t size)
{
    if (offset > image->size || size > image->size - offset)
        fail(image->path, "a section lies outside of the file");
    return image->bytes + offset;
}

const Elf64_Shdr *image_sections(const struct image *image, unsigned *count)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)image->bytes;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_ident[EI_DATA] != ELFDATA2LSB)
        fail(image->path, "not a little-endian 64-bit ELF file");
    if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shoff % 8 != 0)
        fail(image->path, "bad section headers");
    *count = header->e_shnum;
    return image_part(image, header->e_shoff, (uint64_t)*count * sizeof(Elf64_Shdr));
}

const void *image_section(const struct image *image, const char *name, size_t *size)
{
    unsigned count;
    const Elf64_Shdr *sections = image_sections(image, &count);
    unsigned names = ((const Elf64_Ehdr *)image->bytes)->e_shstrndx;
    *size = 0;
    if (names >= count)
        fail(image->path, "no names of sections");
    const Elf64_Shdr *strings = &sections[names];
    const char *text = image_part(image, strings->sh_offset, strings->sh_size);
    for (unsigned i = 0; i < count; i++) {
        size_t left = sections[i].sh_name < strings->sh_size
                          ? (size_t)(strings->sh_size - sections[i].sh_name)
                          : 0;
        if (strlen(name) >= left || strcmp(text + sections[i].sh_name, name) != 0)
            continue;
        *size = sections[i].sh_size;
        return image_part(image, sections[i].sh_offset, sections[i].sh_size);
    }
    return NULL;
}

FILE *create_file(const char *path)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        fail(path, "cannot be written");
    return file;
}

void put_word(FILE *file, uint32_t word)
{
    uint8_t bytes[4] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16),
                        (uint8_t)(word >> 24)};
    fwrite(bytes, 1, sizeof bytes, file);
}
