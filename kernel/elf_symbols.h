/* SPDX-License-Identifier: MIT */
/* Names of a program's addresses, from the symbol table of its ELF file; the file is hostile.
 *
 * Pure: no state, no allocation, reads only [file, file + size). Also on the host.
 */
#ifndef KERNEL_ELF_SYMBOLS_H
#define KERNEL_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_SYMBOL_NAME_MAX 64

struct elf_symbol {
    char name[ELF_SYMBOL_NAME_MAX]; /* cut to fit */
    uint64_t offset;                /* of the address in it */
};

/* The function or object that contains address, else the nearest one before it in an executable
 * segment's way of speaking: the last symbol at or below. False: none, or no usable table. */
bool elf_symbol_find(const void *file, size_t size, uint64_t address, struct elf_symbol *out);

#endif
