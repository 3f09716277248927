/* SPDX-License-Identifier: MIT */
/* Panic: stops the other CPUs, reports, ends the run.
 *
 * One CPU wins `panic_owner` and keeps it for good; a second one that panics stops as if told to.
 * A panic within the report says so in one line and ends at once, so no report can loop.
 *
 * Context: any, NMI included; takes no lock and waits for nobody for more than STOP_LIMIT_NS.
 */
#include "kernel/panic.h"

#include "arch/x86/apic.h"
#include "arch/x86/cpu.h"
#include "arch/x86/devices.h"
#include "arch/x86/lbr.h"
#include "arch/x86/timer.h"
#include "kernel/console.h"
#include "kernel/flight.h"
#include "kernel/lbr.h"
#include "kernel/printf.h"
#include "kernel/spinlock.h"
#include "kernel/string.h"
#include "kernel/symbols.h"

#define MESSAGE_MAX 384
#define WHERE_MAX 96
#define STOP_LIMIT_NS 250000000ull
#define STOP_LIMIT_TURNS (1u << 18) /* without a clock */

/* What the report is about. `frame` is NULL when code called panic(). */
struct panic_subject {
    const struct trap_frame *frame;
    uint64_t rip, rsp, rbp;
    char where[WHERE_MAX];
    char message[MESSAGE_MAX];
};

static uint32_t panic_owner;         /* CPU index + 1, set once; 0: no panic */
static uint32_t panic_depth;         /* owner CPU only */
static struct panic_subject subject; /* owner CPU only, the first panic's */

/* Written by the CPU that stops, `stopped` last; read by the one that panics. */
static struct stop_note {
    uint64_t rip; /* 0: not known */
    bool stopped;
} stop_notes[MAX_CPUS];

__attribute__((weak)) void panic_describe_thread(char *out, unsigned size)
{
    string_copy(out, "none", size);
}

bool panic_in_progress(void)
{
    uint32_t owner = __atomic_load_n(&panic_owner, __ATOMIC_RELAXED);
    return owner != 0 && owner != this_cpu()->index + 1;
}

_Noreturn void panic_stop_this_cpu(const struct trap_frame *frame)
{
    struct stop_note *note = &stop_notes[this_cpu()->index];

    irq_disable();
    if (!note->stopped) { /* the NMI also comes to one that stopped by itself */
        note->rip = frame ? frame->rip : 0;
        __atomic_store_n(&note->stopped, true, __ATOMIC_RELEASE);
    }
    cpu_halt_forever();
}

static _Noreturn void end_run(void)
{
    power_debug_exit(PANIC_EXIT_CODE);
    cpu_halt_forever();
}

/* Text as it may stand between double quotes on one line, or, without blanks, outside of them. */
static void clean_text(char *text, bool blanks)
{
    for (; *text; text++) {
        if (*text == '"')
            *text = '\'';
        else if ((unsigned char)*text < ' ' || *text == 0x7f || (!blanks && *text == ' '))
            *text = blanks ? ' ' : '_';
    }
}

/* --- the other CPUs --- */

static bool must_stop(uint32_t index)
{
    return index != this_cpu()->index && cpus[index] &&
           __atomic_load_n(&cpus[index]->online, __ATOMIC_RELAXED);
}

static bool all_stopped(void)
{
    for (uint32_t i = 0; i < cpu_count; i++)
        if (must_stop(i) && !__atomic_load_n(&stop_notes[i].stopped, __ATOMIC_ACQUIRE))
            return false;
    return true;
}

/* One by one: a CPU that is only just starting has no handler and would reset the machine. */
static void stop_others(void)
{
    bool clock = timer_tsc_khz() != 0;
    uint64_t started = clock ? timer_now_ns() : 0;

    for (uint32_t i = 0; i < cpu_count; i++)
        if (must_stop(i))
            apic_send_nmi(i);
    for (uint32_t turns = 0; !all_stopped(); turns++) {
        if (clock ? timer_now_ns() - started > STOP_LIMIT_NS : turns > STOP_LIMIT_TURNS)
            break;
        cpu_pause();
    }
}

