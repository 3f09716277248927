/* SPDX-License-Identifier: MIT */
/* Dynamic probes: a chain of probes for an instruction of the kernel.
 *
 * Its chain is named as the place is in listings ("sched_wake+0x12"), and goes with its last probe.
 * Context: a thread; may sleep. Locks: a mutex of its own, taken before the manager's.
 */
#ifndef KERNEL_PROBE_DYNAMIC_H
#define KERNEL_PROBE_DYNAMIC_H

#include "arch/x86/text_probe.h"
#include "kernel/probe.h"

struct probe_dynamic {
    uint64_t address; /* 0: free */
    struct probe_chain *chain;
    struct text_probe *text;
    enum insn_probe_refusal no_jump; /* why it is an int3 */
};

void probe_dynamic_init(void);

/* "SYMBOL", "SYMBOL+0x12", "0xffff…". ERR_NO_SYMBOL. */
int probe_parse_place(const char *place, uint64_t *address);

/* Puts a probe of that type there. ERR_NOT_PROBEABLE with the *reason; ERR_NO_PROBE; ERR_BUSY:
 * there is one of this type. The mode counts for the first probe of a place only. */
int probe_dynamic_add(uint64_t address, const char *type_name, enum text_probe_mode mode,
                      enum insn_probe_refusal *reason);

/* Takes the probe of that type away, all of them for NULL. ERR_NO_PROBE. */
int probe_dynamic_remove(uint64_t address, const char *type_name);

/* Under the mutex: for each place in use. */
void probe_dynamic_for_each(void (*function)(const struct probe_dynamic *, void *), void *argument);

#endif
