/* SPDX-License-Identifier: MIT */
/* Probes on instructions: int3 or a jump in the text, and how the instruction is carried out then.
 *
 * Each probe has a block of executable memory within the kernel image, with its copies. Nothing of
 * one hit is kept anywhere but in the interrupted context itself: where it goes on says all. So
 * hits nest as deep as contexts do, NMIs in the middle of a step included.
 *
 * Writers: thread context, one at a time (the caller's mutex), interrupts on. docs/probes.md tells
 * the states and why each change between them is safe.
 */
#ifndef ARCH_X86_TEXT_PROBE_H
#define ARCH_X86_TEXT_PROBE_H

#include <stdbool.h>
#include <stdint.h>
#include "arch/x86/frame.h"
#include "arch/x86/insn_probe.h"

#define TEXT_PROBES_MAX 128
#define TEXT_PROBE_BLOCK 256 /* bytes: two copies for steps, or one to run; then a jump's */

struct text_probe;

/* What the instruction is to be probed by; the best way that it allows, or a certain one. */
enum text_probe_mode {
    TEXT_PROBE_BEST, /* a jump if the rules allow it, else as INT3 */
    TEXT_PROBE_INT3, /* int3; then emulated, boosted or stepped, as the instruction is best */
    TEXT_PROBE_COPY, /* int3; boosted, even if it could be emulated */
    TEXT_PROBE_STEP, /* int3; stepped */
};

/* Puts an int3 at an instruction. `owner` goes to upcall_probe_hit(). ERR_NOT_PROBEABLE with the
 * *reason, ERR_TABLE_FULL, or an error of text_patch_apply(). */
int text_probe_arm(uint64_t address, enum text_probe_mode mode, void *owner,
                   struct text_probe **out, enum insn_probe_refusal *reason);

/* Replaces the int3 by a jump; `end` is that of the function. Nothing changes if it is refused. */
int text_probe_set_jump(struct text_probe *probe, const struct text_map *map, uint64_t end,
                        enum insn_probe_refusal *reason);
/* Back to an int3. */
int text_probe_clear_jump(struct text_probe *probe);

/* Takes it away. When it returns no CPU is in the probe's block, or in its upcall. */
int text_probe_disarm(struct text_probe *probe);

unsigned text_probe_length(const struct text_probe *probe); /* bytes that are replaced, or copied */
const char *text_probe_way(const struct text_probe *probe); /* "jump", "boosted", … */

/* Where the probed kernel is, if RIP is in a probe's block; else RIP. Any context. */
uint64_t text_probe_original(uint64_t rip);

/* --- for the entries of ring 0; any context --- */

bool text_probe_breakpoint(struct trap_frame *frame); /* #BP: whether it was a probe's */
bool text_probe_debug(struct trap_frame *frame);      /* #DB: whether it was a step's */
void text_probe_fault(struct trap_frame *frame); /* any other exception: RIP as without probe */

/* Interrupts of ring 0 in which all CPUs answer each other, before the answer. */
void text_probe_evacuate(struct trap_frame *frame);

#endif
