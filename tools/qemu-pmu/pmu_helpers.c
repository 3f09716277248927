/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's RDMSR, WRMSR, CPUID and RDPMC.
 *
 * Each hook stands where QEMU's own implementation stood, and ends in a jump to it for what is not
 * the PMU's: QEMU finds the instruction that faults by the implementation's return address. So the
 * hooks have no locals whose address is taken, and are compiled with -foptimize-sibling-calls.
 */
#include <string.h>

#include "tools/qemu-pmu/pmu_bits.h"
#include "tools/qemu-pmu/pmu_plugin.h"
#include "tools/qemu-pmu/pmu_qemu.h"

#define NO_INLINE __attribute__((noinline))
#define HOST_PC() ((uintptr_t)__builtin_return_address(0))

#define CPUID_VENDOR 0
#define CPUID_FEATURES 1
#define CPUID_FEATURES_PDCM (1u << 15) /* ECX: PERF_CAPABILITIES exists */
#define CPUID_MORE_FEATURES 7
#define CPUID_MORE_FEATURES_ARCH_LBR (1u << 19) /* subleaf 0, EDX */
#define CPUID_PERFORMANCE_MONITORING 0xa
#define CPUID_LAST_BRANCH_RECORDS 0x1c

static struct pmu *this_pmu(void)
{
    return &machine.vcpu[pmu_qemu_vcpu()].pmu;
}

/* The registers are those of Intel's CPUs. */
static NO_INLINE void check_vendor(void)
{
    uint32_t registers[4];
    char vendor[13] = "";

    pmu_qemu_cpuid(CPUID_VENDOR, 0, registers);
    memcpy(vendor, &registers[1], 4);
    memcpy(vendor + 4, &registers[3], 4);
    memcpy(vendor + 8, &registers[2], 4);
    if (strcmp(vendor, "GenuineIntel"))
        pmu_fatal("the guest's CPU calls itself '%s', but the PMU is Intel's: "
                  "use -cpu max,vendor=GenuineIntel",
                  vendor);
}

static bool is_ready(struct cpu_env *env, enum pmu_instruction instruction)
{
    static bool vendor_checked;

    if (!pmu_qemu_learn(env, instruction))
        return false;
    if (!vendor_checked)
        check_vendor();
    vendor_checked = true;
    return true;
}

static void set_edx_eax(struct cpu_env *env, uint64_t value)
{
    env_registers(env)[ENV_RAX] = (uint32_t)value;
    env_registers(env)[ENV_RDX] = value >> 32;
}

/* --- RDMSR ----------------------------------------------------------------------------------- */

static NO_INLINE void read_msr(struct cpu_env *env, uintptr_t host_pc)
{
    uint32_t msr = (uint32_t)env_registers(env)[ENV_RCX];
    uint64_t value;

    if (msr == MSR_MISC_ENABLE) {
        set_edx_eax(env, pmu_qemu_read_msr(msr) | MISC_ENABLE_PERFMON |
                             MISC_ENABLE_BTS_UNAVAILABLE | MISC_ENABLE_PEBS_UNAVAILABLE);
        return;
    }
    instrument_settle(pmu_qemu_vcpu());
    lbr_trace_read(pmu_qemu_vcpu(), msr);
    if (!pmu_read_msr(this_pmu(), msr, &value))
        pmu_qemu_raise_gp(env, host_pc);
    set_edx_eax(env, value);
}

static void hook_rdmsr(struct cpu_env *env)
{
    uint32_t msr = (uint32_t)env_registers(env)[ENV_RCX];

    if (is_ready(env, PMU_RDMSR) && (msr == MSR_MISC_ENABLE || pmu_owns_msr(this_pmu(), msr)))
        read_msr(env, HOST_PC());
    else
        pmu_qemu_original(PMU_RDMSR)(env);
}

/* --- WRMSR ----------------------------------------------------------------------------------- */

static NO_INLINE void write_msr(struct cpu_env *env, uintptr_t host_pc)
{
    uint32_t msr = (uint32_t)env_registers(env)[ENV_RCX];
    uint64_t value = (uint32_t)env_registers(env)[ENV_RAX] | env_registers(env)[ENV_RDX] << 32;
    unsigned index = pmu_qemu_vcpu();
    bool written;

    if (oracle_owns_msr(msr)) {
        oracle_write_msr(index, msr, value);
        return;
    }
    instrument_settle(index);
    written = pmu_write_msr(this_pmu(), msr, value);
    instrument_settle(index);
    if (!written)
        pmu_qemu_raise_gp(env, host_pc);
    instrument_update(index);
    lbr_trace_written(index, msr);
}

