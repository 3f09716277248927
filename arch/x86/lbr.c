/* SPDX-License-Identifier: MIT */
/* This machine's last-branch records: discovery, each CPU's stubs, on and off, finding a history.
 *
 * What a stub wrote is read by its own CPU, or by another one on which the thread has gone on: the
 * key is compared again after copying, and a stub writes the key before the records.
 */
#include "arch/x86/lbr.h"

#include "arch/x86/cpu.h"
#include "arch/x86/gdt.h"
#include "arch/x86/idt.h"
#include "arch/x86/layout.h"
#include "arch/x86/lbr_stub.h"
#include "arch/x86/msr.h"
#include "arch/x86/paging.h"
#include "arch/x86/vectors.h"
#include "kernel/panic.h"
#include "kernel/string.h"

#define LEAF_FEATURES 0x1
#define ECX_PDCM (1u << 15)
#define LEAF_FEATURES_7 0x7
#define EBX_RTM (1u << 11)
#define EDX_ARCH_LBR (1u << 19)
#define LEAF_ARCH_LBR 0x1c
#define LEAF_AMD_PERFMON_V2 0x80000022

struct lbr_machine lbr_machine = {.reason = "not looked for yet"};

const uint8_t lbr_vectors[LBR_VECTORS] = {
    VECTOR_DIVIDE_ERROR,    VECTOR_DEBUG,         VECTOR_NMI,
    VECTOR_BREAKPOINT,      VECTOR_OVERFLOW,      VECTOR_BOUND,
    VECTOR_INVALID_OPCODE,  VECTOR_NO_FPU,        VECTOR_DOUBLE_FAULT,
    VECTOR_INVALID_TSS,     VECTOR_STACK_FAULT,   VECTOR_SEGMENT_NOT_PRESENT,
    VECTOR_PAGE_FAULT,      VECTOR_FPU_ERROR,     VECTOR_GENERAL_PROTECTION,
    VECTOR_ALIGNMENT_CHECK, VECTOR_MACHINE_CHECK, VECTOR_SIMD_ERROR,
};

static const struct {
    uint8_t has_error, ist;
} traits[IDT_ENTRIES] = {
#define V(number, name, mnemonic, description, has_error, ist) [number] = {has_error, ist},
    VECTOR_TABLE(V)
#undef V
};

/* One CPU's. The IDT is the CPU's to load, the areas are written by its stubs. */
struct lbr_cpu {
    uint8_t idt[IDT_SIZE];
    struct lbr_area areas[LBR_VECTORS];
};
_Static_assert(sizeof(struct lbr_cpu) <= PAGE_SIZE << LBR_DATA_ORDER, "lbr_build_cpu()");

static struct lbr_cpu *lbr_cpus[MAX_CPUS];             /* fixed once built */
static uint64_t lbr_stubs[MAX_CPUS][LBR_VECTORS + 1]; /* where they begin; fixed once built */

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
    probe->has_capabilities = (leaf[2] & ECX_PDCM) != 0 &&
                              msr_read_safe(MSR_PERF_CAPABILITIES, &probe->capabilities);
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

/* What CPUID promises, emulators and hypervisors do not always keep. */
void lbr_detect(void)
{
    struct lbr_probe probe;

    fill_probe(&probe);
    lbr_models_find(&probe, &lbr_machine);
    if (lbr_machine.kind == LBR_NONE)
        return;
    set_recording(true, lbr_models_select(&lbr_machine, 0));
    bool kept = is_recording();
    set_recording(false, 0);
    if (!kept)
        lbr_machine = (struct lbr_machine){
            .reason = "recording cannot be turned on: emulated, or kept back by a hypervisor"};
}

/* --- building --- */

