/* SPDX-License-Identifier: MIT */
/* The IDT that all CPUs share, and copies of it.
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

/* For a CPU that is to use one of its own: copies the shared IDT to IDT_SIZE bytes, changes an
 * entry there, loads it on this CPU. Later changes of the shared one do not get there. */
#define IDT_SIZE (16 * IDT_ENTRIES)
void idt_copy(void *table);
void idt_set_entry_in(void *table, unsigned vector, uint64_t address);
void idt_load_table(const void *table);
const void *idt_loaded(void); /* the one that this CPU uses */
const void *idt_shared(void);

#endif
