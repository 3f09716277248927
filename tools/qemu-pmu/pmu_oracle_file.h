/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the oracle's file (tools/oracle/format.h). Any thread; what cannot be written ends QEMU.
 */
#ifndef TOOLS_QEMU_PMU_PMU_ORACLE_FILE_H
#define TOOLS_QEMU_PMU_PMU_ORACLE_FILE_H

#include <stdbool.h>

#include "tools/oracle/format.h"

/* False, with a message: it cannot be created. */
bool oracle_file_open(const char *name, uint64_t step);
void oracle_file_write(const struct oracle_record *record, const struct oracle_entry *entries);
void oracle_file_close(void);

#endif