static void hook_wrmsr(struct cpu_env *env)
{
    uint32_t msr = (uint32_t)env_registers(env)[ENV_RCX];

    if (is_ready(env, PMU_WRMSR) && (pmu_owns_msr(this_pmu(), msr) || oracle_owns_msr(msr)))
        write_msr(env, HOST_PC());
    else
        pmu_qemu_original(PMU_WRMSR)(env);
}

/* --- CPUID ----------------------------------------------------------------------------------- */

static bool has_architectural_lbr(void)
{
    return machine.options.config.lbr == PMU_LBR_ARCHITECTURAL;
}

/* The highest basic leaf that the emulated features need. */
static uint32_t needed_leaf(void)
{
    return has_architectural_lbr() ? CPUID_LAST_BRANCH_RECORDS : CPUID_PERFORMANCE_MONITORING;
}

/* QEMU's own leaves end where they do; between there and ours is nothing. */
static void qemu_leaf(uint32_t leaf, uint32_t subleaf, uint32_t values[4])
{
    pmu_qemu_cpuid(CPUID_VENDOR, 0, values);
    if (leaf > values[0] && leaf <= needed_leaf())
        memset(values, 0, 4 * sizeof(*values));
    else
        pmu_qemu_cpuid(leaf, subleaf, values);
}

static void add_features(uint32_t leaf, uint32_t subleaf, uint32_t values[4])
{
    if (leaf == CPUID_VENDOR && values[0] < needed_leaf())
        values[0] = needed_leaf();
    if (leaf == CPUID_FEATURES)
        values[2] |= CPUID_FEATURES_PDCM;
    if (leaf == CPUID_MORE_FEATURES && !subleaf && has_architectural_lbr())
        values[3] |= CPUID_MORE_FEATURES_ARCH_LBR;
}

static NO_INLINE void cpuid(struct cpu_env *env, uint32_t leaf)
{
    uint64_t *registers = env_registers(env);
    uint32_t subleaf = (uint32_t)registers[ENV_RCX];
    uint32_t values[4];

    if (leaf == CPUID_PERFORMANCE_MONITORING)
        pmu_cpuid(&machine.options.config, values);
    else if (leaf == CPUID_LAST_BRANCH_RECORDS && has_architectural_lbr())
        pmu_lbr_cpuid(PMU_LBR_ARCHITECTURAL, values);
    else if (leaf == CPUID_ORACLE)
        oracle_cpuid(values);
    else
        qemu_leaf(leaf, subleaf, values);
    add_features(leaf, subleaf, values);
    registers[ENV_RAX] = values[0];
    registers[ENV_RBX] = values[1];
    registers[ENV_RCX] = values[2];
    registers[ENV_RDX] = values[3];
}

static void hook_cpuid(struct cpu_env *env)
{
    uint32_t leaf = (uint32_t)env_registers(env)[ENV_RAX];
    bool ours = leaf == CPUID_VENDOR || leaf == CPUID_FEATURES || leaf == CPUID_MORE_FEATURES ||
                (leaf >= CPUID_PERFORMANCE_MONITORING && leaf <= needed_leaf()) ||
                (leaf == CPUID_ORACLE && machine.options.oracle);

    if (is_ready(env, PMU_CPUID) && ours)
        cpuid(env, leaf);
    else
        pmu_qemu_original(PMU_CPUID)(env);
}

/* --- RDPMC ----------------------------------------------------------------------------------- */

/* QEMU's own never returns, so the code after it is not there: this one leaves the block. */
static NO_INLINE void read_counter(struct cpu_env *env, uintptr_t host_pc)
{
    bool allowed = !pmu_qemu_cpl() || !pmu_qemu_protected() || pmu_qemu_cr4() & PMU_CR4_PCE;
    uint64_t value;

    instrument_settle(pmu_qemu_vcpu());
    if (!allowed || !pmu_read_counter(this_pmu(), (uint32_t)env_registers(env)[ENV_RCX], &value))
        pmu_qemu_raise_gp(env, host_pc);
    set_edx_eax(env, value);
    pmu_qemu_finish(PMU_RDPMC);
}

static void hook_rdpmc(struct cpu_env *env)
{
    if (is_ready(env, PMU_RDPMC))
        read_counter(env, HOST_PC());
    else
        pmu_qemu_original(PMU_RDPMC)(env);
}

void helpers_install(void)
{
    pmu_qemu_replace(PMU_RDMSR, hook_rdmsr);
    pmu_qemu_replace(PMU_WRMSR, hook_wrmsr);
    pmu_qemu_replace(PMU_CPUID, hook_cpuid);
    pmu_qemu_replace(PMU_RDPMC, hook_rdpmc);
}
