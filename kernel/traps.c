/* SPDX-License-Identifier: MIT */
/* What an entry into the kernel means: the upcalls of arch/x86/.
 *
 * A fault of a program is its own affair: it kills the process with a report. A fault of the kernel
 * is a panic.
 */
#include "kernel/upcalls.h"

#include "arch/x86/paging.h"
#include "arch/x86/trap.h"
#include "arch/x86/vectors.h"
#include "kernel/emulate.h"
#include "kernel/err.h"
#include "kernel/lbr.h"
#include "kernel/marker.h"
#include "kernel/panic.h"
#include "kernel/pmu_owner.h"
#include "kernel/printf.h"
#include "kernel/process.h"
#include "kernel/programs.h"
#include "kernel/recorder.h"
#include "mm/frames.h"

#define FIRST_INTERRUPT 32

static void count_entry(struct entry_counts *entries, unsigned vector)
{
    if (vector == VECTOR_SYSCALL)
        entries->system_calls++;
    else if (vector == VECTOR_PAGE_FAULT) {
        entries->page_faults++;
        if (entries->on_page_fault)
            entries->on_page_fault();
    } else if (vector >= FIRST_INTERRUPT)
        entries->interrupts++;
    else
        entries->others++;
}

void upcall_user_enter(struct trap_frame *frame)
{
    struct thread *self = current_thread();
    if (self->entries)
        count_entry(self->entries, (unsigned)frame->vector);
    if (self->rec)
        recorder_current()->enter(self, frame);
}

void upcall_user_leave(struct trap_frame *frame)
{
    struct thread *self = current_thread();
    for (;;) {
        if (process_must_stop(self->process, self)) {
            irq_enable();
            process_stop_here();
            irq_disable();
            continue;
        }
        if (sched_must_yield() && !self->no_yield) {
            thread_yield();
            continue;
        }
        if (thread_interrupted(self))
            thread_clear_interrupt();
        if (!self->rec || recorder_current()->leave(self, frame))
            return;
    }
}

static void describe(char *out, size_t size, const struct trap_frame *frame, uint64_t address)
{
    char fault[96], symbol[80];
    report_describe_fault(fault, sizeof(fault), frame, address);
    programs_symbol(symbol, sizeof(symbol), current_thread()->process->name, frame->rip);
    format_text(out, size, "%s at 0x%llx%s%s", fault, (unsigned long long)frame->rip,
                symbol[0] ? " in " : "", symbol);
}

/* Ends the process of the current thread because of an exception in ring 3. */
static _Noreturn void kill_program(struct trap_frame *frame, uint64_t address)
{
    struct thread *self = current_thread();
    struct process *process = self->process;
    char reason[PROCESS_REASON_MAX];
    irq_enable();
    describe(reason, sizeof(reason), frame, address);
    bool replay = self->rec && recorder_current()->is_replay(self);
    process_note_killed(process, reason);
    if (self->rec)
        recorder_current()->fatal(self, frame, address);
    if (!process->quiet) {
        printk("%s: thread %u killed: %s\n", process->name, self->index, reason);
        report_registers(frame);
        lbr_report(frame, process->name);
    }
    if (!replay) /* there each thread ends where its own stream does */
        process_end_all(process);
    process_end_thread();
}

void upcall_page_fault(struct trap_frame *frame, uint64_t address)
{
    if (!frame_from_user(frame)) {
        if (trap_apply_fixup(frame))
            return;
        panic_frame(frame, "page fault in the kernel: address 0x%llx (%s)",
                    (unsigned long long)address, paging_describe(address));
    }
    struct thread *self = current_thread();
    MARKER(fault_page, MARKER_ARG(address, (void *)address), MARKER_ARG(rip, (void *)frame->rip),
           MARKER_ARG(error, frame->error));
    irq_enable();
    bool handled;
    if (self->rec)
        handled = recorder_current()->page_fault(self, frame, address);
    else
        handled = space_fault(self->process->space, address, frame->error & PF_WRITE,
                              frame->error & PF_FETCH) == 0;
    if (!handled)
        kill_program(frame, address);
    irq_disable();
}

void upcall_debug(struct trap_frame *frame, uint64_t dr6)
{
    if (!frame_from_user(frame))
        panic_frame(frame, "debug exception in the kernel, DR6 0x%llx", (unsigned long long)dr6);
    struct thread *self = current_thread();
    MARKER(fault_debug, MARKER_ARG(rip, (void *)frame->rip), MARKER_ARG(dr6, dr6));
    if (self->rec && recorder_current()->debug(self, frame, dr6))
        return;
    kill_program(frame, 0);
}

void upcall_exception(struct trap_frame *frame)
{
    if (!frame_from_user(frame))
        panic_frame(frame, "%s in the kernel", vector_description((unsigned)frame->vector));
    MARKER(fault_exception, MARKER_ARG(vector, frame->vector), MARKER_ARG(rip, (void *)frame->rip),
           MARKER_ARG(error, frame->error));
    if (frame->vector == VECTOR_GENERAL_PROTECTION) {
        irq_enable();
        if (emulate_time_stamp(frame)) {
            irq_disable();
            return;
        }
    }
    kill_program(frame, 0);
}

void upcall_timer(struct trap_frame *frame)
{
    MARKER(timer_interrupt, MARKER_ARG(rip, (void *)frame->rip));
    sched_timer_tick();
}

void upcall_ipi_reschedule(void)
{
    MARKER(ipi_receive, MARKER_ARG(vector, VECTOR_IPI_RESCHEDULE));
    sched_look_again();
}

void upcall_ipi_kick(void)
{
    MARKER(ipi_receive, MARKER_ARG(vector, VECTOR_IPI_KICK));
    this_cpu()->kick_count++;
}

_Noreturn void upcall_cpu_main(void)
{
    pmu_owner_setup_cpu();
    sched_cpu_main();
}

uint64_t upcall_frame_alloc(void)
{
    return frame_alloc_zero();
}

void upcall_frame_free(uint64_t frame)
{
    frame_free(frame);
}
