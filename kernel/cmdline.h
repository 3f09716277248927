/* SPDX-License-Identifier: MIT */
/* The kernel command line: words `key=value` or `key`; a value may be quoted "…" (run="a; b"). */
#ifndef KERNEL_CMDLINE_H
#define KERNEL_CMDLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void cmdline_init(const char *text); /* kept, not copied */
const char *cmdline_text(void);

/* The value of the last `key=…`; false when the key is not there. A bare `key` gives "". */
bool cmdline_get(const char *key, char *value, size_t size);
bool cmdline_has(const char *key);

/* A number as string_to_u64 reads it; the default when absent. A value that is no number is
 * reported on the console by name, and the default is used. */
uint64_t cmdline_number(const char *key, uint64_t otherwise);

#endif
