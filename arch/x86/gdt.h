/* SPDX-License-Identifier: MIT */
/* GDT, TSS and IST stacks of each CPU.
 */
#ifndef ARCH_X86_GDT_H
#define ARCH_X86_GDT_H

#include <stdbool.h>
#include <stdint.h>
#include "arch/x86/cpu.h"
#include "arch/x86/layout.h"
#include "arch/x86/vectors.h"

struct tss {
    uint32_t reserved0;
    uint64_t rsp[3];
    uint64_t reserved1;
    uint64_t ist[7]; /* ist[n - 1] for IST_* n */
    uint64_t reserved2;
    uint16_t reserved3;
    uint16_t iomap_base;
} __attribute__((packed));
_Static_assert(sizeof(struct tss) == 104, "Intel SDM vol. 3, figure 8-11");

#define GDT_ENTRIES 7 /* null, kernel code, data, user data, code, TSS (two) */
#define IST_COUNT 4

/* The CPU pushes its frame into the landing zone at the low end of an IST stack; entry.asm copies
 * it to where it can stay (see there). */
#define IST_LANDING_SIZE 128

/* Owner CPU only. */
struct cpu_arch {
    uint64_t gdt[GDT_ENTRIES];
    struct tss tss;
    uint8_t *ist_stacks[IST_COUNT + 1]; /* lowest addresses, by IST_*; [0] unused */
} __attribute__((aligned(64)));

/* Boot CPU: with static stacks, before memory management runs. */
void gdt_prepare_boot_cpu(struct cpu *cpu);
/* Gives *cpu GDT, TSS and guarded IST stacks; on any CPU, before gdt_load() there. For the boot CPU
 * it only exchanges the stacks. False when memory has run out. */
bool gdt_prepare_cpu(struct cpu *cpu);
void gdt_load(struct cpu *cpu); /* on the CPU itself */

#endif
