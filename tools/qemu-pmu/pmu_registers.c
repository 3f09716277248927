/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The registers of one vCPU's emulated PMU as RDMSR, WRMSR, RDPMC and CPUID see them.
 *
 * Pure. The caller has settled the PMU (pmu_model.h) before and does so again afterwards.
 * Refused with #GP is what a CPU refuses: reserved bits, read-only registers, counters that do not
 * exist. Bits that a CPU knows and this PMU has no use for (pin control, AnyThread) read back as
 * written and do nothing. DEBUGCTL has the bits of freezing and of last branch records only.
 */
#include "tools/qemu-pmu/pmu_bits.h"
#include "tools/qemu-pmu/pmu_model.h"

#define GLOBAL_COUNTERS                                                                            \
    (((1ull << PMU_PROGRAMMABLE) - 1) | ((1ull << PMU_FIXED) - 1) << GLOBAL_FIXED_SHIFT)

/* Maps an MSR of one of the blocks to the counter's number. */
static bool in_block(uint32_t msr, uint32_t first, unsigned count, unsigned *index)
{
    *index = msr - first;
    return msr >= first && msr - first < count;
}

static bool is_counter(uint32_t msr, unsigned *index)
{
    if (in_block(msr, MSR_PMC0, PMU_PROGRAMMABLE, index) ||
        in_block(msr, MSR_FULL_WIDTH_PMC0, PMU_PROGRAMMABLE, index))
        return true;
    if (!in_block(msr, MSR_FIXED_CTR0, PMU_FIXED, index))
        return false;
    *index += PMU_PROGRAMMABLE;
    return true;
}

static bool is_select(uint32_t msr, unsigned *index)
{
    return in_block(msr, MSR_PERFEVTSEL0, PMU_PROGRAMMABLE, index);
}

bool pmu_owns_msr(const struct pmu *pmu, uint32_t msr)
{
    unsigned index;

    switch (msr) {
    case MSR_DEBUGCTL:
    case MSR_PERF_CAPABILITIES:
    case MSR_FIXED_CTR_CTRL:
    case MSR_PERF_GLOBAL_STATUS:
    case MSR_PERF_GLOBAL_CTRL:
    case MSR_PERF_GLOBAL_OVF_CTRL:
        return true;
    case MSR_PERF_GLOBAL_STATUS_SET:
    case MSR_PERF_GLOBAL_INUSE:
        return pmu->config->version >= 4;
    default:
        return is_counter(msr, &index) || is_select(msr, &index) || pmu_lbr_owns_msr(msr);
    }
}

/* --- reading --------------------------------------------------------------------------------- */

static uint64_t in_use(const struct pmu *pmu)
{
    uint64_t bits = 0;

    for (unsigned i = 0; i < PMU_PROGRAMMABLE; i++) {
        if (pmu->counter[i].select & 0xff)
            bits |= 1ull << i;
        if (pmu->counter[i].select & PERFEVTSEL_INT)
            bits |= GLOBAL_INUSE_PMI;
    }
    for (unsigned i = 0; i < PMU_FIXED; i++) {
        unsigned control = pmu->fixed_control >> 4 * i & 0xf;

        if (control & (FIXED_CTRL_KERNEL | FIXED_CTRL_USER))
            bits |= 1ull << (GLOBAL_FIXED_SHIFT + i);
        if (control & FIXED_CTRL_INT)
            bits |= GLOBAL_INUSE_PMI;
    }
    return bits;
}

bool pmu_read_msr(const struct pmu *pmu, uint32_t msr, uint64_t *value)
{
    unsigned index;

    *value = 0;
    if (is_counter(msr, &index)) {
        *value = pmu_counter_value(pmu, index);
        return true;
    }
    if (is_select(msr, &index)) {
        *value = pmu->counter[index].select;
        return true;
    }
    switch (msr) {
    case MSR_DEBUGCTL:
        *value = pmu->debug_control;
        return true;
    case MSR_PERF_CAPABILITIES:
        *value = PERF_CAPABILITIES_FULL_WIDTH | pmu_lbr_format(pmu->config->lbr);
        return true;
    case MSR_FIXED_CTR_CTRL:
        *value = pmu->fixed_control;
        return true;
    case MSR_PERF_GLOBAL_STATUS:
        *value = pmu->global_status;
        return true;
    case MSR_PERF_GLOBAL_CTRL:
        *value = pmu->global_control;
        return true;
    case MSR_PERF_GLOBAL_OVF_CTRL:
    case MSR_PERF_GLOBAL_STATUS_SET:
        return true; /* they read as 0 */
    case MSR_PERF_GLOBAL_INUSE:
        *value = in_use(pmu);
        return true;
    }
    return pmu_lbr_read_msr(&pmu->lbr, msr, value);
}

/* ECX: the number of the counter, bit 30 for the fixed ones. */
bool pmu_read_counter(const struct pmu *pmu, uint32_t ecx, uint64_t *value)
{
    unsigned index;

    if (in_block(ecx, 0, PMU_PROGRAMMABLE, &index)) {
        *value = pmu_counter_value(pmu, index);
        return true;
    }
    if (in_block(ecx, 1u << 30, PMU_FIXED, &index)) {
        *value = pmu_counter_value(pmu, PMU_PROGRAMMABLE + index);
        return true;
    }
    return false;
}

