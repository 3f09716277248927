/* SPDX-License-Identifier: MIT */
/* The IDT that all CPUs share: 256 interrupt gates, filled from the vector table. A CPU may use a
 * copy instead (arch/x86/lbr.c).
 *
 * All gates turn interrupts off. Only `int3` and `int 4` may be raised by ring 3; any other `int n`
 * there is a #GP. Locks: none; a copy is its CPU's own.
 */
#include "arch/x86/idt.h"

#include "arch/x86/layout.h"
#include "arch/x86/vectors.h"
#include "kernel/panic.h"

struct gate {
    uint16_t offset_low;
    uint16_t selector;
    uint8_t ist;
    uint8_t type;
    uint16_t offset_middle;
    uint32_t offset_high;
    uint32_t reserved;
};
_Static_assert(sizeof(struct gate) == 16, "Intel SDM vol. 3, figure 6-8");
_Static_assert(sizeof(struct gate) * IDT_ENTRIES == IDT_SIZE, "arch/x86/idt.h");

struct idt_pointer {
    uint16_t limit;
    uint64_t base;
} __attribute__((packed));

#define GATE_INTERRUPT 0x8e
#define GATE_DPL3 0x60

extern const uint64_t vector_stubs[IDT_ENTRIES]; /* entry.asm */

static struct gate idt[IDT_ENTRIES] __attribute__((aligned(4096)));

static uint8_t vector_ist(unsigned vector)
{
    switch (vector) {
#define V(number, name, mnemonic, description, has_error, ist)                                     \
    case number:                                                                                   \
        return ist;
        VECTOR_TABLE(V)
#undef V
    default:
        return 0;
    }
}

static bool vector_open_to_users(unsigned vector)
{
    return vector == VECTOR_BREAKPOINT || vector == VECTOR_OVERFLOW;
}

void idt_init(void)
{
    for (unsigned vector = 0; vector < IDT_ENTRIES; vector++) {
        uint64_t address = vector_stubs[vector];
        idt[vector] = (struct gate){
            .offset_low = (uint16_t)address,
            .selector = SELECTOR_KERNEL_CODE,
            .ist = vector_ist(vector),
            .type = GATE_INTERRUPT | (vector_open_to_users(vector) ? GATE_DPL3 : 0),
            .offset_middle = (uint16_t)(address >> 16),
            .offset_high = (uint32_t)(address >> 32),
        };
    }
}

void idt_load(void)
{
    idt_load_table(idt);
}

uint64_t idt_default_entry(unsigned vector)
{
    kassert(vector < IDT_ENTRIES);
    return vector_stubs[vector];
}

uint64_t idt_current_entry(unsigned vector)
{
    kassert(vector < IDT_ENTRIES);
    const struct gate *gate = &idt[vector];
    return gate->offset_low | (uint64_t)gate->offset_middle << 16 |
           (uint64_t)gate->offset_high << 32;
}

/* --- copies --- */

void idt_copy(void *table)
{
    __builtin_memcpy(table, idt, sizeof(idt));
}

void idt_set_entry_in(void *table, unsigned vector, uint64_t address)
{
    struct gate *gate = (struct gate *)table + vector;

    kassert(vector < IDT_ENTRIES);
    gate->offset_low = (uint16_t)address;
    gate->offset_middle = (uint16_t)(address >> 16);
    gate->offset_high = (uint32_t)(address >> 32);
}

void idt_load_table(const void *table)
{
    struct idt_pointer pointer = {IDT_SIZE - 1, (uint64_t)table};

    __asm__ volatile("lidt %0" ::"m"(pointer) : "memory");
}

const void *idt_loaded(void)
{
    struct idt_pointer pointer;

    __asm__ volatile("sidt %0" : "=m"(pointer));
    return (const void *)pointer.base;
}

const void *idt_shared(void)
{
    return idt;
}
