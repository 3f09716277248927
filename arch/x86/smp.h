/* SPDX-License-Identifier: MIT */
/* Starting the other CPUs.
 */
#ifndef ARCH_X86_SMP_H
#define ARCH_X86_SMP_H

#include <stdint.h>

/* Boot CPU, once, with clock, APIC, paging and interrupts in order. Starts the CPUs that ACPI lists
 * one after the other; one that does not come is reported and left out. */
void smp_start_all(void);

/* The first bytes of the page a CPU starts in (boot/trampoline.asm): the starting CPU finds here
 * what the boot CPU put down for it. */
struct trampoline {
    uint8_t jump[8];
    uint32_t ticket; /* 1: for the CPU that takes it (by an exchange with 0); 0: halt */
    uint32_t efer;
    uint32_t root;     /* CR3 */
    uint32_t far_base; /* physical address of 64-bit code, then its selector */
    uint16_t far_selector;
    uint16_t gdt_limit;
    uint32_t gdt_base;
    uint64_t stack_top;
    uint64_t cpu;   /* struct cpu: GS base */
    uint64_t entry; /* smp_cpu_entry */
    uint64_t gdt[3];
};
_Static_assert(sizeof(struct trampoline) == 80, "no padding: the trampoline knows the layout");

#endif
