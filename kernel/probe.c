/* SPDX-License-Identifier: MIT */
/* The probe manager: chains by name, their readers, the grace period.
 *
 * The grace period. The kernel is not preempted and a probe does not sleep, so on each CPU the
 * calls of probe_run() are strictly nested, interrupts and NMIs included, and end on the CPU where
 * they began. A CPU's `word` holds how deep it is in (low byte) and how often it has left the
 * outermost one (the rest). probe_synchronize() reads each word once, W0, then waits until the
 * depth is 0 or the upper part differs from W0's. Either says that the outermost call of the time
 * of W0 has ended, and with it all that were nested in it. Calls that began after W0 was read do
 * not matter: the reader enters by a locked add, which is a full barrier, and reads the chain after
 * it. Either its add comes before the read of W0, and it is waited for, or after it; the unlinking
 * came before the read of W0 (a full barrier stands between), so the reader finds the probe
 * unlinked. A storm of hits delays nothing: the outermost call ends whatever nests in it.
 *
 * An unlinked probe keeps its `next` until the grace period is over. What that points to is
 * not freed earlier: removals come one at a time.
 *
 * Locks: `manager`, a sleeping mutex, for all that writes. Readers take none.
 */
#include "kernel/probe.h"

#include <stddef.h>

#include "arch/x86/cpu.h"
#include "arch/x86/layout.h"
#include "kernel/err.h"
#include "kernel/panic.h"
#include "kernel/probe_internal.h"
#include "kernel/probe_leaf.h"
#include "kernel/spinlock.h"
#include "kernel/string.h"
#include "kernel/wait.h"
#include "kernel/waitqueue.h"
#include "mm/heap.h"

#define DEPTH_LIMIT 64 /* far more contexts than can nest */

struct probe_cpu probe_cpus[MAX_CPUS];
static struct mutex manager;
static struct probe_chain chains[PROBE_CHAINS_MAX];

void probe_lock(void)
{
    mutex_lock(&manager);
}

void probe_unlock(void)
{
    mutex_unlock(&manager);
}

/* --- readers --- */

static inline __attribute__((always_inline)) bool can_run(const struct probe *probe,
                                                          const struct cpu *cpu)
{
    if (cpu->nmi_depth && !(probe->flags & PROBE_NMI_SAFE))
        return false;
    return !(probe->flags & PROBE_PRINTS) || spin_can_lock(LOCK_CONSOLE);
}

static inline __attribute__((always_inline)) void
call(struct probe *probe, const struct probe_hit *hit, const struct cpu *cpu, bool recursion)
{
    struct probe_count *count = &probe->counts[cpu->index];

    if (recursion || !can_run(probe, cpu)) {
        __atomic_add_fetch(&count->misses, 1, __ATOMIC_RELAXED);
        return;
    }
    __atomic_add_fetch(&count->hits, 1, __ATOMIC_RELAXED);
    probe->function(probe, hit);
}

NOPROBE void probe_run(const struct probe_chain *chain, const struct probe_hit *hit)
{
    const struct cpu *cpu = this_cpu();
    struct probe_cpu *mine = &probe_cpus[cpu->index];
    uint64_t word = probe_enter(mine);
    uint32_t outer = mine->running;

    kassert((word & PROBE_DEPTH_MASK) < DEPTH_LIMIT);
    bool recursion = outer == cpu->context_depth + 1;
    mine->running = cpu->context_depth + 1;
    for (struct probe *at = __atomic_load_n(&chain->first, __ATOMIC_ACQUIRE); at;
         at = __atomic_load_n(&at->next, __ATOMIC_ACQUIRE))
        call(at, hit, cpu, recursion);
    mine->running = outer;
    probe_leave(mine, word);
}

static bool has_left(uint32_t cpu, uint64_t before)
{
    uint64_t now = __atomic_load_n(&probe_cpus[cpu].word, __ATOMIC_ACQUIRE);

    return (now & PROBE_DEPTH_MASK) == 0 ||
           (now & ~PROBE_DEPTH_MASK) != (before & ~PROBE_DEPTH_MASK);
}

void probe_synchronize(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (uint32_t cpu = 0; cpu < cpu_count; cpu++) {
        uint64_t before = __atomic_load_n(&probe_cpus[cpu].word, __ATOMIC_SEQ_CST);
        wait_until(has_left(cpu, before), "a CPU to leave the probes that it is in");
    }
}

/* --- chains --- */

struct probe_chain *probe_chain_lookup(const char *name)
{
    for (unsigned i = 0; i < PROBE_CHAINS_MAX; i++)
        if (chains[i].name[0] && strcmp(chains[i].name, name) == 0)
            return &chains[i];
    return NULL;
}

/* For both the manager's mutex is held. */
static int chain_make(const char *name, struct probe_chain **out)
{
    size_t length = strnlen(name, PROBE_NAME_MAX);

    if (length == 0 || length == PROBE_NAME_MAX)
        return ERR_BAD_NAME;
    *out = probe_chain_lookup(name);
    for (unsigned i = 0; i < PROBE_CHAINS_MAX && !*out; i++)
        if (!chains[i].name[0]) {
            *out = &chains[i];
            memcpy(chains[i].name, name, length + 1);
        }
    return *out ? 0 : ERR_TABLE_FULL;
}