/* --- writing --------------------------------------------------------------------------------- */

static bool write_masked(uint64_t *into, uint64_t value, uint64_t allowed)
{
    if (value & ~allowed)
        return false;
    *into = value;
    return true;
}

/* The old address takes 32 bits and extends their sign; the others take the full width. */
static bool write_counter(struct pmu *pmu, uint32_t msr, unsigned index, uint64_t value)
{
    struct pmu_counter *counter = &pmu->counter[index];

    if (msr >= MSR_PMC0 && msr < MSR_PMC0 + PMU_PROGRAMMABLE) {
        counter->value = (uint64_t)(int64_t)(int32_t)value & PMU_COUNTER_MASK;
        return true;
    }
    return write_masked(&counter->value, value, PMU_COUNTER_MASK);
}

static uint64_t select_bits(const struct pmu *pmu)
{
    return pmu->config->version >= 3 ? 0xffffffff : 0xffffffff & ~PERFEVTSEL_ANY_THREAD;
}

static uint64_t fixed_control_bits(const struct pmu *pmu)
{
    uint64_t each = FIXED_CTRL_KERNEL | FIXED_CTRL_USER | FIXED_CTRL_INT;
    uint64_t bits = 0;

    if (pmu->config->version >= 3)
        each |= FIXED_CTRL_ANY_THREAD;
    for (unsigned i = 0; i < PMU_FIXED; i++)
        bits |= each << 4 * i;
    return bits;
}

static uint64_t status_bits(const struct pmu *pmu)
{
    uint64_t bits = GLOBAL_COUNTERS | GLOBAL_STATUS_BUFFER | GLOBAL_STATUS_CHANGED;

    if (pmu->config->version >= 3)
        bits |= GLOBAL_STATUS_UNCORE;
    if (pmu->config->version >= 4)
        bits |= GLOBAL_STATUS_LBR_FROZEN | GLOBAL_STATUS_COUNTERS_FROZEN | GLOBAL_STATUS_ENCLAVE;
    return bits;
}

static bool write_status(struct pmu *pmu, uint64_t value, bool set)
{
    uint64_t allowed = status_bits(pmu);

    if (set)
        allowed &= ~GLOBAL_STATUS_CHANGED;
    if (value & ~allowed)
        return false;
    if (set)
        pmu->global_status |= value;
    else
        pmu->global_status &= ~value;
    return true;
}

/* With architectural records only, LBR is ignored and reads as 0 (SDM vol. 3, chapter 19). */
static bool write_debug_control(struct pmu *pmu, uint64_t value)
{
    uint64_t allowed = DEBUGCTL_FREEZE_PERFMON_ON_PMI;

    if (pmu->lbr.form != PMU_LBR_NONE)
        allowed |= DEBUGCTL_LBR | DEBUGCTL_FREEZE_LBRS_ON_PMI;
    if (!write_masked(&pmu->debug_control, value, allowed))
        return false;
    if (pmu->lbr.form == PMU_LBR_ARCHITECTURAL)
        pmu->debug_control &= ~DEBUGCTL_LBR;
    return true;
}

static bool write(struct pmu *pmu, uint32_t msr, uint64_t value)
{
    unsigned index;

    if (is_counter(msr, &index))
        return write_counter(pmu, msr, index, value);
    if (is_select(msr, &index))
        return write_masked(&pmu->counter[index].select, value, select_bits(pmu));
    switch (msr) {
    case MSR_DEBUGCTL:
        return write_debug_control(pmu, value);
    case MSR_FIXED_CTR_CTRL:
        return write_masked(&pmu->fixed_control, value, fixed_control_bits(pmu));
    case MSR_PERF_GLOBAL_CTRL:
        return write_masked(&pmu->global_control, value, GLOBAL_COUNTERS);
    case MSR_PERF_GLOBAL_OVF_CTRL:
        return write_status(pmu, value, false);
    case MSR_PERF_GLOBAL_STATUS_SET:
        return write_status(pmu, value, true);
    }
    /* Read-only are CAPABILITIES, GLOBAL_STATUS, GLOBAL_INUSE. */
    return pmu_lbr_owns_msr(msr) && pmu_lbr_write_msr(&pmu->lbr, msr, value);
}

bool pmu_write_msr(struct pmu *pmu, uint32_t msr, uint64_t value)
{
    bool written = write(pmu, msr, value);

    pmu_registers_changed(pmu);
    return written;
}

/* --- CPUID ----------------------------------------------------------------------------------- */

void pmu_cpuid(const struct pmu_config *config, uint32_t registers[4])
{
    enum { LAST_LEVEL_REFERENCES = 3, LAST_LEVEL_MISSES = 4, MISPREDICTED = 6, EVENTS = 7 };

    registers[0] = config->version | PMU_PROGRAMMABLE << 8 | PMU_WIDTH << 16 | EVENTS << 24;
    registers[1] = 1u << LAST_LEVEL_REFERENCES | 1u << LAST_LEVEL_MISSES | 1u << MISPREDICTED;
    registers[2] = 0;
    registers[3] = PMU_FIXED | PMU_WIDTH << 5;
}
