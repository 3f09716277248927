/* SPDX-License-Identifier: MIT */
/* Each CPU's stubs and the IDT that leads to them; on and off; finding a history.
 *
 * What a stub wrote is read by its own CPU, or by another one on which the thread has gone on: the
 * key is compared again after copying, and a stub writes the key before the records.
 */
#include "arch/x86/lbr.h"

#include "arch/x86/cpu.h"
#include "arch/x86/gdt.h"
#include "arch/x86/idt.h"
#include "arch/x86/layout.h"
#include "arch/x86/lbr_registers.h"
#include "arch/x86/lbr_stub.h"
#include "arch/x86/paging.h"
#include "arch/x86/vectors.h"
#include "kernel/panic.h"
#include "kernel/string.h"

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

static struct lbr_cpu *lbr_cpus[MAX_CPUS];            /* fixed once built */
static uint64_t lbr_stubs[MAX_CPUS][LBR_VECTORS + 1]; /* where they begin; fixed once built */

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

    if (!lbr_is_on_here())
        clear_areas(data, this_cpu()->index);
    lbr_registers_stop();
    idt_load_table(data->idt);
    if (lbr_registers_start(select))
        return true;
    lbr_stop_here();
    return false;
}

void lbr_stop_here(void)
{
    if (!lbr_is_on_here())
        return;
    lbr_registers_stop();
    idt_load();
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

/* Frames on IST stacks have been moved, and those of #BP (entry.asm); all others stand where the
 * CPU pushed them. */
static bool is_of_frame(const struct lbr_slot *slot, const struct trap_frame *frame)
{
    if (slot->rip != frame->rip || slot->rsp != frame->rsp || slot->cs != frame->cs)
        return false;
    bool moved = traits[frame->vector].ist != 0 || frame->vector == VECTOR_BREAKPOINT;
    return moved || slot->frame == (uint64_t)&frame->rip;
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
        if (!is_of_frame(slot, search->frame) || (search->found && search->best.time >= slot->time))
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