static void emit_stub(struct lbr_cpu *data, uint32_t cpu, unsigned index, uint64_t at, uint8_t *out,
                      size_t *length)
{
    unsigned vector = lbr_vectors[index], nmi = 0;
    const struct cpu_arch *arch = cpus[cpu]->arch;

    while (lbr_vectors[nmi] != VECTOR_NMI)
        nmi++;
    struct lbr_stub stub = {
        .machine = &lbr_machine,
        .has_error = traits[vector].has_error,
        .records_again = vector == VECTOR_DEBUG,
        .ist_stack = (uint64_t)arch->ist_stacks[traits[vector].ist],
        .stack_top = (uint64_t)&cpus[cpu]->kernel_stack_top,
        .area = (uint64_t)&data->areas[index],
        .nmi_arrivals = (uint64_t)&data->areas[nmi].arrivals,
        .entry = idt_current_entry(vector),
    };
    *length = lbr_stub_emit(&stub, at, out);
    kassert(*length != 0);
}

/* Written through the direct map, and not yet mapped anywhere else. */
static void build_stubs(struct lbr_cpu *data, uint32_t cpu, uint64_t code, uint8_t *out)
{
    size_t used = 0;

    for (unsigned i = 0; i < LBR_VECTORS; i++) {
        size_t length;
        used = (used + 15) & ~(size_t)15;
        kassert(used + LBR_STUB_MAX <= PAGE_SIZE << LBR_CODE_ORDER);
        emit_stub(data, cpu, i, code + used, out + used, &length);
        lbr_stubs[cpu][i] = code + used;
        used += length;
    }
    lbr_stubs[cpu][LBR_VECTORS] = code + used;
}

/* An area's first frame is one that no stack pointer is below, and holds another RIP. */
static void clear_areas(struct lbr_cpu *data, uint32_t cpu)
{
    memset(data->areas, 0, sizeof(data->areas));
    for (unsigned i = 0; i < LBR_VECTORS; i++) {
        struct lbr_area *area = &data->areas[i];
        area->frame = (uint64_t)&area->arrivals;
        area->rip = UINT64_MAX;
        for (unsigned slot = 0; slot <= LBR_SLOTS; slot++)
            area->slots[slot].stub = lbr_stubs[cpu][i];
    }
}

bool lbr_cpu_is_built(uint32_t cpu)
{
    return lbr_cpus[cpu] != NULL;
}

/* No CPU executes the code before this is done, nor is it written again. */
bool lbr_build_cpu(uint32_t cpu, uint64_t data_frames, uint64_t code_frames)
{
    struct lbr_cpu *data = PHYS_TO_VIRT(data_frames);
    uint64_t code = paging_map_code(code_frames, PAGE_SIZE << LBR_CODE_ORDER);

    if (!code)
        return false;
    build_stubs(data, cpu, code, PHYS_TO_VIRT(code_frames));
    clear_areas(data, cpu);
    idt_copy(data->idt);
    for (unsigned i = 0; i < LBR_VECTORS; i++)
        idt_set_entry_in(data->idt, lbr_vectors[i], lbr_stubs[cpu][i]);
    lbr_cpus[cpu] = data;
    return true;
}

const char *lbr_stub_at(uint64_t address, uint64_t *offset)
{
    for (uint32_t cpu = 0; cpu < cpu_count; cpu++)
        for (unsigned i = 0; i < LBR_VECTORS && lbr_cpus[cpu]; i++)
            if (address >= lbr_stubs[cpu][i] && address < lbr_stubs[cpu][i + 1]) {
                *offset = address - lbr_stubs[cpu][i];
                return vector_mnemonic(lbr_vectors[i]);
            }
    return NULL;
}

/* --- on and off --- */

bool lbr_is_on_here(void)
{
    return idt_loaded() != idt_shared();
}

bool lbr_start_here(uint64_t select)
{
    struct lbr_cpu *data = lbr_cpus[this_cpu()->index];
    const struct lbr_machine *machine = &lbr_machine;

    if (!lbr_is_on_here())
        clear_areas(data, this_cpu()->index);
    set_recording(false, select);
    clear_records();
    if (machine->select && machine->select != machine->control)
        msr_write_safe(machine->select, select);
    idt_load_table(data->idt);
    set_recording(true, select);
    if (is_recording())
        return true;
    lbr_stop_here();
    return false;
}

