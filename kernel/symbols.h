/* SPDX-License-Identifier: MIT */
/* Names and source lines of kernel addresses, from the tables that the build links in (sections
 * .ksyms and .klines). */
#ifndef KERNEL_SYMBOLS_H
#define KERNEL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Layout written by tools/ksyms and linked in from ksyms_start to ksyms_end (linker.ld):
 *   uint32_t count; uint32_t offsets[count] from KERNEL_BASE, ascending; uint32_t names[count],
 * byte offsets into the string table that follows. An image linked without it has count 0. */

/* The function or object that contains address (the last symbol at or below it within the image).
 */
bool symbol_find(uint64_t address, const char **name, uint64_t *offset);
/* The first symbol above address; false when there is none. */
bool symbol_next(uint64_t address, uint64_t *start);
bool symbol_address(const char *name, uint64_t *address);

/* The same on any table of that layout, offsets from KERNEL_BASE. */
bool symbol_table_find(const uint32_t *table, uint32_t offset, const char **name, uint32_t *start);
bool symbol_table_address(const uint32_t *table, const char *name, uint32_t *offset);

/* Layout written by tools/klines, from klines_start to klines_end: uint32_t rows, files,
 * names[files] (byte offsets into the strings), length of the strings; the strings; then the rows,
 * by ascending offset, each as the difference to the one before (at first 0, file 0, line 0), in
 * LEB128: offset; zigzag of the line << 1 | whether another file follows; that file. Valid up to
 * the next row; file 0: no code. */
bool line_table_find(const uint32_t *table, uint32_t offset, const char **file, uint32_t *line);

/* Where the code at address was compiled from. */
bool symbol_line(uint64_t address, const char **file, uint32_t *line);

/* "crew_fault+0x12" or "0xffff…". Returns out. */
const char *symbol_format(char *out, size_t size, uint64_t address);

#endif
