/* SPDX-License-Identifier: MIT */
/* Local APIC: mode, set-up of each CPU, interrupts between CPUs, starting CPUs.
 *
 * All destinations are physical APIC IDs. In xAPIC mode the interrupt command is two registers:
 * interrupts are off between them, and an NMI that sends on its own leaves the upper one as it
 * found it, so what it interrupted is not misdirected.
 * Source: Intel SDM vol. 3, chapter 12.
 */
#include "arch/x86/apic.h"

#include "arch/x86/apic_registers.h"
#include "arch/x86/cpu.h"
#include "arch/x86/io.h"
#include "arch/x86/ioapic.h"
#include "arch/x86/layout.h"
#include "arch/x86/msr.h"
#include "arch/x86/paging.h"
#include "arch/x86/timer.h"
#include "kernel/marker.h"
#include "kernel/panic.h"
#include "kernel/wait.h"

#define XAPIC_MAX_ID 254u

#define PIC1_COMMAND 0x20
#define PIC1_DATA 0x21
#define PIC2_COMMAND 0xa0
#define PIC2_DATA 0xa1
#define PIC_INIT 0x11 /* edge triggered, cascaded, a fourth word follows */
#define PIC_MODE_8086 0x01
#define PIC_CASCADE_INPUT 2

/* Written once by apic_init(), before other CPUs run. */
static bool x2apic;
static volatile uint8_t *registers; /* xAPIC mode; NULL before apic_init() */

uint32_t apic_read(enum apic_register which)
{
    if (x2apic)
        return (uint32_t)msr_read(MSR_X2APIC_BASE + which / 16);
    return *(volatile uint32_t *)(registers + which);
}

void apic_write(enum apic_register which, uint32_t value)
{
    if (x2apic)
        msr_write(MSR_X2APIC_BASE + which / 16, value);
    else
        *(volatile uint32_t *)(registers + which) = value;
}

bool apic_is_x2apic(void)
{
    return x2apic;
}

/* Leaf 0xB has all 32 bits. */
static uint32_t cpuid_read_apic_id(void)
{
    uint32_t out[4];
    cpu_cpuid(0, 0, out);
    if (out[0] >= 0xb) {
        cpu_cpuid(0xb, 0, out);
        if (out[1] & 0xffff)
            return out[3];
    }
    cpu_cpuid(1, 0, out);
    return out[1] >> 24;
}

/* Also on a CPU whose APIC is not set up yet: in x2APIC mode the ID is CPUID's, while the MSR would
 * fault there. */
uint32_t apic_read_id(void)
{
    return registers ? apic_read(APIC_ID) >> 24 : cpuid_read_apic_id();
}

/* The 8259s deliver nothing, but a spurious interrupt that is under way needs vectors of its own,
 * away from the exceptions. */
static void pic_mask_all(void)
{
    io_out8(PIC1_COMMAND, PIC_INIT);
    io_out8(PIC2_COMMAND, PIC_INIT);
    io_out8(PIC1_DATA, VECTOR_PIC_FIRST);
    io_out8(PIC2_DATA, VECTOR_PIC_FIRST + 8);
    io_out8(PIC1_DATA, 1u << PIC_CASCADE_INPUT);
    io_out8(PIC2_DATA, PIC_CASCADE_INPUT);
    io_out8(PIC1_DATA, PIC_MODE_8086);
    io_out8(PIC2_DATA, PIC_MODE_8086);
    io_out8(PIC1_DATA, 0xff);
    io_out8(PIC2_DATA, 0xff);
}

/* Off → x2APIC is not a legal step: through xAPIC. A CPU that the firmware left in x2APIC mode
 * stays there. */
static void apic_enable_mode(void)
{
    uint64_t base = msr_read(MSR_APIC_BASE);
    if (!(base & APIC_BASE_ENABLE)) {
        base |= APIC_BASE_ENABLE;
        msr_write(MSR_APIC_BASE, base);
    }
    if (x2apic && !(base & APIC_BASE_X2APIC))
        msr_write(MSR_APIC_BASE, base | APIC_BASE_X2APIC);
}

void apic_init(void)
{
    uint64_t base = msr_read(MSR_APIC_BASE);
    pic_mask_all();
    if (!cpu_features.x2apic)
        registers = paging_map_device(base & APIC_BASE_ADDRESS, PAGE_SIZE);
    x2apic = cpu_features.x2apic;
    apic_enable_mode();
    ioapic_init();
}

/* Interrupts that the firmware, or a crashed kernel before us, left in service block all of lower
 * priority for ever. */