/* The entry is free again when nobody runs the chain and nothing is in it. That of a marker is
 * kept: a CPU may have read it from the marker and not yet entered probe_run(). */
static void chain_drop(struct probe_chain *chain)
{
    if (chain->users == 0 && !chain->first && !marker_find(chain->name))
        chain->name[0] = 0;
}

struct probe_chain *probe_chain_get(const char *marker_name)
{
    struct probe_chain *chain = NULL;

    probe_lock();
    if (chain_make(marker_name, &chain) == 0)
        chain->users++;
    probe_unlock();
    return chain;
}

void probe_chain_release(struct probe_chain *chain)
{
    probe_lock();
    kassert(chain->users > 0);
    chain->users--;
    chain_drop(chain);
    probe_unlock();
}

struct probe_chain *probe_chain_find(const char *marker_name)
{
    probe_lock();
    struct probe_chain *chain = probe_chain_lookup(marker_name);
    probe_unlock();
    return chain;
}

const char *probe_chain_name(const struct probe_chain *chain)
{
    return chain->name;
}

bool probe_chain_empty(const struct probe_chain *chain)
{
    return !__atomic_load_n(&chain->first, __ATOMIC_ACQUIRE);
}

struct probe_chain *probe_chain_next(struct probe_chain *chain)
{
    for (chain = chain ? chain + 1 : chains; chain < chains + PROBE_CHAINS_MAX; chain++)
        if (chain->name[0])
            return chain;
    return NULL;
}

void probe_chain_for_each(struct probe_chain *chain, void (*function)(const struct probe *, void *),
                          void *argument)
{
    probe_lock();
    for (const struct probe *at = chain->first; at; at = at->next)
        function(at, argument);
    probe_unlock();
}

/* --- probes; the manager's mutex is held --- */

static struct probe *in_chain(const struct probe_chain *chain, const char *name)
{
    for (struct probe *at = chain->first; at; at = at->next)
        if (strcmp(at->name, name) == 0)
            return at;
    return NULL;
}

static void note_leaf(struct probe_chain *chain)
{
    struct probe *alone = chain->first && !chain->first->next ? chain->first : NULL;
    __atomic_store_n(&chain->leaf, alone && alone->leaf ? alone : NULL, __ATOMIC_RELEASE);
}

static void link(struct probe_chain *chain, struct probe *probe)
{
    struct probe **place = &chain->first;

    while (*place && (*place)->priority >= probe->priority)
        place = &(*place)->next;
    probe->chain = chain;
    probe->next = *place;
    __atomic_store_n(place, probe, __ATOMIC_RELEASE);
    note_leaf(chain);
}

/* The marker of that name is patched when its first probe comes or its last one goes. */
static int tell_marker(struct probe_chain *chain)
{
    struct marker *marker = marker_find(chain->name);

    return marker ? marker_set_chain(marker, chain->first ? chain : NULL) : 0;
}

static void take_out(struct probe *probe)
{
    struct probe **place = &probe->chain->first;

    while (*place != probe)
        place = &(*place)->next;
    __atomic_store_n(place, probe->next, __ATOMIC_RELEASE);
    note_leaf(probe->chain);
}

/* Nobody can be in it any more. */
static void forget(struct probe *probe)
{
    struct probe_chain *chain = probe->chain;

    kfree(probe->counts);
    probe->counts = NULL;
    probe->chain = NULL;
    chain_drop(chain);
}

int probe_link(struct probe *probe, const char *marker_name)
{
    struct probe_chain *chain;

    if (probe->chain)
        return ERR_BUSY;
    int error = chain_make(marker_name, &chain);
    if (error)
        return error;
    if (in_chain(chain, probe->name))
        return ERR_BUSY;
    probe->counts = kzalloc(cpu_count * sizeof(*probe->counts));
    if (!probe->counts) {
        chain_drop(chain);
        return ERR_NO_MEMORY;
    }
    link(chain, probe);
    error = tell_marker(chain);
    if (error)
        probe_unlink(probe);
    return error;
}

int probe_unlink(struct probe *probe)
{
    struct probe_chain *chain = probe->chain;

    if (!chain)
        return ERR_NO_PROBE;
    take_out(probe);
    int error = tell_marker(chain);
    probe_synchronize();
    forget(probe);
    return error;
}

int probe_register(struct probe *probe, const char *marker_name)
{
    probe_lock();
    int error = probe_link(probe, marker_name);
    probe_unlock();
    return error;
}

int probe_unregister(struct probe *probe)
{
    probe_lock();
    int error = probe_unlink(probe);
    probe_unlock();
    return error;
}

void probe_totals(const struct probe *probe, uint64_t *hits, uint64_t *misses)
{
    *hits = *misses = 0;
    for (uint32_t cpu = 0; probe->counts && cpu < cpu_count; cpu++) {
        *hits += __atomic_load_n(&probe->counts[cpu].hits, __ATOMIC_RELAXED);
        *misses += __atomic_load_n(&probe->counts[cpu].misses, __ATOMIC_RELAXED);
    }
}

void probe_manager_init(void)
{
    mutex_init(&manager, "probes");
}
