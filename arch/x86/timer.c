/* SPDX-License-Identifier: MIT */
/* Time from the TSC, and the one-shot interrupt of each CPU.
 *
 * The rates are measured once, by the boot CPU, and hold for all CPUs; nothing is written later.
 * What disturbs a measurement is being away between two reads that belong together (an SMI, a
 * virtual CPU that lost its host CPU). So each read of the reference is enclosed in two of the TSC,
 * the closest pair of many counts, and windows must agree with each other.
 * Source: Intel SDM vol. 3, 12.5.4.
 */
#include "arch/x86/timer.h"

#include "arch/x86/apic_registers.h"
#include "arch/x86/clock_reference.h"
#include "arch/x86/cpu.h"
#include "arch/x86/io.h"
#include "arch/x86/msr.h"
#include "arch/x86/vectors.h"
#include "kernel/panic.h"
#include "kernel/printf.h"
#include "kernel/wait.h"

#define NS_PER_SECOND 1000000000ull
#define WINDOWS_MIN 3
#define WINDOWS_MAX 15
#define WINDOW_MS 20
#define SAMPLE_READS 16
#define GOOD_SPREAD_PPM 500    /* three windows this close: no more are needed */
#define SENSE_SPREAD_PPM 10000 /* three windows that differ more make no sense */

/* a * b >> shift through 128 bits: neither a nor b needs to be small. */
struct scale {
    uint64_t factor;
    unsigned shift;
};
#define TSC_TO_NS_SHIFT 32   /* factor < 2^62 from 1 Hz on */
#define NS_TO_TICKS_SHIFT 30 /* factor < 2^34 up to 17 GHz */

/* Farther away is brought nearer: keeps the arithmetic in range, and means a year. */
#define ARM_MAX_NS (1ull << 55)

static const struct clock_reference *reference;
static bool use_deadline;
static uint64_t tsc_hz, lapic_hz, tsc_start;
static struct scale tsc_to_ns, ns_to_tsc, ns_to_lapic;

static uint64_t scale_apply(uint64_t value, struct scale scale)
{
    return (uint64_t)((unsigned __int128)value * scale.factor >> scale.shift);
}

/* a * b / divisor without overflow in between; UINT64_MAX when the result does not fit. */
static uint64_t multiply_divide(uint64_t a, uint64_t b, uint64_t divisor)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product, remainder;
    if (high >= divisor)
        return UINT64_MAX;
    __asm__("divq %4" : "=a"(low), "=d"(remainder) : "0"(low), "1"(high), "r"(divisor) : "cc");
    return low;
}

/* --- calibration --- */

struct sample {
    uint64_t tsc, ticks; /* of the same moment */
    uint32_t lapic;      /* counts down */
};

struct rates {
    uint64_t tsc_hz, lapic_hz;
};

static uint64_t tsc_read_ordered(void)
{
    __asm__ volatile("lfence" ::: "memory");
    uint64_t tsc = cpu_rdtsc();
    __asm__ volatile("lfence" ::: "memory");
    return tsc;
}

static bool sample_take(struct sample *sample)
{
    uint64_t closest = UINT64_MAX;
    for (int i = 0; i < SAMPLE_READS; i++) {
        uint64_t ticks, before = tsc_read_ordered();
        bool valid = reference->read(&ticks);
        uint32_t lapic = apic_read(APIC_TIMER_CURRENT);
        uint64_t width = tsc_read_ordered() - before;
        if (!valid)
            return false;
        if (width < closest) {
            closest = width;
            *sample = (struct sample){before + width / 2, ticks, lapic};
        }
    }
    return true;
}

/* Lets the window pass; false when the reference cannot tell any more. */
static bool window_pass(uint64_t until_ticks)
{
    struct wait_state wait = {0};
    uint64_t ticks;
    do {
        wait_turn(&wait, "the reference clock to run through a calibration window");
        if (!reference->read(&ticks))
            return false;
    } while (ticks < until_ticks);
    return true;
}