static void apic_finish_stale(void)
{
    for (unsigned turn = 0; turn < 256; turn++) {
        uint32_t in_service = 0;
        for (unsigned i = 0; i < 8; i++)
            in_service |= apic_read(APIC_IN_SERVICE + i * 0x10);
        if (in_service == 0)
            return;
        apic_eoi();
    }
}

void apic_setup_cpu(void)
{
    apic_enable_mode();
    uint32_t max_lvt = APIC_VERSION_MAX_LVT(apic_read(APIC_VERSION));
    apic_write(APIC_SPURIOUS, APIC_SPURIOUS_ENABLE | VECTOR_APIC_SPURIOUS);
    apic_write(APIC_TASK_PRIORITY, 0);
    apic_write(APIC_LVT_TIMER, APIC_LVT_MASKED | VECTOR_TIMER);
    if (max_lvt >= 4)
        apic_write(APIC_LVT_COUNTER, APIC_LVT_MASKED | APIC_DELIVERY_NMI);
    if (max_lvt >= 5)
        apic_write(APIC_LVT_THERMAL, APIC_LVT_MASKED | VECTOR_APIC_SPURIOUS);
    if (max_lvt >= 6)
        apic_write(APIC_LVT_CMCI, APIC_LVT_MASKED | VECTOR_APIC_SPURIOUS);
    apic_write(APIC_LVT_LINT0, APIC_LVT_MASKED | VECTOR_APIC_SPURIOUS);
    apic_write(APIC_LVT_LINT1, APIC_DELIVERY_NMI);
    apic_write(APIC_ERROR_STATUS, 0); /* errors of before are nobody's */
    apic_write(APIC_LVT_ERROR, VECTOR_APIC_ERROR);
    apic_write(APIC_ERROR_STATUS, 0);
    apic_finish_stale();
}

void apic_eoi(void)
{
    apic_write(APIC_EOI, 0);
}

/* --- interrupts between CPUs --- */

static void xapic_wait_sent(void)
{
    wait_until(!(apic_read(APIC_COMMAND_LOW) & APIC_COMMAND_PENDING),
               "the local APIC to send an interrupt");
}

static void xapic_command(uint32_t apic_id, uint32_t command)
{
    if (apic_id > XAPIC_MAX_ID)
        panic("APIC ID %u cannot be addressed in xAPIC mode (at most %u)", apic_id, XAPIC_MAX_ID);
    bool enabled = irq_save();
    xapic_wait_sent();
    uint32_t interrupted = apic_read(APIC_COMMAND_HIGH);
    apic_write(APIC_COMMAND_HIGH, apic_id << 24);
    apic_write(APIC_COMMAND_LOW, command);
    xapic_wait_sent();
    apic_write(APIC_COMMAND_HIGH, interrupted);
    irq_restore(enabled);
}

static void apic_command(uint32_t apic_id, uint32_t command)
{
    if (!x2apic) {
        xapic_command(apic_id, command);
        return;
    }
    /* Writes to x2APIC registers overtake earlier stores: what the other CPU is to find must be
     * visible before the interrupt is. */
    __asm__ volatile("mfence; lfence" ::: "memory");
    msr_write(MSR_X2APIC_BASE + APIC_COMMAND_LOW / 16, (uint64_t)apic_id << 32 | command);
}

static uint32_t cpu_apic_id(uint32_t cpu_index)
{
    if (cpu_index < MAX_CPUS && cpus[cpu_index])
        return cpus[cpu_index]->apic_id;
    panic("interrupt for CPU %u, which does not exist", cpu_index);
}

void apic_send_ipi(uint32_t cpu_index, enum vector vector)
{
    MARKER(ipi_send, MARKER_ARG(cpu, cpu_index), MARKER_ARG(vector, vector));
    apic_command(cpu_apic_id(cpu_index),
                 APIC_DELIVERY_FIXED | APIC_COMMAND_ASSERT | (uint32_t)vector);
}

void apic_send_nmi(uint32_t cpu_index)
{
    MARKER(nmi_send, MARKER_ARG(cpu, cpu_index));
    apic_command(cpu_apic_id(cpu_index), APIC_DELIVERY_NMI | APIC_COMMAND_ASSERT);
}

void apic_start_cpu(uint32_t apic_id, uint32_t entry_page)
{
    kassert(entry_page < 0x100000 && entry_page % PAGE_SIZE == 0);
    uint32_t startup = APIC_DELIVERY_STARTUP | APIC_COMMAND_ASSERT | entry_page >> PAGE_SHIFT;
    apic_command(apic_id, APIC_DELIVERY_INIT | APIC_COMMAND_ASSERT);
    timer_delay_us(10000);
    apic_command(apic_id, startup);
    timer_delay_us(200);
    apic_command(apic_id, startup); /* ignored by a CPU that runs already */
}
