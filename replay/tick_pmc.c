/* SPDX-License-Identifier: MIT */
/* The tick source that the system is about: a performance counter of retired user-mode branches,
 * and its overflow NMI.
 *
 * The counter counts in ring 3 only. On every way there it is written so that it overflows where
 * the thread is to stop; on the way back what it has counted is added to the thread's ticks (modulo
 * its width, so a counter that has wrapped while its interrupt is still pending is counted right),
 * less what this machine is known to count for the entry itself (pmu_calibration). So ticks are the
 * thread's, and CPUs and other threads do not matter.
 *
 * The NMI handler does nothing but send this CPU an interrupt: that is taken on return from the
 * NMI, before the program goes on, and enters the kernel by the ordinary path. If the thread had
 * left ring 3 by then, the interrupt does no harm.
 *
 * An exact stop: overflow so long before the point that the interrupt comes in time, from there a
 * breakpoint on its RIP; at each hit the whole point is compared. Single steps only where a
 * breakpoint does not stop: between the iterations of a `rep` instruction.
 */
#include "arch/x86/apic.h"
#include "arch/x86/breakpoint.h"
#include "arch/x86/insn.h"
#include "arch/x86/layout.h"
#include "arch/x86/vectors.h"
#include "kernel/err.h"
#include "kernel/ipi_call.h"
#include "kernel/marker.h"
#include "kernel/pmu_calibration.h"
#include "kernel/pmu_owner.h"
#include "kernel/waitqueue.h"
#include "mm/user_memory.h"
#include "replay/record.h"
#include "replay/session.h"
#include "replay/ticks.h"

#define STOP_MARGIN 2

/* Owner CPU only. */
struct pmc_cpu {
    uint64_t base; /* what was written to the counter last */
    bool breakpoint;
};
static struct pmc_cpu pmc_cpus[MAX_CPUS];

static void on_overflow(struct trap_frame *frame)
{
    MARKER(tick_overflow, MARKER_ARG(rip, (void *)frame->rip));
    if (frame_from_user(frame))
        apic_send_ipi(this_cpu()->index, VECTOR_IPI_KICK);
}

static struct pmu_user pmc_user = {.name = "ticks", .overflow = on_overflow};
static struct mutex pmc_mutex = {.queue = WAIT_QUEUE_INIT(pmc_mutex.queue, "tick counter")};
static uint32_t sessions;      /* pmc_mutex */
static enum log_unit pmc_unit; /* pmc_mutex; fixed while there are sessions */
static bool start_failed;      /* pmc_mutex; atomic */

static enum pmu_event event_of(enum log_unit unit)
{
    return unit == LOG_UNIT_ALL ? PMU_EVENT_BRANCHES : PMU_EVENT_CONDITIONAL;
}

static const char *pmc_refusal(enum log_unit unit)
{
    return pmu_calibration_refusal(event_of(unit));
}

static uint32_t pmc_skid(void)
{
    return pmu_capabilities.model->skid;
}

static void start_here(void *argument)
{
    (void)argument;
    if (!pmu_start(pmc_user.counter, event_of(pmc_unit), PMU_COUNT_USER | PMU_INTERRUPT, 0))
        __atomic_store_n(&start_failed, true, __ATOMIC_RELAXED);
    pmc_cpus[this_cpu()->index] = (struct pmc_cpu){.base = 0};
    pmu_user_armed(&pmc_user, true);
}

static void stop_here(void *argument)
{
    (void)argument;
    pmu_stop(pmc_user.counter);
    pmu_user_armed(&pmc_user, false);
}

static int open_first(enum log_unit unit)
{
    int error = pmu_reserve(&pmc_user);
    if (error)
        return error;
    pmc_unit = unit;
    start_failed = false;
    ipi_call_all(start_here, NULL, "the tick counters to start");
    if (!start_failed)
        return 0;
    ipi_call_all(stop_here, NULL, "the tick counters to stop");
    pmu_release(&pmc_user);
    return ERR_FAILED;
}

static int pmc_open(enum log_unit unit)
{
    mutex_lock(&pmc_mutex);
    int error = 0;
    if (sessions == 0)
        error = open_first(unit);
    else if (unit != pmc_unit)
        error = ERR_BUSY;
    if (!error)
        sessions++;
    mutex_unlock(&pmc_mutex);
    return error;
}

