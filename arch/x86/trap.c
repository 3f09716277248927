/* SPDX-License-Identifier: MIT */
/* From an entry into the kernel to the upcall of its vector, and back.
 *
 * Context: any; interrupts off; on the kernel stack of the current thread, or on an IST stack for
 * NMI, #DB and #MC that came from ring 0. The order of upcalls is that of kernel/upcalls.h.
 */
#include <stdbool.h>
#include <stddef.h>
#include "arch/x86/apic.h"
#include "arch/x86/apic_registers.h"
#include "arch/x86/arch.h"
#include "arch/x86/cpu.h"
#include "arch/x86/devices.h"
#include "arch/x86/frame.h"
#include "arch/x86/layout.h"
#include "arch/x86/msr.h"
#include "arch/x86/text_patch.h"
#include "arch/x86/text_probe.h"
#include "arch/x86/trap.h"
#include "kernel/panic.h"
#include "kernel/printf.h"
#include "kernel/upcalls.h"

#define FIRST_EXTERNAL_VECTOR 32
#define LAST_8259_VECTOR 47

/* DR6 with nothing reported: the bits that read as 1. */
#define DR6_CLEAR 0xffff0ff0ull

/* Where ring 0 goes on after a #GP or #PF: msr_read_safe() and the like (arch/x86/msr.h). */
struct fixup {
    uint64_t fault;
    uint64_t resume;
};
extern const struct fixup fixups_start[], fixups_end[]; /* linker.ld */

static uint64_t unexpected[VECTOR_SYSCALL]; /* atomic */

static bool is_external(const struct trap_frame *frame)
{
    return frame->vector >= FIRST_EXTERNAL_VECTOR && frame->vector < VECTOR_SYSCALL;
}

bool trap_apply_fixup(struct trap_frame *frame)
{
    const struct fixup *end = fixups_end;

    for (const struct fixup *fixup = fixups_start; fixup != end; fixup++)
        if (fixup->fault == frame->rip) {
            frame->rip = fixup->resume;
            return true;
        }
    return false;
}

bool trap_read_safe(uint64_t address, uint64_t *value)
{
    uint64_t read;
    uint32_t done;

    __asm__ volatile("xor %1, %1\n"
                     "1:\n\tmov (%2), %0\n\t"
                     "mov $1, %1\n"
                     "2:\n\t" FIXUP_ENTRY(1b, 2b)
                     : "=&r"(read), "=&r"(done)
                     : "r"(address)
                     : "memory");
    if (done)
        *value = read;
    return done;
}

static bool user_rip_is_canonical(const struct trap_frame *frame)
{
    return frame->rip <= USER_END;
}

static uint64_t take_dr6(void)
{
    uint64_t value;

    __asm__ volatile("mov %%dr6, %0" : "=r"(value));
    __asm__ volatile("mov %0, %%dr6" ::"r"(DR6_CLEAR));
    return value;
}

/* A message that the APIC could not send or take: counted, the first one reported. */
static void handle_apic_error(void)
{
    apic_write(APIC_ERROR_STATUS, 0); /* makes the register current */
    uint32_t status = apic_read(APIC_ERROR_STATUS);
    if (__atomic_fetch_add(&unexpected[VECTOR_APIC_ERROR], 1, __ATOMIC_RELAXED) == 0)
        printk("trap: CPU %u: local APIC error, status 0x%x; more of them only counted\n",
               this_cpu()->index, status);
}

/* Vectors that nothing was set up for: counted, reported once each. */
static void handle_unexpected(struct trap_frame *frame)
{
    unsigned vector = (unsigned)frame->vector;

    if (__atomic_fetch_add(&unexpected[vector], 1, __ATOMIC_RELAXED) == 0)
        printk("trap: CPU %u: unexpected interrupt, vector %u (%s); more of them only counted\n",
               this_cpu()->index, vector, vector_description(vector));
}

static void handle_external(struct trap_frame *frame)
{
    switch (frame->vector) {
    case VECTOR_KEYBOARD:
        keyboard_poll_input();
        apic_eoi();
        return;
    case VECTOR_SERIAL:
        serial_poll_input();
        apic_eoi();
        return;
    case VECTOR_TIMER:
        apic_eoi();
        upcall_timer(frame);
        return;
    case VECTOR_IPI_RESCHEDULE:
        apic_eoi();
        upcall_ipi_reschedule();
        return;
    case VECTOR_IPI_KICK:
        apic_eoi();
        upcall_ipi_kick();
        return;
    case VECTOR_IPI_CALL:
        apic_eoi();
        if (!frame_from_user(frame))
            text_probe_evacuate(frame);
        upcall_ipi_call();
        return;
    case VECTOR_APIC_ERROR:
        apic_eoi();
        handle_apic_error();
        return;
    case VECTOR_APIC_SPURIOUS: /* not acknowledged, by definition */
        __atomic_fetch_add(&unexpected[VECTOR_APIC_SPURIOUS], 1, __ATOMIC_RELAXED);
        return;
    }
    if (frame->vector > LAST_8259_VECTOR) /* the 8259s are masked and not to be acknowledged */
        apic_eoi();
    handle_unexpected(frame);
}

