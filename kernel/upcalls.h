/* SPDX-License-Identifier: MIT */
/* What arch/x86 calls in the layers above it: the whole contract in that direction.
 *
 * Unless said otherwise: interrupts off, on the kernel stack of the current thread (the IST
 * entries of #DB and NMI move there when they come from ring 3).
 *
 * Order for an entry from ring 3: upcall_user_enter, then the upcall of the vector, then
 * upcall_user_leave, then IRETQ with the registers of the frame.
 */
#ifndef KERNEL_UPCALLS_H
#define KERNEL_UPCALLS_H

#include <stdbool.h>
#include <stdint.h>
#include "arch/x86/frame.h"

/* First thing after an entry from ring 3, whatever the vector; not for NMI. */
void upcall_user_enter(struct trap_frame *frame);

/* Last thing before ring 3. May enable interrupts, switch threads, change the frame, or never
 * return (the thread is dead). Returns with interrupts off. */
void upcall_user_leave(struct trap_frame *frame);

/* #PF from ring 3 or ring 0; address is CR2. */
void upcall_page_fault(struct trap_frame *frame, uint64_t address);

/* #DB; dr6 as read, and already cleared in the register. */
void upcall_debug(struct trap_frame *frame, uint64_t dr6);

/* Every other exception of ring 3 or ring 0. From ring 0 it does not return. */
void upcall_exception(struct trap_frame *frame);

/* #BP of ring 0 that is not that of a patch in progress; frame->rip is behind the int3. Any
 * context, NMI included. False: nobody's, the kernel panics. */
bool upcall_breakpoint(struct trap_frame *frame);

/* A probed instruction is about to run (arch/x86/text_probe.h); frame->rip is its address. Any
 * context; interrupts off. */
void upcall_probe_hit(void *owner, struct trap_frame *frame);

/* For patching text, from a thread: one patcher at a time (may sleep), and a function on all CPUs
 * (kernel/ipi_call.h). */
void upcall_patch_lock(void);
void upcall_patch_unlock(void);
void upcall_call_all_cpus(void (*function)(void *), void *argument, const char *what);

/* SYSCALL from ring 3: number in frame->rax; the result goes there, too. */
void upcall_syscall(struct trap_frame *frame);

/* The one-shot timer of this CPU fired; the interrupt is acknowledged. */
void upcall_timer(struct trap_frame *frame);

/* IPIs; acknowledged. */
void upcall_ipi_reschedule(void); /* look at the run queue */
void upcall_ipi_kick(void);       /* be in the kernel: nothing else to do */
void upcall_ipi_call(void);       /* kernel/ipi_call.h: run the posted function */

/* Input from serial port or keyboard, one byte of ASCII (arrow keys and the like as ANSI
 * escape sequences, byte by byte). */
void upcall_console_input(uint8_t byte);

/* NMI: on the IST stack when it came from ring 0, on the thread's kernel stack when from ring 3;
 * no lock may be taken, nothing may fault. Returns whether somebody claimed it. */
bool upcall_nmi(struct trap_frame *frame);

/* Further CPUs, on their idle stack, per-CPU data set up, interrupts off. Does not return. */
_Noreturn void upcall_cpu_main(void);

/* A frame for a page table, zeroed; 0 when memory has run out. */
uint64_t upcall_frame_alloc(void);
void upcall_frame_free(uint64_t frame);

#endif
