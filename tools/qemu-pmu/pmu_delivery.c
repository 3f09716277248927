/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interrupts and exceptions as QEMU delivers them.
 *
 * Two functions of QEMU's do so: one for exceptions and INT n, one for what comes from outside.
 * They are called through a table that belongs to the class of all vCPUs; on demand ours stand
 * there instead. An exception on the way to a handler leaves them by longjmp, and comes anew from
 * the same place.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/qemu-pmu/pmu_qemu_internal.h"

#define DEBUG_VECTOR 1
#define CLASS_WORDS 128 /* no class of a CPU is as large as that … */
#define TABLE_WORDS 32  /* … and neither function further down the table than this */

static struct {
    void (**exception)(struct cpu *cpu);
    bool (**interrupt)(struct cpu *cpu, int request);
} slot;
static void (*deliver_exception)(struct cpu *cpu);
static bool (*deliver_interrupt)(struct cpu *cpu, int request);
static const struct pmu_delivery_callbacks *callbacks;

static struct pmu_place place(const struct env_state *state)
{
    return (struct pmu_place){
        .address = state->segment[SEGMENT_CS].base + state->eip,
        .user = state->hflags & HFLAGS_CPL,
    };
}

/* Is it where the IDT's gate for #DB leads? Read from there, since where QEMU keeps the vector is
 * not known. */
static bool is_debug_handler(const struct env_state *state)
{
    bool long_mode = state->hflags & HFLAGS_LMA;
    uint64_t gate = state->segment[SEGMENT_IDT].base + DEBUG_VECTOR * (long_mode ? 16 : 8);
    uint64_t handler;
    struct {
        uint16_t low, selector, type, middle;
        uint32_t high, zero;
    } bytes = {0};

    if (qemu.cpu_memory_rw_debug(pmu_self.cpu, gate, &bytes, long_mode ? 16 : 8, false))
        return false;
    handler = bytes.low | (uint64_t)bytes.middle << 16 | (uint64_t)bytes.high << 32;
    return handler == state->eip;
}

static void delivered(struct pmu_place from, bool exception)
{
    const struct env_state *state = state_of_self();

    callbacks->after(pmu_self.index, from, place(state), exception && is_debug_handler(state));
}

static void on_exception(struct cpu *cpu)
{
    const struct env_state *state = state_of_self();
    struct pmu_place from = place(state);
    bool wanted = state->hflags & HFLAGS_PE && callbacks->before(pmu_self.index, from);

    deliver_exception(cpu);
    if (wanted)
        delivered(from, true);
}

/* It serves requests of other kinds, too, and a start-up IPI leads to real mode. */
static bool on_interrupt(struct cpu *cpu, int request)
{
    const struct env_state *state = state_of_self();
    struct pmu_place from = place(state);
    bool wanted = state->hflags & HFLAGS_PE && callbacks->before(pmu_self.index, from);
    bool served = deliver_interrupt(cpu, request);

    if (wanted && state->hflags & HFLAGS_PE && place(state).address != from.address)
        delivered(from, false);
    return served;
}

/* --- where the table is ---------------------------------------------------------------------- */

static bool is_in_image(const void *address, const void *image)
{
    Dl_info info;

    return dladdr(address, &info) && info.dli_fbase == image;
}

static void *find_slot(void **table, const void *function)
{
    for (unsigned i = 0; i < TABLE_WORDS; i++)
        if (table[i] == function)
            return &table[i];
    return NULL;
}

/* QEMU's objects begin with a pointer to their class. */
static void find_table(void)
{
    void **class = *(void ***)pmu_self.cpu;
    Dl_info image;

    if (!dladdr((void *)deliver_exception, &image))
        return;
    for (unsigned i = 0; i < CLASS_WORDS && !slot.exception; i++) {
        if ((uintptr_t) class[i] % sizeof(void *) || !is_in_image(class[i], image.dli_fbase))
            continue;
        slot.exception = find_slot(class[i], (void *)deliver_exception);
        slot.interrupt = find_slot(class[i], (void *)deliver_interrupt);
    }
}

static bool make_writable(void *address)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = (uintptr_t)address & -page;

    return !mprotect((void *)start, page, PROT_READ | PROT_WRITE);
}

void pmu_qemu_watch_deliveries(const struct pmu_delivery_callbacks *wanted)
{
    if (callbacks)
        return;
    pmu_symbol_find("x86_cpu_do_interrupt", &deliver_exception);
    pmu_symbol_find("x86_cpu_exec_interrupt", &deliver_interrupt);
    find_table();
    if (!slot.exception || !slot.interrupt)
        pmu_fatal("how this QEMU delivers interrupts is not known: use lbr=none");
    if (!make_writable(slot.exception) || !make_writable(slot.interrupt))
        pmu_fatal("QEMU's table of functions cannot be changed: use lbr=none");
    callbacks = wanted;
    __atomic_store_n(slot.exception, on_exception, __ATOMIC_RELEASE);
    __atomic_store_n(slot.interrupt, on_interrupt, __ATOMIC_RELEASE);
}