static bool window_measure(struct rates *rates)
{
    struct sample from, to;
    apic_write(APIC_TIMER_INITIAL, UINT32_MAX);
    reference->start();
    if (!sample_take(&from) || !window_pass(from.ticks + reference->hz * WINDOW_MS / 1000) ||
        !sample_take(&to))
        return false;
    uint64_t ticks = to.ticks - from.ticks;
    if (to.ticks <= from.ticks || to.lapic == 0 || to.lapic >= from.lapic || to.tsc <= from.tsc)
        return false;
    rates->tsc_hz = multiply_divide(to.tsc - from.tsc, reference->hz, ticks);
    rates->lapic_hz = multiply_divide(from.lapic - to.lapic, reference->hz, ticks);
    return true;
}

static void sorted_insert(uint64_t *values, unsigned count, uint64_t value)
{
    unsigned i = count;
    for (; i > 0 && values[i - 1] > value; i--)
        values[i] = values[i - 1];
    values[i] = value;
}

/* The middle of the three neighbours that lie closest together, and their spread. */
static uint64_t sorted_consensus(const uint64_t *values, unsigned count, uint64_t *spread_ppm)
{
    uint64_t best = values[count / 2];
    *spread_ppm = UINT64_MAX;
    for (unsigned i = 0; i + 2 < count; i++) {
        uint64_t spread = multiply_divide(values[i + 2] - values[i], 1000000, values[i + 1]);
        if (spread < *spread_ppm) {
            *spread_ppm = spread;
            best = values[i + 1];
        }
    }
    return best;
}

/* One rate from all windows: what three agree on, else the median and a warning. */
static uint64_t rate_settle(const uint64_t *values, unsigned count, const char *what)
{
    uint64_t spread, rate = sorted_consensus(values, count, &spread);
    if (spread > SENSE_SPREAD_PPM) {
        rate = values[count / 2];
        printk("timer: no three of %u measurements of the %s agree within 1 %%: it may be wrong\n",
               count, what);
    }
    return rate;
}

static void rates_measure(void)
{
    uint64_t tsc[WINDOWS_MAX], lapic[WINDOWS_MAX], tsc_spread, lapic_spread;
    unsigned count = 0;
    for (unsigned i = 0; i < WINDOWS_MAX; i++) {
        struct rates rates;
        if (!window_measure(&rates) || rates.tsc_hz == 0 || rates.lapic_hz == 0)
            continue;
        sorted_insert(tsc, count, rates.tsc_hz);
        sorted_insert(lapic, count, rates.lapic_hz);
        count++;
        if (count < WINDOWS_MIN)
            continue;
        sorted_consensus(tsc, count, &tsc_spread);
        sorted_consensus(lapic, count, &lapic_spread);
        if (tsc_spread <= GOOD_SPREAD_PPM && lapic_spread <= GOOD_SPREAD_PPM)
            break;
    }
    if (count == 0)
        panic("the %s gives no usable measurement of TSC and local APIC timer", reference->name);
    tsc_hz = rate_settle(tsc, count, "TSC");
    lapic_hz = rate_settle(lapic, count, "local APIC timer");
}

