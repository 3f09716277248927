/* SPDX-License-Identifier: MIT */
/* Switching kernel stacks, entering ring 3, and the state of the FPU and vector units.
 *
 * Context: interrupts off. All entries to user mode end in IRETQ (never SYSRET): one exit path,
 * and TF set in the frame then means "after the next user instruction" on every CPU.
 */
#ifndef ARCH_X86_CONTEXT_H
#define ARCH_X86_CONTEXT_H

#include <stdint.h>
#include "arch/x86/frame.h"

struct context {
    uint64_t rsp; /* callee-saved registers lie above it */
};

/* Saves the running context in *from and continues *to. */
void context_switch(struct context *from, struct context *to);

/* Prepares *context so that the first switch to it calls function(argument) on the stack that
 * ends at stack_top, with interrupts off. function must not return. */
void context_init(struct context *context, void *stack_top, void (*function)(void *),
                  void *argument);

/* Leaves to ring 3 with exactly the registers of *frame (which lies on the current kernel
 * stack). The caller has called upcall_user_leave() and set this_cpu()->kernel_stack_top. */
_Noreturn void context_enter_user(struct trap_frame *frame);

/* Tells the CPU where the next entry from ring 3 puts its frame (TSS.RSP0 and SYSCALL). */
void context_set_kernel_stack(void *stack_top);

/* --- FPU, SSE, AVX (fpu.c): eager, by XSAVE where offered, else FXSAVE --- */

#define FPU_AREA_MAX 4096 /* bytes; an area is this large and 64-byte aligned */

void fpu_setup(void); /* on every CPU; the boot CPU first, which fixes layout and size */
uint32_t fpu_area_size(void);
uint64_t fpu_components(void);      /* XCR0 mask in use; 3 for FXSAVE */
uint32_t fpu_mxcsr_mask(void);      /* bits of MXCSR that may be set */
void fpu_init_area(void *area);     /* the state that every thread starts with */
void fpu_save(void *area);          /* the registers of this CPU → area */
void fpu_restore(const void *area); /* area → the registers of this CPU */

/* Writes a canonical picture of the saved state (control words, x87 registers, XMM; then the number
 * and contents of each further component that is not all zero, as it is in its initial state) to
 * out, which has room for FPU_AREA_MAX bytes, and returns its length. Two areas with the same
 * architectural register values give the same picture whatever XSTATE_BV says, and on CPUs with
 * different components, too. */
uint32_t fpu_canonical(const void *area, uint8_t *out);

#endif