static void handle_exception(struct trap_frame *frame, uint64_t cr2)
{
    switch (frame->vector) {
    case VECTOR_PAGE_FAULT:
        upcall_page_fault(frame, cr2);
        return;
    case VECTOR_DEBUG:
        upcall_debug(frame, take_dr6());
        return;
    case VECTOR_SYSCALL:
        upcall_syscall(frame);
        return;
    case VECTOR_GENERAL_PROTECTION:
        if (!frame_from_user(frame) && trap_apply_fixup(frame))
            return;
        break;
    case VECTOR_DOUBLE_FAULT: /* from ring 3, too: the kernel's stack is not there */
    case VECTOR_MACHINE_CHECK:
        panic_frame(frame, "%s", vector_description((unsigned)frame->vector));
    }
    upcall_exception(frame);
}

static void handle(struct trap_frame *frame, uint64_t cr2)
{
    if (is_external(frame))
        handle_external(frame);
    else
        handle_exception(frame, cr2);
}

/* The whole of an entry from ring 3 but for NMI. Returns when the frame can be left to. */
static void handle_from_user(struct trap_frame *frame, uint64_t cr2)
{
    upcall_user_enter(frame);
    handle(frame, cr2);
    upcall_user_leave(frame);
    trap_check_user_frame(frame);
}

/* IRETQ to an address that is not canonical would fault in ring 0 with the user's GS, so ring 3
 * gets its #GP here instead. AMD CPUs take interrupts between a jump to such an address and its
 * fault, so this does not need a mistake of the kernel. */
void trap_check_user_frame(struct trap_frame *frame)
{
    if (user_rip_is_canonical(frame) && frame->cs == SELECTOR_USER_CODE &&
        frame->ss == SELECTOR_USER_DATA)
        return;
    if (!frame_from_user(frame))
        panic_frame(frame, "leaving to ring 3 with a frame of ring 0");
    frame->vector = VECTOR_GENERAL_PROTECTION;
    frame->error = 0;
    upcall_user_enter(frame);
    upcall_exception(frame);
    upcall_user_leave(frame);
    if (!user_rip_is_canonical(frame) || frame->cs != SELECTOR_USER_CODE ||
        frame->ss != SELECTOR_USER_DATA)
        panic_frame(frame, "leaving to ring 3 with an unusable frame");
}

/* CR2 is kept for a page fault's entry that this NMI may have hit before it read it. */
static void handle_nmi(struct trap_frame *frame)
{
    uint64_t cr2 = cpu_read_cr2();

    this_cpu()->nmi_count++;
    this_cpu()->nmi_depth++;
    if (!upcall_nmi(frame))
        __atomic_fetch_add(&unexpected[VECTOR_NMI], 1, __ATOMIC_RELAXED);
    this_cpu()->nmi_depth--;
    if (cpu_read_cr2() != cr2)
        __asm__ volatile("mov %0, %%cr2" ::"r"(cr2));
    if (frame_from_user(frame) && !user_rip_is_canonical(frame)) {
        frame->vector = VECTOR_GENERAL_PROTECTION;
        frame->error = 0;
        handle_from_user(frame, 0);
    }
}

/* Called by entry.asm for #BP of ring 0, before all else: see NOPROBE. */
NOPROBE void trap_breakpoint(struct trap_frame *frame)
{
    if (!text_patch_breakpoint(frame) && !upcall_breakpoint(frame))
        trap_dispatch(frame);
}

static void dispatch(struct trap_frame *frame)
{
    uint64_t cr2 = frame->vector == VECTOR_PAGE_FAULT ? cpu_read_cr2() : 0;

    /* An interrupt between the iterations of a string instruction has RF set on some CPUs (and on
     * emulated ones RF may be left over): it would suppress a breakpoint at the same instruction.
     */
    if (is_external(frame) || frame->vector == VECTOR_NMI)
        frame->rflags &= ~RFLAGS_RF;
    if (frame->vector == VECTOR_NMI)
        handle_nmi(frame);
    else if (frame_from_user(frame) && frame->vector != VECTOR_DOUBLE_FAULT)
        handle_from_user(frame, cr2);
    else
        handle(frame, cr2);
}

/* Called by entry.asm for everything. Ring 0 is not preempted: what interrupted it goes back to it,
 * on this CPU, so the depth comes out as it was. The end of a probe's step comes through here and
 * goes no further. */
NOPROBE void trap_dispatch(struct trap_frame *frame)
{
    bool kernel = (frame->cs & 3) == 0;
    bool nests = kernel && (frame->vector >= FIRST_EXTERNAL_VECTOR || frame->vector == VECTOR_NMI);

    if (kernel && frame->vector == VECTOR_DEBUG && text_probe_debug(frame))
        return;
    if (kernel && !nests)
        text_probe_fault(frame);
    this_cpu()->context_depth += nests;
    dispatch(frame);
    this_cpu()->context_depth -= nests;
}
