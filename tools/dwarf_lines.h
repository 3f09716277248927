/* SPDX-License-Identifier: MIT */
/* Reading the line information of a linked program: DWARF 2 to 5, 32-bit format. */
#ifndef TOOLS_DWARF_LINES_H
#define TOOLS_DWARF_LINES_H

#include "tools/elf_image.h"

#define LINES_MAX_FILES 4096

/* Calls lines_add_row() for each row of each unit, in the file's order. */
void dwarf_lines_read(const struct image *image);

/* --- what it is read into: the program's --- */

uint32_t lines_add_file(const char *path, const char *directory, const char *name); /* its number */
void lines_add_row(uint64_t address, uint32_t file, uint64_t line); /* file 0: no code from here */

#endif
