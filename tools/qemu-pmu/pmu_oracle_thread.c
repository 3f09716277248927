/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When an instruction has retired, and the hash. Pure. */
#include "tools/qemu-pmu/pmu_oracle_thread.h"

#define ADDRESS(packed) ((packed) & (ORACLE_USER_END - 1))
#define SHAPE(packed) ((enum oracle_shape)((packed) >> 48 & 0xf))
#define ACCESSES(packed) ((unsigned)((packed) >> 52 & 0xf))

/* For each value a bijection of the hash, so a difference stays one unless another one undoes it,
 * by a chance of 1 in 2^64. */
static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 32;
    hash *= 0xd6e8feb86659fd93ull;
    return hash ^ hash >> 29;
}

void oracle_thread_init(struct oracle_thread *thread, uint64_t step)
{
    thread->step = step;
    thread->count = thread->hash = thread->pending = 0;
}

static void retire(struct oracle_thread *thread)
{
    uint64_t address = ADDRESS(thread->pending);

    thread->hash = thread->tentative;
    thread->pending = 0;
    if (++thread->count % thread->step == 0)
        thread->chunk(thread, address);
}

/* The thread is at `address`: has the pending instruction retired? */
static bool has_retired(const struct oracle_thread *thread, uint64_t address)
{
    uint64_t pending = thread->pending;

    if (ADDRESS(pending) != address)
        return true;
    return SHAPE(pending) == ORACLE_BRANCH && thread->accesses >= ACCESSES(pending);
}

static void begin(struct oracle_thread *thread, uint64_t packed)
{
    thread->pending = packed;
    thread->kept = mix(thread->hash, ADDRESS(packed));
    thread->iterated = false;
}

void oracle_thread_starts(struct oracle_thread *thread, uint64_t packed)
{
    if (thread->pending && has_retired(thread, ADDRESS(packed)))
        retire(thread);
    if (thread->pending != packed)
        begin(thread, packed);
    thread->tentative = thread->kept;
    thread->accesses = 0;
}

void oracle_thread_access(struct oracle_thread *thread, uint64_t address, unsigned size_shift,
                          bool store, uint64_t low, uint64_t high)
{
    uint64_t pending = thread->pending;

    if (!pending || SHAPE(pending) == ORACLE_QUIET)
        return;
    thread->tentative = mix(thread->tentative, address << 8 | size_shift << 1 | store);
    if (size_shift < 3)
        low &= (1ull << (8u << size_shift)) - 1;
    thread->tentative = mix(thread->tentative, low);
    if (size_shift > 3)
        thread->tentative = mix(thread->tentative, high);
    if (++thread->accesses != ACCESSES(pending) || SHAPE(pending) != ORACLE_REP)
        return;
    thread->kept = thread->tentative;
    thread->accesses = 0;
    thread->iterated = true;
}

void oracle_thread_emulated(struct oracle_thread *thread, uint64_t address)
{
    if (thread->pending && has_retired(thread, address))
        retire(thread);
    begin(thread, oracle_pack(address, ORACLE_QUIET, 0));
    thread->tentative = thread->kept;
    retire(thread);
}

void oracle_thread_ended(struct oracle_thread *thread, uint64_t address)
{
    if (!thread->pending)
        return;
    if (has_retired(thread, address))
        retire(thread);
    else if (thread->iterated)
        thread->hash = thread->kept; /* amid a `rep` */
    thread->pending = 0;
}
