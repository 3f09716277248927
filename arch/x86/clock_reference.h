/* SPDX-License-Identifier: MIT */
/* A clock of known frequency, to calibrate others against: HPET, ACPI PM timer or PIT.
 *
 * Boot CPU during boot only, after acpi_init().
 */
#ifndef ARCH_X86_CLOCK_REFERENCE_H
#define ARCH_X86_CLOCK_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

struct clock_reference {
    const char *name;
    uint64_t hz;
    void (*start)(void);
    /* Ticks since start(). False when the counter may have wrapped since: start again. */
    bool (*read)(uint64_t *ticks);
};

/* The best one that exists and was seen to run; panics when there is none. */
const struct clock_reference *clock_reference_find(void);

#endif
