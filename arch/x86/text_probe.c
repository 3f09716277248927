/* SPDX-License-Identifier: MIT */
/* Probes on instructions: what happens at a hit, and to contexts that are in the way.
 *
 * Moving contexts. Before the bytes behind an int3 are overwritten nobody may be about to execute
 * them, and before a block is used again nobody may be in it. Ring 0 is not preempted and no copy
 * calls anything, so a context in such a place is either running, with interrupts off, and leaves
 * it before it answers an interrupt; or it is the one that the interrupt has hit, and
 * text_probe_evacuate() sends it to where the same instructions stand. Interrupt handlers do not
 * nest, and an NMI ends before the interrupt gets through: so after all CPUs have answered once
 * (upcall_call_all_cpus) nobody is there.
 *
 * Locks: none; the hash and `moving` are atomic.
 */
#include <stddef.h>
#include "arch/x86/cpu.h"
#include "arch/x86/layout.h"
#include "arch/x86/text_probe_internal.h"
#include "kernel/panic.h"
#include "kernel/upcalls.h"

#define BUCKETS 256 /* a power of two */
#define DR6_CLEAR 0xffff0ff0ull

struct text_probe text_probes[TEXT_PROBES_MAX];
static struct text_probe *buckets[BUCKETS]; /* atomic */
static uint64_t moving; /* atomic: whose contexts are moved, and in its low bits, where to; or 0 */
_Static_assert(_Alignof(struct text_probe) > TO_ORIGINAL, "the low bits are free");

/* --- places --- */

NOPROBE uint64_t text_probe_block(const struct text_probe *probe)
{
    return (uint64_t)probe_blocks[probe - text_probes];
}

NOPROBE uint64_t text_probe_jump_copy(const struct text_probe *probe)
{
    return text_probe_block(probe) + JUMP_OFFSET + probe_template_offsets[TEMPLATE_END];
}

NOPROBE struct text_probe **text_probe_bucket(uint64_t address)
{
    return &buckets[(address ^ address >> 8) % BUCKETS];
}

static NOPROBE struct text_probe *find(uint64_t address)
{
    struct text_probe *at = __atomic_load_n(text_probe_bucket(address), __ATOMIC_ACQUIRE);

    while (at && at->address != address)
        at = __atomic_load_n(&at->next, __ATOMIC_ACQUIRE);
    return at;
}

/* Whose block RIP is in, NULL for nobody's. */
static NOPROBE struct text_probe *find_block(uint64_t rip)
{
    uint64_t offset = rip - (uint64_t)probe_blocks;

    return offset < sizeof(probe_blocks) ? &text_probes[offset / TEXT_PROBE_BLOCK] : NULL;
}

/* RIP in the block's first part, at an instruction of a copy: the same place in the original. */
static NOPROBE uint64_t resolve_copy(const struct text_probe *probe, unsigned offset, int64_t *rsp)
{
    if (probe->way == INSN_PROBE_STEPPED)
        offset %= STEP_COPY_SIZE;
    if (offset >= probe->length) {
        *rsp = 0;
        return probe->address + probe->probe.insn.length;
    }
    return insn_probe_resolve(&probe->probe, probe->address, offset, rsp);
}

static NOPROBE uint64_t resolve_jump(const struct text_probe *probe, unsigned offset, int64_t *rsp)
{
    const uint8_t *offsets = probe_template_offsets;

    if (offset >= offsets[TEMPLATE_END])
        return insn_probe_resolve_run(&probe->run, offset - offsets[TEMPLATE_END], rsp);
    if (offset == 0)
        *rsp = 0;
    else if (offset == offsets[SS_PUSHED])
        *rsp = 8;
    else if (offset == offsets[FLAGS_PUSHED])
        *rsp = 24;
    else
        *rsp = 16; /* one more pushed, or all but two popped */
    return probe->address;
}

static NOPROBE uint64_t resolve(const struct text_probe *probe, uint64_t rip, int64_t *rsp)
{
    unsigned offset = (unsigned)(rip - text_probe_block(probe));

    return offset < JUMP_OFFSET ? resolve_copy(probe, offset, rsp)
                                : resolve_jump(probe, offset - JUMP_OFFSET, rsp);
}

uint64_t text_probe_original(uint64_t rip)
{
    const struct text_probe *probe = find_block(rip);
    int64_t rsp;

    return probe && probe->address ? resolve(probe, rip, &rsp) : rip;
}

/* --- hits --- */

/* On the copy that says whether interrupts were on. */
static NOPROBE void start_step(const struct text_probe *probe, struct trap_frame *frame)
{
    frame->rip = text_probe_block(probe) + (frame->rflags & RFLAGS_IF ? 0 : STEP_COPY_SIZE);
    frame->rflags = (frame->rflags & ~RFLAGS_IF) | RFLAGS_TF;
}