void timer_init(void)
{
    reference = clock_reference_find();
    apic_write(APIC_LVT_TIMER, APIC_LVT_MASKED | VECTOR_TIMER);
    apic_write(APIC_TIMER_DIVIDE, APIC_TIMER_DIVIDE_BY_16);
    rates_measure();
    apic_write(APIC_TIMER_INITIAL, 0);
    if (tsc_hz < 1000000 || tsc_hz >> 34 || lapic_hz < 1000 || lapic_hz >> 34)
        panic("calibration against the %s makes no sense: TSC %llu Hz, local APIC timer %llu Hz",
              reference->name, (unsigned long long)tsc_hz, (unsigned long long)lapic_hz);

    ns_to_tsc = (struct scale){(tsc_hz << NS_TO_TICKS_SHIFT) / NS_PER_SECOND, NS_TO_TICKS_SHIFT};
    ns_to_lapic =
        (struct scale){(lapic_hz << NS_TO_TICKS_SHIFT) / NS_PER_SECOND, NS_TO_TICKS_SHIFT};
    use_deadline = cpu_features.tsc_deadline;
    tsc_start = cpu_rdtsc();
    tsc_to_ns = (struct scale){(NS_PER_SECOND << TSC_TO_NS_SHIFT) / tsc_hz, TSC_TO_NS_SHIFT};
    if (!cpu_features.invariant_tsc && !cpu_features.hypervisor)
        printk("timer: this CPU's TSC may change its rate: times are approximate\n");
}

/* --- reading the clock --- */

uint64_t timer_tsc_to_ns(uint64_t tsc)
{
    uint64_t elapsed = tsc - tsc_start;
    /* On a CPU whose TSC lags behind the boot CPU's, the first moments are time 0. */
    return (int64_t)elapsed < 0 ? 0 : scale_apply(elapsed, tsc_to_ns);
}

uint64_t timer_now_ns(void)
{
    return timer_tsc_to_ns(cpu_rdtsc());
}

uint64_t timer_tsc_hz(void)
{
    return tsc_hz;
}

uint64_t timer_tsc_khz(void)
{
    return tsc_to_ns.factor ? tsc_hz / 1000 : 0;
}

const char *timer_reference_name(void)
{
    return reference ? reference->name : "none yet";
}

const char *timer_event_name(void)
{
    return use_deadline ? "TSC-deadline" : "LAPIC one-shot";
}

void timer_delay_us(uint32_t microseconds)
{
    if (timer_tsc_khz() == 0) {
        for (uint32_t i = 0; i < microseconds; i++)
            io_wait();
        return;
    }
    uint64_t start = cpu_rdtsc(), ticks = scale_apply(microseconds * 1000ull, ns_to_tsc);
    while (cpu_rdtsc() - start < ticks)
        cpu_pause();
}

/* --- the interrupt --- */

void timer_setup_cpu(void)
{
    apic_write(APIC_TIMER_DIVIDE, APIC_TIMER_DIVIDE_BY_16);
    apic_write(APIC_TIMER_INITIAL, 0);
    apic_write(APIC_LVT_TIMER,
               use_deadline ? APIC_LVT_TIMER_DEADLINE | VECTOR_TIMER : VECTOR_TIMER);
    /* In xAPIC mode a store to memory: it must not be overtaken by a write to the deadline MSR. */
    __asm__ volatile("mfence" ::: "memory");
    if (use_deadline)
        msr_write(MSR_TSC_DEADLINE, 0);
}

/* Rounded up, and later by what the two clocks' measurements may differ: upcall_timer() finds the
 * time reached, but for times beyond the counter's range (half a minute or more), when it is called
 * early and arms again. */
static void lapic_arm(uint64_t delta_ns)
{
    uint64_t count = scale_apply(delta_ns, ns_to_lapic);
    if (count > UINT32_MAX / 2)
        count = UINT32_MAX / 2;
    count += count * GOOD_SPREAD_PPM / 1000000 + 1;
    apic_write(APIC_TIMER_INITIAL, (uint32_t)count);
}

void timer_arm_at_ns(uint64_t when)
{
    uint64_t now = timer_now_ns();
    uint64_t delta = when > now ? when - now : 0;
    if (delta > ARM_MAX_NS)
        delta = ARM_MAX_NS;
    if (use_deadline)
        msr_write(MSR_TSC_DEADLINE,
                  when == UINT64_MAX ? 0 : cpu_rdtsc() + scale_apply(delta, ns_to_tsc) + 1);
    else if (when == UINT64_MAX)
        apic_write(APIC_TIMER_INITIAL, 0);
    else
        lapic_arm(delta);
}
