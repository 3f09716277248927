/* SPDX-License-Identifier: MIT */
/* The protocol that changes instructions under running CPUs.
 *
 * Locks: upcall_patch_lock() for all but the entry of #BP, which reads `batch` without any: it is
 * set before the first int3 is written and reset after the last synchronisation. A CPU answers
 * a synchronisation by an ordinary interrupt, so it is in no handler of #BP then, and in none that
 * an NMI has put in between; afterwards it cannot fetch an int3 that was overwritten before. So
 * nobody looks at a batch that is over, or misses one.
 */
#include "arch/x86/text_patch.h"

#include "arch/x86/cpu.h"
#include "arch/x86/layout.h"
#include "arch/x86/paging.h"
#include "kernel/err.h"
#include "kernel/marker.h"
#include "kernel/panic.h"
#include "kernel/string.h"
#include "kernel/upcalls.h"

static struct {
    const struct text_patch *patches; /* atomic; NULL: no batch */
    size_t count;                     /* set before */
} batch;
static struct text_patch_stats stats; /* patch lock; emulated: atomic */

/* --- the entry of #BP --- */

/* The owner's int3, not ours. */
static NOPROBE bool foreign(const struct text_patch *patch)
{
    return patch->old_bytes[0] == TEXT_INT3 || patch->new_bytes[0] == TEXT_INT3;
}

NOPROBE bool text_patch_breakpoint(struct trap_frame *frame)
{
    const struct text_patch *patches = __atomic_load_n(&batch.patches, __ATOMIC_ACQUIRE);
    uint64_t address = frame->rip - 1;
    size_t low = 0, high = patches ? batch.count : 0;

    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct text_patch *patch = &patches[middle];
        if (patch->address == address) {
            if (foreign(patch) || !text_emulate(frame, address, patch->new_bytes, patch->length))
                return false;
            __atomic_fetch_add(&stats.emulated, 1, __ATOMIC_RELAXED);
            return true;
        }
        if (patch->address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* --- before anything is written --- */

/* Insertion: batches come from tables that are nearly in order. */
static void sort(struct text_patch *patches, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct text_patch moving = patches[i];
        size_t at = i;
        for (; at > 0 && patches[at - 1].address > moving.address; at--)
            patches[at] = patches[at - 1];
        patches[at] = moving;
    }
}

/* By trying it on a frame that nobody returns to; a stack word for CALL. */
static bool can_be_emulated(const struct text_patch *patch)
{
    uint64_t stack[2];
    struct trap_frame frame = {.rsp = (uint64_t)&stack[1]};

    return foreign(patch) || text_emulate(&frame, patch->address, patch->new_bytes, patch->length);
}

static int verify(const struct text_patch *patch, const struct text_patch *next)
{
    uint64_t end = patch->address + patch->length;

    if (patch->length == 0 || patch->length > TEXT_PATCH_MAX ||
        patch->address < (uint64_t)text_start || end > (uint64_t)text_end ||
        (next && next->address < end) ||
        (end > (uint64_t)noprobe_start && patch->address < (uint64_t)noprobe_end))
        return ERR_TEXT_RANGE;
    if (memcmp((const void *)patch->address, patch->old_bytes, patch->length) != 0)
        return ERR_TEXT_BYTES;
    return can_be_emulated(patch) ? 0 : ERR_TEXT_OPCODE;
}

/* --- writing --- */

static void write_bytes(const struct text_patch *patch, unsigned first, unsigned count,
                        const uint8_t *bytes)
{
    if (count == 0)
        return;
    volatile uint8_t *alias = paging_open_text(patch->address);
    for (unsigned i = first; i < first + count; i++)
        alias[i] = bytes[i];
    paging_close_text();
}

/* CPUID serialises on every CPU that there is (Intel SDM vol. 3, "Serializing Instructions"; AMD
 * APM vol. 2, 7.6.4); INVLPG does, too, but is here for the alias. */
static void synchronise_here(void *unused)
{
    uint32_t ignored[4];

    (void)unused;
    paging_flush_text();
    cpu_cpuid(0, 0, ignored);
}

static void synchronise(void)
{
    stats.synchronisations++;
    upcall_call_all_cpus(synchronise_here, NULL, "every CPU to see patched text");
}

static void write_first_bytes(const struct text_patch *patches, size_t count)
{
    for (size_t i = 0; i < count; i++)
        write_bytes(&patches[i], 0, 1, patches[i].new_bytes);
    synchronise();
}

/* The last step is done twice for QEMU's translator (seen in version 10.0.2, a thread for each
 * CPU). There the store comes after the removal of the code that was translated from the old byte;
 * a CPU that translates in between goes on with the old byte for ever, serialised or not. By the
 * first synchronisation no CPU is in such a translation any more; the second store removes what has
 * come of them, and by the second synchronisation nobody is still in it. The steps before need no
 * such thing, since each of them is followed by a store to the same instruction. */
static void write_batch(const struct text_patch *patches, size_t count)
{
    static const uint8_t int3[] = {TEXT_INT3};
    bool tails = false;

    for (size_t i = 0; i < count; i++) {
        tails = tails || patches[i].length > 1;
        if (patches[i].length > 1 && patches[i].old_bytes[0] != TEXT_INT3)
            write_bytes(&patches[i], 0, 1, int3);
    }
    if (tails) {
        synchronise();
        for (size_t i = 0; i < count; i++)
            write_bytes(&patches[i], 1, patches[i].length - 1u, patches[i].new_bytes);
        synchronise();
    }
    write_first_bytes(patches, count);
    write_first_bytes(patches, count);
}

static int apply(struct text_patch *patches, size_t count, uint64_t *bad)
{
    sort(patches, count);
    MARKER(text_patch, MARKER_ARG(count, count), MARKER_ARG(first, (void *)patches[0].address));
    for (size_t i = 0; i < count; i++) {
        int error = verify(&patches[i], i + 1 < count ? &patches[i + 1] : NULL);
        if (error && bad)
            *bad = patches[i].address;
        if (error)
            return error;
    }
    batch.count = count;
    __atomic_store_n(&batch.patches, patches, __ATOMIC_RELEASE);
    write_batch(patches, count);
    __atomic_store_n(&batch.patches, NULL, __ATOMIC_RELEASE);
    MARKER(text_patched, MARKER_ARG(count, count));
    stats.batches++;
    stats.patches += count;
    return 0;
}

int text_patch_apply(struct text_patch *patches, size_t count, uint64_t *bad)
{
    if (count == 0)
        return 0;
    upcall_patch_lock();
    int error = apply(patches, count, bad);
    upcall_patch_unlock();
    return error;
}

void text_patch_get_stats(struct text_patch_stats *out)
{
    upcall_patch_lock();
    *out = stats;
    upcall_patch_unlock();
}
