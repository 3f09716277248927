/* SPDX-License-Identifier: MIT */
/* Discovery of the PMU, and access to its counters. */
#include "arch/x86/pmu.h"

#include <stddef.h>

#include "arch/x86/apic.h"
#include "arch/x86/apic_registers.h"
#include "arch/x86/cpu.h"
#include "arch/x86/msr.h"
#include "kernel/string.h"

#define LEAF_ARCH_PERFMON 0xa
#define LEAF_AMD_EXTENDED 0x80000001
#define AMD_ECX_PERFCTR_CORE (1u << 23)
#define LEAF_AMD_PERFMON_V2 0x80000022
#define AMD_CORE_COUNTERS 6
#define AMD_WIDTH 48
#define LEGACY_WRITE_BITS 31 /* PERFCTR writes: 32 bits, sign-extended */

struct pmu_capabilities pmu_capabilities = {.reason = "not looked for yet"};

/* --- discovery --- */

static void refuse(const char *reason)
{
    pmu_capabilities.kind = PMU_NONE;
    pmu_capabilities.reason = reason;
}

static void detect_intel(void)
{
    struct pmu_capabilities *pmu = &pmu_capabilities;
    uint32_t registers[4];
    uint64_t capabilities = 0;
    if (cpu_features.max_leaf < LEAF_ARCH_PERFMON) {
        refuse("CPUID has no leaf 0AH");
        return;
    }
    cpu_cpuid(LEAF_ARCH_PERFMON, 0, registers);
    pmu->version = registers[0] & 0xff;
    pmu->counters = registers[0] >> 8 & 0xff;
    pmu->width = registers[0] >> 16 & 0xff;
    if (pmu->version == 0 || pmu->counters == 0 || pmu->width < 32) {
        refuse("CPUID.0AH reports no performance counters");
        return;
    }
    if (pmu->version >= 2) {
        pmu->global_control = true;
        pmu->fixed_counters = registers[3] & 0x1f;
        pmu->fixed_width = registers[3] >> 5 & 0xff;
    }
    if (pmu->counters > PMU_MAX_COUNTERS)
        pmu->counters = PMU_MAX_COUNTERS;
    if (msr_read_safe(MSR_PERF_CAPABILITIES, &capabilities))
        pmu->full_width_write = capabilities & PERF_CAPABILITIES_FULL_WIDTH;
    pmu->kind = PMU_INTEL;
}

static void detect_amd(void)
{
    struct pmu_capabilities *pmu = &pmu_capabilities;
    uint32_t registers[4];
    if (cpu_features.max_extended_leaf < LEAF_AMD_EXTENDED) {
        refuse("CPUID has no leaf 8000_0001H");
        return;
    }
    cpu_cpuid(LEAF_AMD_EXTENDED, 0, registers);
    if (!(registers[2] & AMD_ECX_PERFCTR_CORE)) {
        refuse("CPUID reports no core performance counters");
        return;
    }
    pmu->counters = AMD_CORE_COUNTERS;
    pmu->width = AMD_WIDTH;
    pmu->full_width_write = true;
    pmu->version = 1;
    if (cpu_features.max_extended_leaf >= LEAF_AMD_PERFMON_V2) {
        cpu_cpuid(LEAF_AMD_PERFMON_V2, 0, registers);
        if (registers[0] & 1) {
            pmu->version = 2;
            pmu->global_control = true;
            pmu->counters = registers[1] & 0xf;
        }
    }
    pmu->kind = PMU_AMD;
}

void pmu_detect(void)
{
    memset(&pmu_capabilities, 0, sizeof(pmu_capabilities));
    if (strcmp(cpu_features.vendor, "GenuineIntel") == 0)
        detect_intel();
    else if (strcmp(cpu_features.vendor, "AuthenticAMD") == 0 ||
             strcmp(cpu_features.vendor, "HygonGenuine") == 0)
        detect_amd();
    else
        refuse("a vendor whose counters are not known");
    pmu_capabilities.model = pmu_model_find();
}

bool pmu_has_event(enum pmu_event event)
{
    return pmu_capabilities.kind != PMU_NONE && pmu_capabilities.model->select[event] != 0;
}

/* --- registers --- */

static uint32_t select_msr(uint32_t counter)
{
    return pmu_capabilities.kind == PMU_AMD ? MSR_AMD_EVTSEL0 + 2 * counter
                                            : MSR_PERFEVTSEL0 + counter;
}

static uint32_t read_msr_of(uint32_t counter)
{
    return pmu_capabilities.kind == PMU_AMD ? MSR_AMD_PMC0 + 2 * counter : MSR_PMC0 + counter;
}

