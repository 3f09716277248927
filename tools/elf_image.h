/* SPDX-License-Identifier: MIT */
/* Reading a linked kernel on the host: what the tools that make tables of it have in common. All of
 * it ends the program with a message when the file is not what it should be. */
#ifndef TOOLS_ELF_IMAGE_H
#define TOOLS_ELF_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define KERNEL_BASE 0xffffffff80000000ull /* arch/x86/layout.h */

struct image {
    const char *path;
    uint8_t *bytes;
    size_t size;
};

_Noreturn void fail(const char *path, const char *why);
struct image image_read(const char *path);

/* The bytes [offset, offset + size) of the file, checked. */
const void *image_part(const struct image *image, uint64_t offset, uint64_t size);
const Elf64_Shdr *image_sections(const struct image *image, unsigned *count);
const void *image_section(const struct image *image, const char *name, size_t *size); /* or NULL */

FILE *create_file(const char *path);
void put_word(FILE *file, uint32_t word); /* little-endian */

#endif
