/* SPDX-License-Identifier: MIT */
/* The IDT that all CPUs share.
 */
#ifndef ARCH_X86_IDT_H
#define ARCH_X86_IDT_H

#include <stdint.h>

#define IDT_ENTRIES 256

void idt_init(void); /* boot CPU */
void idt_load(void); /* on every CPU */

/* The entry that a vector has by default (the stub in entry.asm), and the one it has now. */
uint64_t idt_default_entry(unsigned vector);
uint64_t idt_current_entry(unsigned vector);

/* Exchanges the entry of a vector in one 8-byte store, while CPUs may be taking it: so the address
 * must lie in the same 4 GiB as the stubs, i.e. in the kernel image. */
void idt_set_entry(unsigned vector, uint64_t address);

#endif
