/* SPDX-License-Identifier: MIT */
/* The registers of last-branch records: which machine this is, recording on this CPU, reading them
 * without a stub.
 *
 * Context: discovery at boot; the rest on the CPU concerned, interrupts off but where said.
 */
#include "arch/x86/lbr_registers.h"

#include "arch/x86/cpu.h"
#include "arch/x86/lbr_stub.h"
#include "arch/x86/msr.h"
#include "kernel/string.h"

#define LEAF_FEATURES 0x1
#define ECX_PDCM (1u << 15)
#define LEAF_FEATURES_7 0x7
#define EBX_RTM (1u << 11)
#define EDX_ARCH_LBR (1u << 19)
#define LEAF_ARCH_LBR 0x1c
#define LEAF_AMD_PERFMON_V2 0x80000022

struct lbr_machine lbr_machine = {.reason = "not looked for yet"};

/* --- discovery --- */

static bool readable(uint32_t msr)
{
    uint64_t ignored;
    return msr_read_safe(msr, &ignored);
}

static void cpuid_if(uint32_t leaf, uint32_t max, uint32_t out[4])
{
    memset(out, 0, 4 * sizeof(out[0]));
    if (leaf <= max)
        cpu_cpuid(leaf, 0, out);
}

static void fill_probe(struct lbr_probe *probe)
{
    uint32_t leaf[4];

    *probe = (struct lbr_probe){
        .intel = strcmp(cpu_features.vendor, "GenuineIntel") == 0,
        .amd = strcmp(cpu_features.vendor, "AuthenticAMD") == 0 ||
               strcmp(cpu_features.vendor, "HygonGenuine") == 0,
        .emulated = strstr(cpu_features.brand, "QEMU TCG") != NULL,
        .family = cpu_features.family,
        .model = cpu_features.model,
        .readable = readable,
    };
    cpuid_if(LEAF_FEATURES, cpu_features.max_leaf, leaf);
    probe->has_capabilities =
        (leaf[2] & ECX_PDCM) != 0 && msr_read_safe(MSR_PERF_CAPABILITIES, &probe->capabilities);
    cpuid_if(LEAF_FEATURES_7, cpu_features.max_leaf, leaf);
    probe->tsx = (leaf[1] & EBX_RTM) != 0;
    probe->architectural = (leaf[3] & EDX_ARCH_LBR) != 0;
    cpuid_if(LEAF_ARCH_LBR, cpu_features.max_leaf, leaf);
    probe->leaf_1c = leaf[0];
    cpuid_if(LEAF_AMD_PERFMON_V2, cpu_features.max_extended_leaf, leaf);
    probe->leaf_22a = leaf[0];
    probe->leaf_22b = leaf[1];
}

/* --- recording on this CPU --- */

static void set_recording(bool on, uint64_t select)
{
    const struct lbr_machine *machine = &lbr_machine;
    bool selects_here = machine->select == machine->control;
    uint64_t value = 0;

    if (!msr_read_safe(machine->control, &value))
        return;
    if (selects_here)
        value = select;
    value &= ~(uint64_t)machine->control_on;
    msr_write_safe(machine->control, value | (on ? machine->control_on : 0));
}

static bool is_recording(void)
{
    uint64_t value = 0;
    return msr_read_safe(lbr_machine.control, &value) &&
           (value & lbr_machine.control_on) == lbr_machine.control_on;
}

static void clear_records(void)
{
    const struct lbr_machine *machine = &lbr_machine;

    if (machine->kind == LBR_ARCH) {
        msr_write_safe(MSR_ARCH_LBR_DEPTH, machine->depth);
        return;
    }
    for (uint32_t i = 0; i < machine->depth; i++) {
        msr_write_safe(machine->from + i * machine->stride, 0);
        msr_write_safe(machine->to + i * machine->stride, 0);
    }
}

bool lbr_registers_start(uint64_t select)
{
    clear_records();
    if (lbr_machine.select && lbr_machine.select != lbr_machine.control)
        msr_write_safe(lbr_machine.select, select);
    set_recording(true, select);
    return is_recording();
}

void lbr_registers_stop(void)
{
    set_recording(false, 0);
}

/* What CPUID promises, emulators and hypervisors do not always keep. */
void lbr_detect(void)
{
    struct lbr_probe probe;

    fill_probe(&probe);
    lbr_models_find(&probe, &lbr_machine);
    if (lbr_machine.kind == LBR_NONE)
        return;
    bool kept = lbr_registers_start(lbr_models_select(&lbr_machine, 0));
    lbr_registers_stop();
    if (!kept)
        lbr_machine = (struct lbr_machine){
            .reason = "recording cannot be turned on: emulated, or kept back by a hypervisor"};
}

/* --- reading in a panic --- */

/* A straight line, but for machines that have nothing to be lost. */
void lbr_freeze(void)
{
    if (lbr_machine.kind != LBR_NONE)
        msr_write(lbr_machine.control,
                  msr_read(lbr_machine.control) & ~(uint64_t)lbr_machine.control_on);
}

void lbr_read_live(struct lbr_history *out)
{
    const struct lbr_machine *machine = &lbr_machine;
    struct lbr_slot slot = {0};

    *out = (struct lbr_history){.cpu = this_cpu()->index, .missing = machine->reason};
    if (machine->kind == LBR_NONE)
        return;
    out->missing = "LBR is not in use";
    if (!lbr_is_on_here())
        return;
    if (machine->top)
        slot.top = msr_read(machine->top);
    for (uint32_t i = 0; i < machine->depth; i++) {
        slot.entries[i].from = msr_read(machine->from + i * machine->stride);
        slot.entries[i].to = msr_read(machine->to + i * machine->stride);
        if (machine->info)
            slot.entries[i].info = msr_read(machine->info + i * machine->stride);
    }
    lbr_records_decode(machine, &slot, out);
    if (out->count > 0 && out->records[0].to == (uint64_t)lbr_freeze)
        memmove(&out->records[0], &out->records[1], --out->count * sizeof(out->records[0]));
}