void lbr_stop_here(void)
{
    if (!lbr_is_on_here())
        return;
    set_recording(false, 0);
    idt_load();
}

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

/* --- finding --- */

static void fill(struct lbr_history *out, const struct lbr_slot *slot, uint32_t cpu, unsigned index,
                 bool inside)
{
    const struct lbr_area *area = &lbr_cpus[cpu]->areas[index];

    *out = (struct lbr_history){
        .cpu = cpu,
        .vector = lbr_vectors[index],
        .inside = inside,
        .rip = slot->rip,
        .arrivals = area->arrivals,
        .nested = area->nested,
    };
    lbr_records_decode(&lbr_machine, slot, out);
}

/* A frame on an IST stack has been moved; all others stand where the CPU pushed them. */
static bool is_of_frame(const struct lbr_slot *slot, const struct trap_frame *frame)
{
    if (slot->rip != frame->rip || slot->rsp != frame->rsp || slot->cs != frame->cs)
        return false;
    return traits[frame->vector].ist != 0 || slot->frame == (uint64_t)&frame->rip;
}

struct search {
    const struct trap_frame *frame;
    unsigned index; /* of the vector */
    uint32_t cpu;   /* of the best so far */
    bool found, inside;
    struct lbr_slot best;
};

static void search_cpu(struct search *search, uint32_t cpu)
{
    const struct lbr_area *area = &lbr_cpus[cpu]->areas[search->index];

    for (unsigned i = 0; i <= LBR_SLOTS; i++) {
        const struct lbr_slot *slot = &area->slots[i];
        if (!is_of_frame(slot, search->frame) ||
            (search->found && search->best.time >= slot->time))
            continue;
        search->best = *slot;
        __asm__ volatile("" ::: "memory"); /* loads are not reordered by the CPU */
        search->found = is_of_frame(slot, search->frame);
        search->inside = i == LBR_SLOTS;
        search->cpu = cpu;
    }
}

static bool find_index(uint64_t vector, unsigned *index)
{
    for (unsigned i = 0; i < LBR_VECTORS; i++)
        if (lbr_vectors[i] == vector) {
            *index = i;
            return true;
        }
    return false;
}

void lbr_find(const struct trap_frame *frame, struct lbr_history *out)
{
    struct search search = {.frame = frame};

    *out = (struct lbr_history){.missing = lbr_machine.reason};
    if (lbr_machine.kind == LBR_NONE)
        return;
    out->missing = "LBR is not in use";
    if (!lbr_is_on_here())
        return;
    out->missing = "this vector has no stub";
    if (!find_index(frame->vector, &search.index))
        return;
    for (uint32_t cpu = 0; cpu < cpu_count; cpu++)
        if (lbr_cpus[cpu])
            search_cpu(&search, cpu);
    out->missing = "later exceptions have taken its place";
    if (search.found)
        fill(out, &search.best, search.cpu, search.index, search.inside);
}

void lbr_find_outer(const struct lbr_history *inner, struct lbr_history *out)
{
    if (!lbr_newest(inner->cpu, inner->vector, 0, out))
        *out = (struct lbr_history){.missing = "there is none"};
}

bool lbr_newest(uint32_t cpu, uint32_t vector, uint32_t back, struct lbr_history *out)
{
    unsigned index;

    if (!lbr_cpus[cpu] || !find_index(vector, &index) || back >= LBR_SLOTS)
        return false;
    const struct lbr_area *area = &lbr_cpus[cpu]->areas[index];
    uint64_t taken = area->arrivals - area->nested;
    if (taken <= back)
        return false;
    struct lbr_slot slot = area->slots[(taken - 1 - back) % LBR_SLOTS];
    fill(out, &slot, cpu, index, false);
    return true;
}
