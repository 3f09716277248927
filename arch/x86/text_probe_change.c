/* SPDX-License-Identifier: MIT */
/* Probes on instructions: the copies, and what stands in the text.
 *
 * Locks: the caller's mutex for all of it; the patcher's while a block is written.
 */
#include <stddef.h>
#include "arch/x86/layout.h"
#include "arch/x86/paging.h"
#include "arch/x86/text_patch.h"
#include "arch/x86/text_probe_internal.h"
#include "kernel/err.h"
#include "kernel/panic.h"
#include "kernel/string.h"
#include "kernel/upcalls.h"

/* --- changing the text --- */

static void write_block(const struct text_probe *probe, unsigned offset, const uint8_t *bytes,
                        unsigned count)
{
    kassert(offset + count <= TEXT_PROBE_BLOCK);
    upcall_patch_lock();
    memcpy(paging_open_text(text_probe_block(probe) + offset), bytes, count);
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
    uint64_t to = text_probe_block(probe) + offset,
             next = probe->address + probe->probe.insn.length;
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
    struct text_probe **first = text_probe_bucket(probe->address);

    probe->next = *first;
    __atomic_store_n(first, probe, __ATOMIC_RELEASE);
}

/* Nobody hits it any more. */
static void withdraw(struct text_probe *probe)
{
    struct text_probe **place = text_probe_bucket(probe->address);

    while (*place != probe)
        place = &(*place)->next;
    __atomic_store_n(place, probe->next, __ATOMIC_RELEASE);
}

static struct text_probe *take_free(void)
{
    for (unsigned i = 0; i < TEXT_PROBES_MAX; i++)
        if (!text_probes[i].address)
            return &text_probes[i];
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
    uint64_t call_end = text_probe_block(probe) + JUMP_OFFSET + probe_template_offsets[CALL_HOLE];

    memcpy(code, probe_template, length);
    fill_hole(code, RIP_HOLE, probe->address, 4);
    fill_hole(code, PROBE_HOLE, (uint64_t)probe, 8);
    fill_hole(code, CALL_HOLE, (uint64_t)text_probe_jumped - call_end, 4);
    enum insn_probe_refusal refusal = insn_probe_copy_run(&probe->run, text_probe_jump_copy(probe),
                                                          code + length, sizeof(code) - length);
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

    if (!insn_probe_make_jump(probe->address, text_probe_block(probe) + JUMP_OFFSET, jump))
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
    __atomic_store_n(&probe->detour, text_probe_jump_copy(probe), __ATOMIC_RELEASE);
    text_probe_move_contexts(probe, TO_JUMP_COPY);
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
    text_probe_move_contexts(probe, TO_ORIGINAL);
    withdraw(probe);
    clear_block(probe);
    probe->address = 0;
    return 0;
}

/* --- for listings --- */

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
