/* SPDX-License-Identifier: MIT */
/* The local APIC's registers, the same in xAPIC and x2APIC mode.
 *
 * Context: any, NMI included, after apic_init(). Always those of the CPU that asks. The interrupt
 * command register is apic.c's own.
 * Source: Intel SDM vol. 3, tables 12-1 and 12-6.
 */
#ifndef ARCH_X86_APIC_REGISTERS_H
#define ARCH_X86_APIC_REGISTERS_H

#include <stdint.h>

/* Offsets of xAPIC mode; the MSR of x2APIC mode is MSR_X2APIC_BASE + offset / 16. */
enum apic_register {
    APIC_ID = 0x020,
    APIC_VERSION = 0x030,
    APIC_TASK_PRIORITY = 0x080,
    APIC_EOI = 0x0b0,
    APIC_SPURIOUS = 0x0f0,
    APIC_IN_SERVICE = 0x100, /* eight registers */
    APIC_ERROR_STATUS = 0x280,
    APIC_LVT_CMCI = 0x2f0,
    APIC_COMMAND_LOW = 0x300,
    APIC_COMMAND_HIGH = 0x310, /* xAPIC only */
    APIC_LVT_TIMER = 0x320,
    APIC_LVT_THERMAL = 0x330,
    APIC_LVT_COUNTER = 0x340, /* performance-counter overflow */
    APIC_LVT_LINT0 = 0x350,
    APIC_LVT_LINT1 = 0x360,
    APIC_LVT_ERROR = 0x370,
    APIC_TIMER_INITIAL = 0x380,
    APIC_TIMER_CURRENT = 0x390,
    APIC_TIMER_DIVIDE = 0x3e0,
};

#define APIC_VERSION_MAX_LVT(version) ((version) >> 16 & 0xff)
#define APIC_SPURIOUS_ENABLE (1u << 8)
#define APIC_DELIVERY_FIXED (0u << 8)
#define APIC_DELIVERY_NMI (4u << 8)
#define APIC_DELIVERY_INIT (5u << 8)
#define APIC_DELIVERY_STARTUP (6u << 8)
#define APIC_COMMAND_PENDING (1u << 12) /* xAPIC only */
#define APIC_COMMAND_ASSERT (1u << 14)
#define APIC_LVT_MASKED (1u << 16)
#define APIC_LVT_TIMER_DEADLINE (2u << 17)
#define APIC_TIMER_DIVIDE_BY_16 3u

uint32_t apic_read(enum apic_register which);
void apic_write(enum apic_register which, uint32_t value);

#endif
