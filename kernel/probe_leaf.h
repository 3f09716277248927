/* SPDX-License-Identifier: MIT */
/* The short way from a marker to the only probe of its chain (probe_leaf_function), inline: it is
 * on the path of every event that the flight recorder writes. kernel/probe.c explains the words.
 */
#ifndef KERNEL_PROBE_LEAF_H
#define KERNEL_PROBE_LEAF_H

#include "arch/x86/cpu.h"
#include "kernel/probe.h"

#define PROBE_DEPTH_MASK 0xffull

struct probe_chain {
    struct probe *first;       /* written under the manager's mutex, read by anyone */
    struct probe *leaf;        /* the same; the first, if it is alone and has a short way */
    uint32_t users;            /* manager's mutex */
    char name[PROBE_NAME_MAX]; /* manager's mutex; "" for a free entry */
};

struct probe_cpu {
    uint64_t word;    /* atomic; written by its CPU: depth in the low byte, above it a count */
    uint32_t running; /* its CPU: 1 + context depth of the innermost probe_run(), 0 for none */
} __attribute__((aligned(64)));
extern struct probe_cpu probe_cpus[MAX_CPUS];

/* A full barrier: what was unlinked before somebody looked at the word is not found afterwards.
 * Returns the word before that. */
static inline uint64_t probe_enter(struct probe_cpu *cpu)
{
    return __atomic_fetch_add(&cpu->word, 1, __ATOMIC_SEQ_CST);
}

/* Whatever nested in between has left the word as it was, but for who leaves the outermost. */
static inline void probe_leave(struct probe_cpu *cpu, uint64_t before)
{
    uint64_t after = before & PROBE_DEPTH_MASK ? before : before + PROBE_DEPTH_MASK + 1;
    __atomic_store_n(&cpu->word, after, __ATOMIC_RELEASE);
}

/* False: there is no short way. */
static inline bool probe_run_leaf(const struct probe_chain *chain, uint64_t index,
                                  const struct marker_site *site, const uint64_t *args)
{
    struct probe_cpu *cpu = &probe_cpus[index];
    uint64_t before = probe_enter(cpu);
    struct probe *leaf = __atomic_load_n(&chain->leaf, __ATOMIC_ACQUIRE);
    if (leaf) {
        cpu_local_increment(&leaf->counts[index].hits);
        leaf->leaf(site, args, index);
    }
    probe_leave(cpu, before);
    return leaf != NULL;
}

#endif
