/* SPDX-License-Identifier: MIT */
/* Changing instructions of the kernel while all CPUs run them.
 *
 * A batch goes in three steps, each for all its patches at once and each followed by one
 * synchronisation: int3 over the first byte, the tail, the first byte. A CPU that meets the int3
 * meanwhile, in any context, carries out the new instruction by emulation. docs/markers.md has the
 * protocol, docs/model/patch.pml its proof, docs/tricks.md the argument for the handler.
 */
#ifndef ARCH_X86_TEXT_PATCH_H
#define ARCH_X86_TEXT_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/x86/frame.h"

#define TEXT_PATCH_MAX 8 /* bytes */
#define TEXT_INT3 0xcc

/* old_bytes and new_bytes each are one instruction of `length` bytes, or NOPs. Where neither
 * begins with an int3, the new one must be one that can be emulated: NOPs, JMP, CALL, MOV of an
 * immediate to a register of 32 bits; an instruction may be shorter than `length` only if it is a
 * JMP. Where one of the two does begin with an int3, who meets it is the business of
 * upcall_breakpoint(), and nothing is emulated here. Where both do not and one cannot be emulated,
 * the patch is refused. */
struct text_patch {
    uint64_t address;
    uint8_t length; /* 1 … TEXT_PATCH_MAX */
    uint8_t old_bytes[TEXT_PATCH_MAX], new_bytes[TEXT_PATCH_MAX];
};

/* Sorts the array, verifies all of it, then patches all of it. ERR_TEXT_RANGE (not kernel text, or
 * patches overlap), ERR_TEXT_BYTES (an old byte is not what stands there), ERR_TEXT_OPCODE (see
 * above); then nothing has changed. `bad`, if not NULL, is set to the address concerned.
 *
 * Context: a thread, interrupts on, no spinlock held; may sleep for the mutex. Waits for every CPU
 * to take an interrupt, with the bounds of ipi_call_all(). */
int text_patch_apply(struct text_patch *patches, size_t count, uint64_t *bad);

/* Builders for the bytes of a site. */
void text_make_nop(uint8_t *bytes, unsigned length);
void text_make_jump(uint8_t *bytes, unsigned length, uint64_t from,
                    uint64_t to);                                /* >= 5; JMP rel32,
                                                                   int3 after it */
void text_make_call(uint8_t *bytes, uint64_t from, uint64_t to); /* 5 bytes */

/* #BP of ring 0, first thing in its entry: whether it was met in a batch and has been emulated.
 * Any context. What it calls may hold no marker and no probe. */
bool text_patch_breakpoint(struct trap_frame *frame);

/* Carries out the instruction at `bytes`, which stands at `address`: frame->rip goes to it next.
 * For CALL the word below frame->rsp is written; the entry of #BP leaves room for it. False: none
 * of those that can be emulated. */
bool text_emulate(struct trap_frame *frame, uint64_t address, const uint8_t *bytes,
                  unsigned length);

/* Puts a word on the interrupted stack of a #BP of ring 0, as a CALL does. */
void text_push(struct trap_frame *frame, uint64_t value);

struct text_patch_stats {
    uint64_t batches, patches, synchronisations; /* text_patch's mutex */
    uint64_t emulated;                           /* atomic */
};
void text_patch_get_stats(struct text_patch_stats *stats);

#endif