static NOPROBE void go_on(const struct text_probe *probe, struct trap_frame *frame)
{
    uint64_t detour = __atomic_load_n(&probe->detour, __ATOMIC_ACQUIRE);

    if (detour)
        frame->rip = detour;
    else if (probe->way == INSN_PROBE_EMULATED)
        insn_probe_emulate(&probe->probe, frame);
    else if (probe->way == INSN_PROBE_BOOSTED)
        frame->rip = text_probe_block(probe);
    else
        start_step(probe, frame);
}

NOPROBE bool text_probe_breakpoint(struct trap_frame *frame)
{
    struct text_probe *probe = find(frame->rip - 1);

    if (!probe)
        return false;
    frame->rip = probe->address;
    upcall_probe_hit(probe->owner, frame);
    frame->rip = probe->address;
    go_on(probe, frame);
    return true;
}

NOPROBE void text_probe_jumped(struct trap_frame *frame, struct text_probe *probe)
{
    upcall_probe_hit(probe->owner, frame);
}

static NOPROBE bool was_enabled(const struct text_probe *probe, uint64_t rip)
{
    return rip - text_probe_block(probe) < STEP_COPY_SIZE;
}

/* A string instruction with REP traps after each iteration, and is then still at its beginning. */
NOPROBE bool text_probe_debug(struct trap_frame *frame)
{
    struct text_probe *probe = find_block(frame->rip);

    if (!probe || probe->way != INSN_PROBE_STEPPED)
        return false;
    __asm__ volatile("mov %0, %%dr6" ::"r"(DR6_CLEAR));
    unsigned offset = (unsigned)(frame->rip - text_probe_block(probe)) % STEP_COPY_SIZE;
    if (offset == 0)
        return true;
    kassert_equal(offset, probe->length);
    insn_probe_finish_step(&probe->probe, frame, (uint64_t *)frame->rsp,
                           was_enabled(probe, frame->rip));
    frame->rip = probe->address + probe->length;
    return true;
}

NOPROBE void text_probe_fault(struct trap_frame *frame)
{
    struct text_probe *probe = find_block(frame->rip);
    int64_t rsp;

    if (!probe || !probe->address)
        return;
    if (probe->way == INSN_PROBE_STEPPED && frame->rip - text_probe_block(probe) < JUMP_OFFSET) {
        frame->rflags &= ~RFLAGS_TF;
        if (was_enabled(probe, frame->rip))
            frame->rflags |= RFLAGS_IF;
    }
    frame->rip = resolve(probe, frame->rip, &rsp);
    frame->rsp += (uint64_t)rsp;
}

/* --- moving contexts --- */

/* Of the run's instruction at `original`; what is not in the run stays. */
static uint64_t in_jump_copy(const struct text_probe *probe, uint64_t original)
{
    uint64_t at = probe->address;
    unsigned i = 0;

    while (at < original && i < probe->run.count)
        at += probe->run.probes[i++].insn.length;
    return at == original && i < probe->run.count
               ? text_probe_jump_copy(probe) + probe->run.offsets[i]
               : original;
}

/* Contexts in the jump's own copy are where they shall be. One that a copied LOOP takes to the
 * run's first instruction is to hit the probe again. */
static void move_to_jump_copy(const struct text_probe *probe, struct trap_frame *frame)
{
    uint64_t offset = frame->rip - text_probe_block(probe), original = frame->rip;
    int64_t rsp = 0;

    if (offset < JUMP_OFFSET)
        original = resolve(probe, frame->rip, &rsp);
    if (offset == 0 || original != probe->address)
        original = in_jump_copy(probe, original);
    frame->rip = original;
    frame->rsp += (uint64_t)rsp;
}

void text_probe_evacuate(struct trap_frame *frame)
{
    uint64_t now = __atomic_load_n(&moving, __ATOMIC_ACQUIRE);
    const struct text_probe *probe = (const struct text_probe *)(now & ~3ull);
    int64_t rsp;

    if ((now & 3) == TO_JUMP_COPY)
        move_to_jump_copy(probe, frame);
    if ((now & 3) != TO_ORIGINAL || find_block(frame->rip) != probe)
        return;
    frame->rip = resolve(probe, frame->rip, &rsp);
    frame->rsp += (uint64_t)rsp;
}

static void synchronise_here(void *unused)
{
    uint32_t ignored[4];

    (void)unused;
    cpu_cpuid(0, 0, ignored);
}

void text_probe_move_contexts(const struct text_probe *probe, enum evacuation where)
{
    __atomic_store_n(&moving, (uint64_t)probe | where, __ATOMIC_RELEASE);
    upcall_call_all_cpus(synchronise_here, NULL, "every CPU to leave a probe's copies");
    __atomic_store_n(&moving, STAY, __ATOMIC_RELEASE);
}