static uint32_t write_msr_of(uint32_t counter)
{
    if (pmu_capabilities.kind == PMU_INTEL && pmu_capabilities.full_width_write)
        return MSR_FULL_WIDTH_PMC0 + counter;
    return read_msr_of(counter);
}

uint64_t pmu_mask(void)
{
    return (1ull << pmu_capabilities.width) - 1;
}

uint64_t pmu_read(uint32_t counter)
{
    return msr_read(read_msr_of(counter)) & pmu_mask();
}

/* A legacy write keeps 32 bits and extends the sign: values further from overflow than that are
 * brought near, which costs an interrupt before its time and no more. */
static uint64_t writable(uint64_t value)
{
    value &= pmu_mask();
    if (pmu_capabilities.full_width_write || value <= INT32_MAX)
        return value;
    uint64_t distance = (0 - value) & pmu_mask();
    if (distance > 1ull << LEGACY_WRITE_BITS)
        distance = 1ull << LEGACY_WRITE_BITS;
    return (uint32_t)(0 - distance);
}

uint64_t pmu_write(uint32_t counter, uint64_t value)
{
    uint64_t written = writable(value);
    msr_write(write_msr_of(counter), written);
    return pmu_capabilities.full_width_write ? written
                                             : (uint64_t)(int64_t)(int32_t)written & pmu_mask();
}

static void set_global_enable(uint32_t counter, bool enable)
{
    uint32_t msr =
        pmu_capabilities.kind == PMU_AMD ? MSR_AMD_PERF_GLOBAL_CTRL : MSR_PERF_GLOBAL_CTRL;
    if (!pmu_capabilities.global_control)
        return;
    uint64_t bit = 1ull << counter, value = msr_read(msr);
    msr_write(msr, enable ? value | bit : value & ~bit);
}

bool pmu_start(uint32_t counter, enum pmu_event event, unsigned flags, uint64_t value)
{
    uint64_t select = pmu_capabilities.model->select[event];
    if (!select || counter >= pmu_capabilities.counters)
        return false;
    select |= flags & PMU_COUNT_USER ? PERFEVTSEL_USER : 0;
    select |= flags & PMU_COUNT_KERNEL ? PERFEVTSEL_KERNEL : 0;
    select |= flags & PMU_INTERRUPT ? PERFEVTSEL_INT : 0;
    if (!msr_write_safe(select_msr(counter), 0) ||
        !msr_write_safe(write_msr_of(counter), writable(value)))
        return false;
    set_global_enable(counter, true);
    return msr_write_safe(select_msr(counter), select | PERFEVTSEL_ENABLE);
}

void pmu_stop(uint32_t counter)
{
    msr_write(select_msr(counter), 0);
    set_global_enable(counter, false);
}

/* --- overflow --- */

static void allow_next_interrupt(void)
{
    apic_write(APIC_LVT_COUNTER, APIC_DELIVERY_NMI); /* Intel masks it on delivery */
}

void pmu_setup_cpu(void)
{
    if (pmu_capabilities.kind == PMU_NONE)
        return;
    for (uint32_t i = 0; i < pmu_capabilities.counters; i++)
        msr_write_safe(select_msr(i), 0);
    if (pmu_capabilities.global_control)
        pmu_acknowledge((1u << pmu_capabilities.counters) - 1);
    allow_next_interrupt();
}

/* Without a status register: a counter that was armed below zero and is not any more. */
static uint32_t overflowed_by_value(uint32_t armed)
{
    uint32_t result = 0;
    for (uint32_t i = 0; i < pmu_capabilities.counters; i++)
        if ((armed & 1u << i) && !(pmu_read(i) >> (pmu_capabilities.width - 1)))
            result |= 1u << i;
    return result;
}

uint32_t pmu_overflowed(uint32_t armed)
{
    if (!pmu_capabilities.global_control)
        return overflowed_by_value(armed);
    uint64_t status = msr_read(pmu_capabilities.kind == PMU_AMD ? MSR_AMD_PERF_GLOBAL_STATUS
                                                                : MSR_PERF_GLOBAL_STATUS);
    return (uint32_t)status & armed;
}

void pmu_acknowledge(uint32_t counters)
{
    if (pmu_capabilities.global_control)
        msr_write(pmu_capabilities.kind == PMU_AMD ? MSR_AMD_PERF_GLOBAL_STATUS_CLEAR
                                                   : MSR_PERF_GLOBAL_OVF_CTRL,
                  counters);
    allow_next_interrupt();
}