static void pmc_close(void)
{
    mutex_lock(&pmc_mutex);
    if (--sessions == 0) {
        ipi_call_all(stop_here, NULL, "the tick counters to stop");
        pmu_release(&pmc_user);
    }
    mutex_unlock(&pmc_mutex);
}

static struct pmc_cpu *own(void)
{
    return &pmc_cpus[this_cpu()->index];
}

static void pmc_entered(struct rec_thread *rec, struct trap_frame *frame)
{
    struct pmc_cpu *cpu = own();
    uint64_t counted = (pmu_read(pmc_user.counter) - cpu->base) & pmu_mask();
    uint64_t extra = pmu_calibration_entry_cost(event_of(pmc_unit), (unsigned)frame->vector);
    rec->ticks.ticks += counted > extra ? counted - extra : 0;
    if (cpu->breakpoint) {
        breakpoint_clear();
        cpu->breakpoint = false;
    }
    tick_tf_entered(rec, frame);
}

static void arm_counter(uint64_t events)
{
    own()->base = pmu_write(pmc_user.counter, 0 - events);
}

/* A breakpoint on a `rep` instruction stops before its first iteration only. One in the kernel's
 * half, where a program can jump to its fault, would stop the kernel. */
static bool needs_step(const struct rec_thread *rec, const struct trap_frame *frame,
                       const struct log_point *point)
{
    uint8_t bytes[INSN_MAX_LENGTH];
    struct insn insn;
    if (point->rip >= USER_END)
        return true;
    if (frame->rip != point->rip || rec->ticks.ticks != point->ticks)
        return false;
    unsigned available = (unsigned)user_peek(rec->root, frame->rip, bytes, sizeof(bytes));
    return insn_decode(bytes, available, INSN_MODE_64, &insn) == 0 && insn.kind == INSN_REP_STRING;
}

static void set_breakpoint(struct trap_frame *frame, uint64_t rip)
{
    breakpoint_set(rip);
    own()->breakpoint = true;
    if (frame->rip == rip)
        frame->rflags |= RFLAGS_RF; /* compared just now: not the one, so let it run */
}

static enum tick_leave leave_exact(struct rec_thread *rec, struct trap_frame *frame,
                                   const struct log_point *point)
{
    uint64_t distance = point->ticks - rec->ticks.ticks;
    MARKER(tick_approach, MARKER_ARG(thread, rec->slot), MARKER_ARG(distance, distance),
           MARKER_ARG(rip, (void *)point->rip));
    if (distance > pmc_skid() + STOP_MARGIN) {
        arm_counter(distance - pmc_skid() - STOP_MARGIN);
        return TICK_GO;
    }
    arm_counter(distance + 1); /* past it: the replay will see that it was missed */
    if (needs_step(rec, frame, point))
        return tick_tf_leave(rec, frame);
    set_breakpoint(frame, point->rip);
    return TICK_GO;
}

static enum tick_leave pmc_leave(struct rec_thread *rec, struct trap_frame *frame,
                                 const struct tick_stop *stop)
{
    /* The owner of the progress token gives it back after one instruction. */
    bool single = rec->thread->no_yield;
    if (stop->kind == TICK_STOP_AT)
        return leave_exact(rec, frame, &stop->point);
    if (stop->kind == TICK_STOP_AFTER && stop->point.ticks >= rec->ticks.ticks)
        arm_counter(stop->point.ticks + 1 - rec->ticks.ticks);
    else
        arm_counter(pmu_mask() >> 1); /* no stop: as far away as can be */
    return single ? tick_tf_leave(rec, frame) : TICK_GO;
}

static bool pmc_debug(struct rec_thread *rec, struct trap_frame *frame, uint64_t dr6)
{
    (void)frame;
    if (dr6 & DR6_B0)
        return true; /* the program has no way to set one itself */
    return !rec->ticks.program_trap;
}

const struct tick_source tick_source_pmc = {
    .name = "pmc",
    .hold_us = 50,
    .refusal = pmc_refusal,
    .skid = pmc_skid,
    .open = pmc_open,
    .close = pmc_close,
    .entered = pmc_entered,
    .leave = pmc_leave,
    .debug = pmc_debug,
};
