/* SPDX-License-Identifier: MIT */
/* The probe manager: what is called when a marker or a probed instruction is hit.
 *
 * A chain belongs to a marker's name, or to one probed instruction ("sched_wake+0x12"); it exists
 * before the marker does when somebody registers for it, and stays while anybody uses it. A marker
 * gets its chain with the chain's first probe and loses it with the last one (marker_set_chain()).
 * Its probes run in the order of their priority, the highest first, those of one priority in the
 * order of their registration.
 *
 * Readers (probe_run) are wait-free, in any context. Each hit of each probe is counted, on the CPU
 * that saw it: as a hit when the function was called, else as a miss. It is a miss when
 *   - this CPU is already in a probe in the same context (the probe's own code hit a marker); an
 *     interrupt or NMI that interrupts a probe is a context of its own and not affected;
 *   - it is in an NMI, and the probe does not say PROBE_NMI_SAFE;
 *   - the probe says PROBE_PRINTS, and the interrupted code holds the console.
 *
 * Writers: one sleeping mutex. An unregistered probe has left all CPUs when the call returns: the
 * argument is in kernel/probe.c.
 */
#ifndef KERNEL_PROBE_H
#define KERNEL_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/marker.h"

#define PROBE_NAME_MAX 64 /* of markers, chains and probes; with the terminating 0 */
#define PROBE_CHAINS_MAX 512
#define PROBE_TYPES_MAX 16

struct probe;
struct probe_chain;

/* What it is told (kernel/marker.h) is valid during the call only. It may change general registers
 * of hit->frame, not RIP, RSP, RFLAGS or the selectors.
 *
 * Runs in the context of the hit, whatever that is: it takes no lock that the interrupted code may
 * hold, does not sleep, leaves interrupts as they are (they may be on), does not fault. */
typedef void probe_function(struct probe *probe, const struct probe_hit *hit);

/* The short way, for markers that are not patched to save all registers, and whose chain has this
 * probe only. It may run in any context and within any other probe, and leads into nothing that
 * could be probed (NOPROBE) or hold a marker. */
typedef void probe_leaf_function(const struct marker_site *site, const uint64_t *args,
                                 uint64_t cpu);

struct probe_count {
    uint64_t hits, misses; /* atomic: the CPU's own, but NMIs count in the middle of it */
    uint64_t padding[6];   /* a cache line for each CPU */
};

/* The caller fills the first six, and keeps the structure until probe_unregister() returns. */
struct probe {
    const char *name;
    int priority; /* higher: earlier */
    uint32_t flags;
    probe_function *function;
    probe_leaf_function *leaf; /* does the same; NULL: there is no short way */
    void *data;
    /* the manager's */
    struct probe *next; /* written under the manager's mutex, read by anyone */
    struct probe_chain *chain;
    struct probe_count *counts; /* [cpu_count], while registered */
};

#define PROBE_NMI_SAFE (1u << 0)
#define PROBE_PRINTS (1u << 1)

/* What the probe is given for: by name in the shell. Each use of it is a struct probe of its own
 * (data: what `data` says here). */
struct probe_type {
    const char *name; /* "count" */
    const char *help;
    int priority;
    uint32_t flags;
    probe_function *function;
    probe_leaf_function *leaf;
    void *data;
};

void probe_init(void); /* boot: needs the heap; registers "count" and "print" and the commands */

/* --- probes, thread context; may sleep --- */

/* To the chain of that name, which is made when there is none: ERR_BUSY (this structure, or a
 * probe of this name in the chain), ERR_NO_MEMORY, ERR_TABLE_FULL, ERR_BAD_NAME. */
int probe_register(struct probe *probe, const char *marker_name);

/* Has a real grace period: when it returns no CPU runs the function or will. ERR_NO_PROBE: it is
 * not registered. */
int probe_unregister(struct probe *probe);

void probe_totals(const struct probe *probe, uint64_t *hits, uint64_t *misses);

/* --- by the names of types: the manager owns the structures --- */

int probe_type_register(const struct probe_type *type); /* static storage; ERR_TABLE_FULL, _BUSY */
const struct probe_type *probe_type_find(const char *name);              /* NULL */
const struct probe_type *probe_type_next(const struct probe_type *type); /* the first for NULL */

/* A probe of this type on that chain. ERR_NO_PROBE: no such type; else as probe_register(). */
int probe_attach(const char *type_name, const char *marker_name);
/* ERR_NO_PROBE: no such type, or none of it there. NULL detaches all that were attached by name. */
int probe_detach(const char *type_name, const char *marker_name);

/* --- chains --- */

/* The chain of this name, for whoever will run it (a marker's site, at boot): made when there is
 * none, NULL when the table is full or the name is too long. It stays until as many releases as
 * gets, and until its last probe is gone. Thread context. */
struct probe_chain *probe_chain_get(const char *marker_name);
void probe_chain_release(struct probe_chain *chain); /* nobody runs it any more for this get */

/* NULL when there is none. */
struct probe_chain *probe_chain_find(const char *marker_name);

const char *probe_chain_name(const struct probe_chain *chain);
bool probe_chain_empty(const struct probe_chain *chain); /* any context; may change at once */

/* All chains in the order of the table: first NULL, NULL after the last. Thread context. */
struct probe_chain *probe_chain_next(struct probe_chain *chain);

/* Calls function() for each probe of the chain, in order, under the manager's mutex. */
void probe_chain_for_each(struct probe_chain *chain, void (*function)(const struct probe *, void *),
                          void *argument);

void probe_chain_print(struct probe_chain *chain); /* a line a probe (kernel/probe_commands.c) */

/* Any context, NMI included. */
void probe_run(const struct probe_chain *chain, const struct probe_hit *hit);

/* Waits until every CPU has left every probe_run() that it was in at the time of the call: a
 * bounded wait, which panics by name. Thread context, and not from within a probe. */
void probe_synchronize(void);

#endif
