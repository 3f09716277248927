/* SPDX-License-Identifier: MIT */
/* Features and control registers as the start of further CPUs needs them; the rest is in cpu.h.
 */
#ifndef ARCH_X86_CPU_FEATURES_H
#define ARCH_X86_CPU_FEATURES_H

#include <stddef.h>
#include <stdint.h>

/* Compares this CPU with the boot CPU: NULL, or the name of the first feature that differs. */
const char *cpu_features_compare(void);

/* EFER as every CPU has it. */
uint32_t cpu_control_efer(void);

#endif
