/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interrupts of this vCPU: LVTPC, and NMIs that QEMU overlooks.
 *
 * The APIC is reached as the guest reaches it: by QEMU's own RDMSR and WRMSR, and by its registers
 * in memory. QEMU's big lock is taken only around cpu_interrupt().
 */
#include <string.h>

#include "tools/qemu-pmu/pmu_bits.h"
#include "tools/qemu-pmu/pmu_qemu_internal.h"

#define CPU_INTERRUPT_NMI 0x200
#define CPU_INTERRUPT_UNUSED 0x40000000 /* no meaning to an x86 CPU */

static bool lock(void)
{
    bool was_locked = qemu.bql_locked();

    if (!was_locked)
        qemu.bql_lock_impl(__FILE__, __LINE__);
    return was_locked;
}

static void unlock(bool was_locked)
{
    if (!was_locked)
        qemu.bql_unlock();
}

void pmu_find_interrupt_request(void)
{
    static uint32_t before[4096]; /* CPUState and its CPUX86State are together larger */
    volatile uint32_t *words = (volatile uint32_t *)pmu_self.cpu;
    bool was_locked = lock();

    memcpy(before, pmu_self.cpu, sizeof(before));
    qemu.cpu_interrupt(pmu_self.cpu, CPU_INTERRUPT_UNUSED);
    for (size_t i = 0; i < ARRAY_LENGTH(before) && !pmu_layout.interrupt_request; i++)
        if ((words[i] ^ before[i]) == CPU_INTERRUPT_UNUSED)
            pmu_layout.interrupt_request = i * sizeof(*words);
    qemu.cpu_reset_interrupt(pmu_self.cpu, CPU_INTERRUPT_UNUSED);
    unlock(was_locked);
    if (!pmu_layout.interrupt_request)
        pmu_fatal("CPUState.interrupt_request cannot be found in this QEMU");
}

static void write_msr(uint32_t msr, uint32_t value)
{
    uint64_t registers[4] = {[ENV_RCX] = msr, [ENV_RAX] = value};

    pmu_carry_out(PMU_WRMSR, registers);
}

static uint32_t read_physical(uint64_t address)
{
    uint32_t value = 0;

    if (qemu.cpu_physical_memory_rw)
        qemu.cpu_physical_memory_rw(address, &value, sizeof(value), false);
    else
        qemu.physical_memory_read(address, &value, sizeof(value));
    return value;
}

static void write_physical(uint64_t address, uint32_t value)
{
    if (qemu.cpu_physical_memory_rw)
        qemu.cpu_physical_memory_rw(address, &value, sizeof(value), true);
    else
        qemu.physical_memory_write(address, &value, sizeof(value));
}

/* In xAPIC mode a message to the own APIC: an IPI would leave its traces in the guest's ICR. QEMU
 * takes messages where its APICs are mapped. */
static void raise_vector(uint64_t apic_base, uint32_t vector)
{
    uint64_t address = apic_base & APIC_BASE_ADDRESS;

    if (apic_base & APIC_BASE_X2APIC)
        write_msr(MSR_X2APIC_SELF_IPI, vector);
    else
        write_physical(address | (read_physical(address + XAPIC_ID) >> 24) << 12, vector);
}

static void request_nmi(void)
{
    bool was_locked = lock();

    qemu.cpu_interrupt(pmu_self.cpu, CPU_INTERRUPT_NMI);
    unlock(was_locked);
}

static bool deliver(uint64_t apic_base, uint32_t lvt)
{
    static bool told;

    switch (LVT_MODE(lvt)) {
    case LVT_MODE_NMI:
        request_nmi();
        return true;
    case LVT_MODE_FIXED:
        raise_vector(apic_base, lvt & LVT_VECTOR);
        return false;
    default:
        if (!told)
            pmu_message("LVTPC's delivery mode %u is not emulated", LVT_MODE(lvt));
        told = true;
        return false;
    }
}

bool pmu_qemu_raise_lvtpc(void)
{
    uint64_t base = pmu_qemu_read_msr(MSR_APIC_BASE);
    bool x2apic = base & APIC_BASE_X2APIC;
    uint64_t address = (base & APIC_BASE_ADDRESS) + XAPIC_LVT_PMC;
    uint32_t lvt;

    if (!(base & APIC_BASE_ENABLE))
        return false;
    lvt = x2apic ? (uint32_t)pmu_qemu_read_msr(MSR_X2APIC_LVT_PMC) : read_physical(address);
    if (lvt & LVT_MASKED)
        return false;
    if (x2apic)
        write_msr(MSR_X2APIC_LVT_PMC, lvt | LVT_MASKED);
    else
        write_physical(address, lvt | LVT_MASKED);
    return deliver(base, lvt);
}

bool pmu_qemu_insist_on_nmi(uintptr_t host_pc)
{
    volatile uint32_t *requests =
        (volatile uint32_t *)((char *)pmu_self.cpu + pmu_layout.interrupt_request);

    if (!(*requests & CPU_INTERRUPT_NMI))
        return false;
    if (state_of_self()->hflags2 & HFLAGS2_NMI_BLOCKED)
        return true;
    request_nmi();
    qemu.cpu_loop_exit_restore(pmu_self.cpu, host_pc);
    __builtin_unreachable();
}
