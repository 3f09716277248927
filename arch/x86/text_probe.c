/* SPDX-License-Identifier: MIT */
/* Probes on instructions: what happens at a hit, and what changes the text.
 *
 * A block: [0, 32) the copy that is stepped if interrupts were on, or the one that runs by itself;
 * [32, 64) the copy that is stepped if they were off; from 64 what the jump leads to.
 *
 * Moving contexts. Before the bytes behind an int3 are overwritten nobody may be about to execute
 * them, and before a block is used again nobody may be in it. Ring 0 is not preempted and no copy
 * calls anything, so a context in such a place is either running, with interrupts off, and leaves
 * it before it answers an interrupt; or it is the one that the interrupt has hit, and
 * text_probe_evacuate() sends it to where the same instructions stand. Interrupt handlers do not
 * nest, and an NMI ends before the interrupt gets through: so after all CPUs have answered once
 * (upcall_call_all_cpus) nobody is there.
 *
 * Locks: the caller's mutex for all but what is marked atomic.
 */
#include "arch/x86/text_probe.h"

#include <stddef.h>
#include "arch/x86/cpu.h"
#include "arch/x86/layout.h"
#include "arch/x86/paging.h"
#include "arch/x86/text_patch.h"
#include "kernel/err.h"
#include "kernel/panic.h"
#include "kernel/string.h"
#include "kernel/upcalls.h"

#define BUCKETS 256 /* a power of two */
#define STEP_COPIES 2
#define STEP_COPY_SIZE 32
#define JUMP_OFFSET (STEP_COPIES * STEP_COPY_SIZE)
#define DR6_CLEAR 0xffff0ff0ull

enum evacuation {
    STAY,
    TO_JUMP_COPY, /* from the run and from the copy of its first instruction */
    TO_ORIGINAL,  /* from the block */
};

struct text_probe {
    struct text_probe *next; /* atomic; of the bucket */
    uint64_t address;        /* 0: free */
    void *owner;
    struct insn_probe probe;
    uint8_t way;     /* enum insn_probe_way: which is used */
    uint8_t length;  /* of the copy without its jump back */
    bool jumps;      /* a jump stands in the text */
    uint64_t detour; /* atomic; where hits go on, instead of at the copy; 0: nowhere else */
    struct insn_probe_run run;
};

/* The bytes of probe_template (probe_entry.asm). */
enum template_offset {
    SS_PUSHED,
    RSP_PUSHED,
    FLAGS_PUSHED,
    RIP_HOLE,
    PROBE_HOLE,
    CALL_HOLE,
    UNMASKED,
    TEMPLATE_END,
};
extern const uint8_t probe_template[], probe_template_offsets[];
extern uint8_t probe_blocks[TEXT_PROBES_MAX][TEXT_PROBE_BLOCK]; /* in text: not to be written */

static struct text_probe probes[TEXT_PROBES_MAX];
static struct text_probe *buckets[BUCKETS]; /* atomic */
static uint64_t moving; /* atomic: whose contexts are moved, and in its low bits, where to; or 0 */
_Static_assert(_Alignof(struct text_probe) > TO_ORIGINAL, "the low bits are free");

void text_probe_jumped(struct trap_frame *frame, struct text_probe *probe); /* by the template */

/* --- places --- */

static NOPROBE uint64_t block(const struct text_probe *probe)
{
    return (uint64_t)probe_blocks[probe - probes];
}

static NOPROBE uint64_t jump_copy(const struct text_probe *probe)
{
    return block(probe) + JUMP_OFFSET + probe_template_offsets[TEMPLATE_END];
}

static NOPROBE struct text_probe **bucket(uint64_t address)
{
    return &buckets[(address ^ address >> 8) % BUCKETS];
}

static NOPROBE struct text_probe *find(uint64_t address)
{
    struct text_probe *at = __atomic_load_n(bucket(address), __ATOMIC_ACQUIRE);

    while (at && at->address != address)
        at = __atomic_load_n(&at->next, __ATOMIC_ACQUIRE);
    return at;
}

