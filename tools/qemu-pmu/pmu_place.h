/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a vCPU is. */
#ifndef TOOLS_QEMU_PMU_PMU_PLACE_H
#define TOOLS_QEMU_PMU_PMU_PLACE_H

#include <stdbool.h>
#include <stdint.h>

struct pmu_place {
    uint64_t address; /* linear: 57 bits and their sign */
    bool user;        /* CPL > 0 */
};

#endif
