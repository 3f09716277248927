/* SPDX-License-Identifier: MIT */
/* The hard-lockup watchdog.
 *
 * A counter of each CPU overflows about once in INTERVAL_NS of work; its NMI gets through whatever
 * the CPU does. Each one sends the CPU a kick, an ordinary interrupt, and looks whether a kick has
 * been taken since the one before: that count is the heartbeat. It does not depend on a timer being
 * armed, and a halted CPU counts nothing and is not judged.
 *
 * A lockup needs both, MISSES_MAX overflows in a row without a heartbeat and LOCKUP_NS: time alone
 * also passes while a host does not run this CPU, and a short period alone proves nothing.
 *
 * How many events fill INTERVAL_NS depends on clock and emulator, so each CPU adapts its period.
 */
#include "kernel/watchdog.h"

#include "arch/x86/apic.h"
#include "arch/x86/cpu.h"
#include "arch/x86/timer.h"
#include "kernel/command.h"
#include "kernel/err.h"
#include "kernel/panic.h"
#include "kernel/pmu_sampling.h"
#include "kernel/printf.h"
#include "kernel/string.h"
#include "kernel/symbols.h"

#define INTERVAL_NS 1000000000ull
#define MISSES_MAX 5
#define LOCKUP_NS 4000000000ull
#define FIRST_PERIOD 20000000ull
#define LEAST_PERIOD 1000000ull
#define ADAPT_MAX 4 /* a period changes at most by this factor at a time */

/* Owner CPU only, in NMI; reset while the watchdog is off. */
struct watch {
    uint64_t period;
    uint64_t overflow_at; /* ns, of the last one; 0: none yet */
    uint64_t beats;       /* kick_count then */
    uint64_t beat_at;     /* ns, of the last overflow that saw it move */
    uint32_t misses, most_misses;
};
static struct watch watches[MAX_CPUS];

static uint64_t clamp(uint64_t value, uint64_t least, uint64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* Time spent halted makes the period too short, which the next busy interval sets right. */
static void adapt_period(struct watch *watch, uint64_t elapsed)
{
    uint64_t period = watch->period;
    uint64_t wanted = period * (INTERVAL_NS / 1000) / (elapsed / 1000 + 1);
    wanted = clamp(wanted, period / ADAPT_MAX, period * ADAPT_MAX);
    watch->period = clamp(wanted, LEAST_PERIOD, PMU_SAMPLING_PERIOD_MAX);
}

static _Noreturn void report_lockup(const struct trap_frame *frame, uint64_t ns)
{
    char where[96];
    panic_frame(frame, "hard lockup: CPU %u has taken no interrupt for %llu.%llu s, at 0x%llx %s",
                this_cpu()->index, (unsigned long long)(ns / 1000000000),
                (unsigned long long)(ns / 100000000 % 10), (unsigned long long)frame->rip,
                frame_from_user(frame) ? "(user)"
                                       : symbol_format(where, sizeof(where), frame->rip));
}

static void judge(struct watch *watch, const struct trap_frame *frame, uint64_t now)
{
    uint64_t beats = this_cpu()->kick_count;
    if (beats != watch->beats || watch->overflow_at == 0) {
        watch->beats = beats;
        watch->beat_at = now;
        watch->misses = 0;
        return;
    }
    if (++watch->misses > watch->most_misses)
        watch->most_misses = watch->misses;
    if (watch->misses >= MISSES_MAX && now - watch->beat_at >= LOCKUP_NS)
        report_lockup(frame, now - watch->beat_at);
}

static void on_overflow(struct trap_frame *frame);
static struct pmu_sampler sampler = {.user = {.name = "watchdog", .overflow = on_overflow}};

/* NMI. */
static void on_overflow(struct trap_frame *frame)
{
    struct watch *watch = &watches[this_cpu()->index];
    uint64_t now = timer_now_ns();
    if (watch->overflow_at)
        adapt_period(watch, now - watch->overflow_at);
    pmu_write(sampler.user.counter, 0 - watch->period);
    judge(watch, frame, now);
    watch->overflow_at = now;
    apic_send_ipi(this_cpu()->index, VECTOR_IPI_KICK);
}

bool watchdog_is_on(void)
{
    return sampler.running;
}

int watchdog_start(void)
{
    if (sampler.running)
        return 0;
    for (uint32_t i = 0; i < cpu_count; i++)
        watches[i] = (struct watch){.period = FIRST_PERIOD};
    return pmu_sampler_start(&sampler, FIRST_PERIOD);
}

void watchdog_stop(void)
{
    pmu_sampler_stop(&sampler);
}

static bool is_emulated(void)
{
    return strstr(cpu_features.brand, "QEMU TCG") != NULL;
}

void watchdog_start_by_default(void)
{
    if (!pmu_refusal() && !is_emulated())
        watchdog_start();
}

/* --- the command --- */

static void print_status(void)
{
    if (!sampler.running) {
        const char *refusal = pmu_refusal();
        printk("watchdog: off%s%s\n", refusal ? "; it cannot be used: " : "",
               refusal ? refusal : "");
        if (!refusal && is_emulated())
            printk("  this PMU is emulated: counting all %s slows everything down, so the watchdog "
                   "is not on by itself\n",
                   pmu_has_event(PMU_EVENT_CYCLES) ? "cycles" : "instructions");
        return;
    }
    printk("watchdog: on, counts %s; %llu overflows; %u without an interrupt taken in between are "
           "a lockup\n",
           pmu_event_name(sampler.event), (unsigned long long)sampler.user.overflows, MISSES_MAX);
    for (uint32_t i = 0; i < cpu_count; i++)
        printk("  CPU %-3u period %llu, without an interrupt at most %u in a row\n", i,
               (unsigned long long)watches[i].period, watches[i].most_misses);
}

static int command_watchdog(int count, char **words)
{
    int error = 0;
    if (count != 2)
        return ERR_USAGE;
    if (strcmp(words[1], "on") == 0)
        error = watchdog_start();
    else if (strcmp(words[1], "off") == 0)
        watchdog_stop();
    else if (strcmp(words[1], "status") != 0)
        return ERR_USAGE;
    if (!error)
        print_status();
    return error ? ERR_FAILED : 0;
}

static struct command command = {
    .name = "watchdog",
    .arguments = "on|off|status",
    .help = "panic when a CPU keeps interrupts off for seconds",
    .function = command_watchdog,
};

void watchdog_register(void)
{
    command_register(&command);
}
