/* SPDX-License-Identifier: MIT */
/* I/O APICs, beside what apic.h says. */
#ifndef ARCH_X86_IOAPIC_H
#define ARCH_X86_IOAPIC_H

/* Boot CPU, after acpi_init(): maps the I/O APICs and masks every input. */
void ioapic_init(void);

#endif
