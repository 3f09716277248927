/* SPDX-License-Identifier: MIT */
/* Emulation of RDTSC and RDTSCP for ring 3. IA32_TSC_AUX reads as 0: threads migrate. */
#include "kernel/emulate.h"

#include "arch/x86/insn.h"
#include "arch/x86/layout.h"
#include "kernel/recorder.h"
#include "kernel/thread.h"
#include "mm/user_memory.h"

bool emulate_time_stamp(struct trap_frame *frame)
{
    struct thread *self = current_thread();
    uint8_t bytes[INSN_MAX_LENGTH];
    struct insn insn;
    irq_disable();
    unsigned available = (unsigned)user_peek(self->root, frame->rip, bytes, sizeof(bytes));
    irq_enable();
    if (available == 0)
        return frame->rip < USER_END; /* its page was taken away meanwhile: run it again */
    if (insn_decode(bytes, available, INSN_MODE_64, &insn) != 0 ||
        (insn.kind != INSN_RDTSC && insn.kind != INSN_RDTSCP))
        return false;
    uint64_t value = cpu_rdtsc();
    if (self->rec)
        value = recorder_current()->value(self, VALUE_TSC, value);
    frame->rax = value & 0xffffffff;
    frame->rdx = value >> 32;
    if (insn.kind == INSN_RDTSCP)
        frame->rcx = 0;
    frame->rip += insn.length;
    if (self->rec)
        recorder_current()->moved(self, frame);
    return true;
}
