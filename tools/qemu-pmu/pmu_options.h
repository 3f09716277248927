/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plugin's options: `-plugin qemu-pmu.so,skid=20,broken=zero`. Pure. README.md lists them. */
#ifndef TOOLS_QEMU_PMU_PMU_OPTIONS_H
#define TOOLS_QEMU_PMU_PMU_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/qemu-pmu/pmu_model.h"

struct pmu_options {
    struct pmu_config config;
    bool verbose;
    const char *oracle; /* file; NULL: none */
    uint64_t oracle_step;
    const char *lbr_trace; /* file; NULL: none */
};

/* Reads `count` options of the form name=value. False: *error says which one is wrong and why. */
bool pmu_parse_options(struct pmu_options *options, int count, char *const arguments[], char *error,
                       size_t error_size);

#endif