static void report_others(void)
{
    char where[WHERE_MAX];

    for (uint32_t i = 0; i < cpu_count; i++) {
        if (!must_stop(i))
            continue;
        if (!__atomic_load_n(&stop_notes[i].stopped, __ATOMIC_ACQUIRE))
            printk("  CPU %u did not stop\n", i);
        else if (stop_notes[i].rip == 0)
            printk("  CPU %u stopped in a panic of its own\n", i);
        else
            printk("  CPU %u stopped at %s\n", i,
                   symbol_format(where, sizeof where, stop_notes[i].rip));
    }
}

/* --- the report --- */

static void report_locks(void)
{
    const char *name;

    if (spin_locks_held() == 0)
        printk("spinlocks held by this CPU: none\n");
    for (unsigned i = 0; (name = spin_held_name(i)) != NULL; i++)
        printk("spinlock held by this CPU: \"%s\"\n", name);
}

static void report_machine_line(const char *thread)
{
    const struct trap_frame *frame = subject.frame;

    clean_text(subject.message, true);
    clean_text(subject.where, false);
    printk("@panic cpu=%u thread=%s vector=%s rip=0x%lx where=%s msg=\"%s\"\n", this_cpu()->index,
           thread, frame ? vector_mnemonic((unsigned)frame->vector) : "none", subject.rip,
           subject.where, subject.message);
}

static _Noreturn void report_and_end(void)
{
    char thread[64] = "";

    printk("\n*** PANIC: %s\n", subject.message);
    panic_describe_thread(thread, sizeof thread);
    printk("where: %s; CPU %u (APIC ID %u); thread: %s\n", subject.where, this_cpu()->index,
           this_cpu()->apic_id, thread);
    if (subject.frame)
        report_registers(subject.frame);
    else
        printk("  rip 0x%016lx  rsp 0x%016lx  rbp 0x%016lx\n"
               "  cr2 0x%016lx  cr3 0x%016lx\n",
               subject.rip, subject.rsp, subject.rbp, cpu_read_cr2(), cpu_read_cr3());
    if (!subject.frame || !frame_from_user(subject.frame))
        report_backtrace(subject.rip, subject.rbp);
    lbr_report(subject.frame, NULL);
    report_locks();
    report_others();
    flight_report_panic();
    clean_text(thread, false);
    report_machine_line(thread);
    end_run();
}

/* Returns for the first panic of the machine only. */
static void begin_panic(const char *format, va_list arguments)
{
    static char nested[MESSAGE_MAX];
    uint32_t nobody = 0, me = this_cpu()->index + 1;

    irq_disable();
    if (__atomic_compare_exchange_n(&panic_owner, &nobody, me, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
        panic_depth = 1;
        return;
    }
    if (nobody != me)
        panic_stop_this_cpu(NULL);
    panic_depth++;
    if (panic_depth == 2) {
        format_text_va(nested, sizeof nested, format, arguments);
        console_enter_panic();
        clean_text(nested, true);
        clean_text(subject.message, true);
        printk("@panic cpu=%u nested=\"%s\" msg=\"%s\"\n", me - 1, nested, subject.message);
    }
    end_run();
}

/* In this order: a fault while formatting finds the panic begun, and one while stopping the others
 * finds its message formatted. */
static void fill_message(const char *format, va_list arguments)
{
    format_text_va(subject.message, sizeof subject.message, format, arguments);
    stop_others();
    console_enter_panic();
}

_Noreturn void panic_at(const char *file, int line, const char *format, ...)
{
    const uint64_t *link = __builtin_frame_address(0);
    va_list arguments;

    lbr_freeze();
    va_start(arguments, format);
    begin_panic(format, arguments);
    /* Within the call: what follows it may belong to another function, since it never returns. */
    subject.rip = (uint64_t)__builtin_return_address(0) - 1;
    subject.rsp = (uint64_t)(link + 2);
    subject.rbp = link[0];
    format_text(subject.where, sizeof subject.where, "%s:%d", file, line);
    fill_message(format, arguments);
    va_end(arguments);
    report_and_end();
}

_Noreturn void panic_frame(const struct trap_frame *frame, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    begin_panic(format, arguments);
    subject.frame = frame;
    subject.rip = frame->rip;
    subject.rsp = frame->rsp;
    subject.rbp = frame->rbp;
    symbol_format(subject.where, sizeof subject.where, frame->rip);
    fill_message(format, arguments);
    va_end(arguments);
    report_and_end();
}