/* Whose block RIP is in, NULL for nobody's. */
static NOPROBE struct text_probe *find_block(uint64_t rip)
{
    uint64_t offset = rip - (uint64_t)probe_blocks;

    return offset < sizeof(probe_blocks) ? &probes[offset / TEXT_PROBE_BLOCK] : NULL;
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
    unsigned offset = (unsigned)(rip - block(probe));

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
    frame->rip = block(probe) + (frame->rflags & RFLAGS_IF ? 0 : STEP_COPY_SIZE);
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
        frame->rip = block(probe);
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
    return rip - block(probe) < STEP_COPY_SIZE;
}

/* A string instruction with REP traps after each iteration, and is then still at its beginning. */
NOPROBE bool text_probe_debug(struct trap_frame *frame)
{
    struct text_probe *probe = find_block(frame->rip);

    if (!probe || probe->way != INSN_PROBE_STEPPED)
        return false;
    __asm__ volatile("mov %0, %%dr6" ::"r"(DR6_CLEAR));
    unsigned offset = (unsigned)(frame->rip - block(probe)) % STEP_COPY_SIZE;
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
    if (probe->way == INSN_PROBE_STEPPED && frame->rip - block(probe) < JUMP_OFFSET) {
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
    return at == original && i < probe->run.count ? jump_copy(probe) + probe->run.offsets[i]
                                                  : original;
}

/* Contexts in the jump's own copy are where they shall be. One that a copied LOOP takes to the
 * run's first instruction is to hit the probe again. */
static void move_to_jump_copy(const struct text_probe *probe, struct trap_frame *frame)
{
    uint64_t offset = frame->rip - block(probe), original = frame->rip;
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

static void evacuate(const struct text_probe *probe, enum evacuation where)
{
    __atomic_store_n(&moving, (uint64_t)probe | where, __ATOMIC_RELEASE);
    upcall_call_all_cpus(synchronise_here, NULL, "every CPU to leave a probe's copies");
    __atomic_store_n(&moving, STAY, __ATOMIC_RELEASE);
}

/* --- changing the text --- */

static void write_block(const struct text_probe *probe, unsigned offset, const uint8_t *bytes,
                        unsigned count)
{
    kassert(offset + count <= TEXT_PROBE_BLOCK);
    upcall_patch_lock();
    memcpy(paging_open_text(block(probe) + offset), bytes, count);
    paging_close_text();
    upcall_patch_unlock();
}

static void clear_block(const struct text_probe *probe)
{
    uint8_t bytes[TEXT_PROBE_BLOCK];

    memset(bytes, TEXT_INT3, sizeof(bytes));
    write_block(probe, 0, bytes, sizeof(bytes));
}

/* One copy, followed by a jump to what comes after the original. */
static enum insn_probe_refusal write_copy(struct text_probe *probe, unsigned offset)
{
    uint8_t copy[INSN_PROBE_COPY_MAX + INSN_PROBE_JUMP_LENGTH];
    uint64_t to = block(probe) + offset, next = probe->address + probe->probe.insn.length;
    unsigned length = insn_probe_relocate(&probe->probe, probe->address, to, copy);

    if (length == 0 || !insn_probe_make_jump(to + length, next, copy + length))
        return INSN_PROBE_REACH;
    probe->length = (uint8_t)length;
    write_block(probe, offset, copy, length + INSN_PROBE_JUMP_LENGTH);
    return INSN_PROBE_NONE;
}

static enum insn_probe_refusal write_copies(struct text_probe *probe)
{
    enum insn_probe_refusal refusal = INSN_PROBE_NONE;

    clear_block(probe);
    if (probe->way != INSN_PROBE_EMULATED)
        refusal = write_copy(probe, 0);
    if (refusal == INSN_PROBE_NONE && probe->way == INSN_PROBE_STEPPED)
        refusal = write_copy(probe, STEP_COPY_SIZE);
    return refusal;
}

static enum insn_probe_refusal choose_way(struct text_probe *probe, enum text_probe_mode mode)
{
    const struct insn_probe *insn = &probe->probe;

    if (insn->way == INSN_PROBE_REFUSED)
        return insn->refusal;
    if (mode == TEXT_PROBE_STEP && !insn->can_step)
        return INSN_PROBE_NO_STEP;
    probe->way = mode == TEXT_PROBE_STEP   ? INSN_PROBE_STEPPED
                 : mode == TEXT_PROBE_COPY ? INSN_PROBE_BOOSTED
                                           : insn->way;
    return write_copies(probe);
}

static void publish(struct text_probe *probe)
{
    struct text_probe **first = bucket(probe->address);

    probe->next = *first;
    __atomic_store_n(first, probe, __ATOMIC_RELEASE);
}

/* Nobody hits it any more. */
static void withdraw(struct text_probe *probe)
{
    struct text_probe **place = bucket(probe->address);

    while (*place != probe)
        place = &(*place)->next;
    __atomic_store_n(place, probe->next, __ATOMIC_RELEASE);
}

static struct text_probe *take_free(void)
{
    for (unsigned i = 0; i < TEXT_PROBES_MAX; i++)
        if (!probes[i].address)
            return &probes[i];
    return NULL;
}

/* The first byte, from or to an int3. */
static int patch_int3(const struct text_probe *probe, bool on)
{
    struct text_patch patch = {.address = probe->address, .length = 1};

    patch.old_bytes[0] = on ? probe->probe.bytes[0] : TEXT_INT3;
    patch.new_bytes[0] = on ? TEXT_INT3 : probe->probe.bytes[0];
    return text_patch_apply(&patch, 1, NULL);
}

int text_probe_arm(uint64_t address, enum text_probe_mode mode, void *owner,
                   struct text_probe **out, enum insn_probe_refusal *reason)
{
    struct text_probe *probe = take_free();
    uint64_t left = (uint64_t)text_end - address;

    if (!probe)
        return ERR_TABLE_FULL;
    *probe = (struct text_probe){.address = address, .owner = owner};
    insn_probe_classify((const uint8_t *)address, left < INSN_MAX_LENGTH ? (unsigned)left : 15,
                        &probe->probe);
    *reason = choose_way(probe, mode);
    int error = *reason == INSN_PROBE_NONE ? 0 : ERR_NOT_PROBEABLE;
    if (!error) {
        publish(probe);
        error = patch_int3(probe, true);
        if (error)
            withdraw(probe);
    }
    if (error)
        probe->address = 0;
    *out = probe;
    return error;
}

/* Before the address of a hole's end: 4 or 8 bytes. */
static void fill_hole(uint8_t *code, enum template_offset hole, uint64_t value, unsigned size)
{
    memcpy(code + probe_template_offsets[hole] - size, &value, size);
}

static enum insn_probe_refusal write_jump_copy(struct text_probe *probe)
{
    uint8_t code[TEXT_PROBE_BLOCK - JUMP_OFFSET];
    unsigned length = probe_template_offsets[TEMPLATE_END];
    uint64_t call_end = block(probe) + JUMP_OFFSET + probe_template_offsets[CALL_HOLE];

    memcpy(code, probe_template, length);
    fill_hole(code, RIP_HOLE, probe->address, 4);
    fill_hole(code, PROBE_HOLE, (uint64_t)probe, 8);
    fill_hole(code, CALL_HOLE, (uint64_t)text_probe_jumped - call_end, 4);
    enum insn_probe_refusal refusal =
        insn_probe_copy_run(&probe->run, jump_copy(probe), code + length, sizeof(code) - length);
    if (refusal == INSN_PROBE_NONE)
        write_block(probe, JUMP_OFFSET, code, length + probe->run.copy_length);
    return refusal;
}

/* Of the run as it was found, which a jump may have replaced. */
static void run_bytes(const struct text_probe *probe, uint8_t bytes[INSN_PROBE_JUMP_LENGTH])
{
    unsigned at = 0;

    for (unsigned i = 0; i < probe->run.count; i++)
        for (unsigned k = 0; k < probe->run.probes[i].insn.length; k++)
            if (at < INSN_PROBE_JUMP_LENGTH)
                bytes[at++] = probe->run.probes[i].bytes[k];
    bytes[0] = TEXT_INT3;
}

/* The run is read from the text, where its first byte is the int3's. */
static enum insn_probe_refusal find_run(struct text_probe *probe, const struct text_map *map,
                                        uint64_t end)
{
    uint8_t text[INSN_PROBE_RUN_MAX + INSN_MAX_LENGTH];
    uint64_t left = (uint64_t)text_end - probe->address;

    memcpy(text, (const void *)probe->address, left < sizeof(text) ? left : sizeof(text));
    text[0] = probe->probe.bytes[0];
    return insn_probe_find_run(map, text, probe->address, end, &probe->run);
}

static int patch_jump(struct text_probe *probe, bool on)
{
    struct text_patch patch = {.address = probe->address, .length = INSN_PROBE_JUMP_LENGTH};
    uint8_t *jump = on ? patch.new_bytes : patch.old_bytes;

    if (!insn_probe_make_jump(probe->address, block(probe) + JUMP_OFFSET, jump))
        return ERR_NOT_PROBEABLE;
    run_bytes(probe, on ? patch.old_bytes : patch.new_bytes);
    return text_patch_apply(&patch, 1, NULL);
}

int text_probe_set_jump(struct text_probe *probe, const struct text_map *map, uint64_t end,
                        enum insn_probe_refusal *reason)
{
    kassert(!probe->jumps);
    *reason = find_run(probe, map, end);
    if (*reason == INSN_PROBE_NONE)
        *reason = write_jump_copy(probe);
    if (*reason != INSN_PROBE_NONE)
        return ERR_NOT_PROBEABLE;
    __atomic_store_n(&probe->detour, jump_copy(probe), __ATOMIC_RELEASE);
    evacuate(probe, TO_JUMP_COPY);
    int error = patch_jump(probe, true);
    probe->jumps = error == 0;
    if (error)
        __atomic_store_n(&probe->detour, 0, __ATOMIC_RELEASE);
    return error;
}

/* Who is in the jump's copy stays there and leaves it at its end: it is kept. */
int text_probe_clear_jump(struct text_probe *probe)
{
    if (!probe->jumps)
        return 0;
    int error = patch_jump(probe, false);
    if (error)
        return error;
    probe->jumps = false;
    __atomic_store_n(&probe->detour, 0, __ATOMIC_RELEASE);
    return 0;
}

int text_probe_disarm(struct text_probe *probe)
{
    int error = text_probe_clear_jump(probe);

    if (!error)
        error = patch_int3(probe, false);
    if (error)
        return error;
    evacuate(probe, TO_ORIGINAL);
    withdraw(probe);
    clear_block(probe);
    probe->address = 0;
    return 0;
}

/* --- for listings --- */

uint64_t text_probe_address(const struct text_probe *probe)
{
    return probe->address;
}

unsigned text_probe_length(const struct text_probe *probe)
{
    return probe->jumps ? probe->run.length : probe->probe.insn.length;
}

const char *text_probe_way(const struct text_probe *probe)
{
    static const char *const ways[] = {
        [INSN_PROBE_REFUSED] = "refused",
        [INSN_PROBE_EMULATED] = "emulated",
        [INSN_PROBE_BOOSTED] = "boosted",
        [INSN_PROBE_STEPPED] = "stepped",
    };
    return probe->jumps ? "jump" : ways[probe->way];
}
