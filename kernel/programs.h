/* SPDX-License-Identifier: MIT */
/* The archive of programs that the boot loader passed as the first module. */
#ifndef KERNEL_PROGRAMS_H
#define KERNEL_PROGRAMS_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/ustar.h"

struct process;

/* Moves nothing: the module stays where it is, out of the allocator's reach. Says on the console
 * what is wrong with a missing or damaged archive; then there are no programs. */
void programs_init(uint64_t physical_start, uint64_t physical_end);

int programs_find(const char *name, struct ustar_file *file); /* ERR_NOT_FOUND, ERR_BAD_ARCHIVE */

/* "racey_work+0x1b" for an address of a program in the archive, "" when it has no symbol. Returns
 * out. */
const char *programs_symbol(char *out, size_t size, const char *program, uint64_t address);

typedef void program_function(const struct ustar_file *file, void *argument);
int programs_for_each(program_function *function, void *argument);

#endif
