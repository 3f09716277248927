/* SPDX-License-Identifier: MIT */
/* Single-stepping that the program cannot see: EFLAGS.TF on, the instruction classified before it
 * runs.
 *
 * Whatever brings the thread back into the kernel tells whether the instruction retired: a debug
 * trap, yes (single-step traps come before interrupts, Intel SDM vol. 3, table 6-2); a fault or an
 * interrupt, no, and it is classified again on the way back.
 *
 * TF never reaches the program. Instructions that would show it (PUSHF) or hide the next one from
 * us (MOV SS) are carried out here; POPF and IRET may set the program's own TF, which is kept apart
 * and has the effect it has without us. SYSCALL's R11 is corrected on entry.
 */
#include "arch/x86/insn.h"
#include "arch/x86/layout.h"
#include "arch/x86/paging.h"
#include "arch/x86/vectors.h"
#include "arch/x86/witness.h"
#include "kernel/string.h"
#include "mm/user_memory.h"
#include "replay/session.h"
#include "replay/ticks.h"

static bool class_counts(enum log_unit unit, const struct insn *insn)
{
    if (unit == LOG_UNIT_ALL)
        return insn->class != INSN_OTHER && insn->class != INSN_FAR;
    return insn->class == INSN_COND_BRANCH;
}

bool tick_tf_entered(struct rec_thread *rec, struct trap_frame *frame)
{
    struct tick_state *state = &rec->ticks;
    bool retired = false;
    state->program_trap = false;
    if (!state->armed) { /* whatever TF there is, it is not ours */
        state->program_tf = frame->rflags & RFLAGS_TF;
        state->program_trap = frame->vector == VECTOR_DEBUG;
    } else if (frame->vector == VECTOR_DEBUG) {
        retired = true;
        state->steps++;
        state->program_trap = state->program_tf || state->is_icebp;
        if (state->loads_flags)
            state->program_tf = frame->rflags & RFLAGS_TF;
    }
    state->armed = false;
    uint64_t own = state->program_tf ? RFLAGS_TF : 0;
    frame->rflags = (frame->rflags & ~(RFLAGS_TF | RFLAGS_RF)) | own;
    if (frame->vector == VECTOR_SYSCALL)
        frame->r11 = (frame->r11 & ~(RFLAGS_TF | RFLAGS_RF)) | own;
    return retired;
}

/* PUSHF stores RFLAGS with VM and RF clear (Intel SDM vol. 2). */
static bool emulate_pushf(struct rec_thread *rec, struct trap_frame *frame, const struct insn *insn)
{
    uint64_t image = frame->rflags & ~RFLAGS_RF;
    uint64_t stack = frame->rsp - insn->operand_size;
    if (!user_poke(rec->root, stack, &image, insn->operand_size))
        return false; /* let it fault */
    frame->rsp = stack;
    return true;
}

static void collect_registers(const struct trap_frame *frame, uint64_t out[16])
{
    const uint64_t registers[16] = {
        frame->rax, frame->rcx, frame->rdx, frame->rbx, frame->rsp, frame->rbp,
        frame->rsi, frame->rdi, frame->r8,  frame->r9,  frame->r10, frame->r11,
        frame->r12, frame->r13, frame->r14, frame->r15,
    };
    memcpy(out, registers, sizeof(registers));
}

/* Loading SS with the selector that it has anyway changes nothing but to block the debug trap after
 * it. Any other selector faults, and may do so by itself. */
static bool emulate_mov_ss(struct rec_thread *rec, struct trap_frame *frame,
                           const struct insn *insn)
{
    uint64_t registers[16];
    uint16_t selector;
    collect_registers(frame, registers);
    if (insn->operand.is_register) {
        selector = (uint16_t)registers[insn->operand.rm & 15];
    } else {
        struct user_segments segments;
        context_save_segments(&segments);
        uint64_t address =
            insn_effective_address(insn, registers, frame->rip + insn->length, segments.fs_base, 0);
        if (user_peek(rec->root, address, &selector, sizeof(selector)) != sizeof(selector))
            return false;
    }
    return selector == SELECTOR_USER_DATA;
}

static bool emulate(struct rec_thread *rec, struct trap_frame *frame, const struct insn *insn)
{
    bool done = false;
    if (rec->ticks.program_tf)
        return false; /* the program steps itself: its trap comes after this one */
    if (insn->kind == INSN_PUSHF)
        done = emulate_pushf(rec, frame, insn);
    else if (insn->kind == INSN_MOV_SS)
        done = emulate_mov_ss(rec, frame, insn);
    if (!done)
        return false;
    witness_emulated(rec->session->witness, rec->slot, frame->rip);
    frame->rip += insn->length;
    return true;
}

/* What the CPU could fetch at RIP: readable and executable bytes of the view. */
static unsigned fetch(const struct rec_thread *rec, uint64_t rip, uint8_t *bytes)
{
    unsigned available = (unsigned)user_peek(rec->root, rip, bytes, INSN_MAX_LENGTH);
    for (unsigned i = 0; i < available; i++)
        if ((i == 0 || ((rip + i) & ~PAGE_MASK) == 0) &&
            (paging_lookup(rec->root, rip + i) & PT_NX))
            return i;
    return available;
}

enum tick_leave tick_tf_leave(struct rec_thread *rec, struct trap_frame *frame)
{
    struct tick_state *state = &rec->ticks;
    uint8_t bytes[INSN_MAX_LENGTH];
    struct insn insn;
    unsigned available = fetch(rec, frame->rip, bytes);
    state->armed = true;
    state->counts = state->loads_flags = state->is_icebp = false;
    /* What cannot be fetched or decoded here faults there. */
    if (insn_decode(bytes, available, INSN_MODE_64, &insn) == 0) {
        if (emulate(rec, frame, &insn)) {
            state->armed = false;
            return TICK_EMULATED;
        }
        state->counts = class_counts(rec->session->unit, &insn);
        state->loads_flags = insn.kind == INSN_POPF || insn.kind == INSN_IRET;
        state->is_icebp = insn.kind == INSN_ICEBP;
    }
    frame->rflags |= RFLAGS_TF;
    return TICK_GO;
}
