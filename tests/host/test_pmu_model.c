/* SPDX-License-Identifier: MIT */
/* The emulated PMU of tools/qemu-pmu: counting, overflow, skid, what an unlucky machine does.
 *
 * A reference that simply counts says what should come out.
 */
#include "tests/host/pmu_machine.h"
#include "tests/host/random.h"
#include "tests/host/tap.h"

/* --- counting and overflow ------------------------------------------------------------------- */

static void test_exact_overflow(void)
{
    struct machine m;
    unsigned wrong = 0;

    machine_init(&m, (struct pmu_config){0});
    for (uint64_t period = 1; period < 3000; period = period * 5 / 4 + 1) {
        machine_start(&m, 0, CONDITIONAL | COUNT_USER | INTERRUPT, period);
        machine_run(&m, 4000);
        wrong += m.interrupts != 1 || m.interrupt_at != period;
        wrong += machine_read(&m, MSR_PMC0) != 4000 - period;
        wrong += machine_read(&m, MSR_PERF_GLOBAL_STATUS) != 1;
    }
    is_u64(wrong, 0, "the interrupt comes with the event that overflows, whatever the period");
}

static void test_modes_and_enables(void)
{
    struct machine m;

    machine_init(&m, (struct pmu_config){0});
    machine_start(&m, 0, CONDITIONAL | COUNT_USER, 1000);
    machine_write(&m, MSR_PMC0, 0);
    machine_run(&m, 10);
    machine_event(&m, PMU_CONDITIONAL, PMU_KERNEL);
    machine_event(&m, PMU_JUMP, PMU_USER);
    is_u64(machine_read(&m, MSR_PMC0), 10, "only user mode, only its event");

    machine_write(&m, MSR_PERF_GLOBAL_CTRL, 0xe);
    machine_run(&m, 10);
    is_u64(machine_read(&m, MSR_PMC0), 10, "GLOBAL_CTRL stops it");
    machine_write(&m, MSR_PERF_GLOBAL_CTRL, 0xf);
    machine_run(&m, 10);
    is_u64(machine_read(&m, MSR_PMC0), 20, "and lets it go on");

    machine_write(&m, MSR_PERFEVTSEL0, CONDITIONAL | PERFEVTSEL_USER);
    machine_run(&m, 10);
    is_u64(machine_read(&m, MSR_PMC0), 20, "the enable bit stops it");
    machine_write(&m, MSR_PERFEVTSEL0, CONDITIONAL | PERFEVTSEL_ENABLE | PERFEVTSEL_KERNEL);
    machine_run(&m, 10);
    machine_event(&m, PMU_CONDITIONAL, PMU_KERNEL);
    is_u64(machine_read(&m, MSR_PMC0), 21, "kernel mode only");
    machine_write(&m, MSR_PERFEVTSEL0, CONDITIONAL | PERFEVTSEL_ENABLE);
    machine_run(&m, 10);
    is_u64(machine_read(&m, MSR_PMC0), 21, "no mode at all");
    machine_write(&m, MSR_PERFEVTSEL0, CONDITIONAL | COUNT_USER | PERFEVTSEL_EDGE);
    machine_run(&m, 10);
    is_u64(machine_read(&m, MSR_PMC0), 21, "edge detection counts nothing");
    machine_write(&m, MSR_PERFEVTSEL0, 0x2e | COUNT_USER);
    machine_run(&m, 10);
    is_u64(machine_read(&m, MSR_PMC0), 21, "nor does an unknown event");
}

static void test_without_interrupt(void)
{
    struct machine m;

    machine_init(&m, (struct pmu_config){0});
    machine_start(&m, 2, CONDITIONAL | COUNT_USER, 5);
    machine_run(&m, 20);
    is_u64(m.interrupts, 0, "no INT bit: no interrupt");
    is_u64(machine_read(&m, MSR_PERF_GLOBAL_STATUS), 4, "but the overflow is seen");
    is_u64(machine_read(&m, MSR_PMC0 + 2), 15, "and a wrapped counter goes on from 0");
    machine_write(&m, MSR_PERF_GLOBAL_OVF_CTRL, 4);
    is_u64(machine_read(&m, MSR_PERF_GLOBAL_STATUS), 0, "OVF_CTRL clears it");
}

/* The counters against plain sums, with random programs, events and rewrites. */
struct reference {
    pmu_word_set words;
    uint64_t value;
    bool interrupts, overflowed;
};

static const uint16_t selects[] = {CONDITIONAL, ALL_BRANCHES, INSTRUCTIONS, 0x02c4, 0x20c4, 0x08c4};

static void reprogram(struct machine *m, struct reference *reference, uint64_t *seed)
{
    unsigned index = (unsigned)random_below(seed, PMU_PROGRAMMABLE);
    uint16_t select = selects[random_below(seed, 6)];
    bool user = random_below(seed, 2), kernel = random_below(seed, 2);
    uint64_t left = 1 + random_below(seed, 60);

    reference = &reference[index];
    *reference = (struct reference){pmu_event_words(0, select, user, kernel), -left, false, false};
    reference->interrupts = random_below(seed, 2);
    reference->value &= PMU_COUNTER_MASK;
    machine_write(m, MSR_PERFEVTSEL0 + index,
                  select | PERFEVTSEL_ENABLE | (user ? PERFEVTSEL_USER : 0) |
                      (kernel ? PERFEVTSEL_KERNEL : 0) | (reference->interrupts ? INTERRUPT : 0));
    machine_write(m, MSR_FULL_WIDTH_PMC0 + index, reference->value);
    machine_write(m, MSR_PERF_GLOBAL_OVF_CTRL, 1ull << index);
}

/* True: an interrupt is to be raised at this event. */
static bool reference_event(struct reference *reference, pmu_word_set word)
{
    bool interrupt = false;

    for (unsigned i = 0; i < PMU_PROGRAMMABLE; i++, reference++) {
        if (!(reference->words & word))
            continue;
        reference->value = (reference->value + 1) & PMU_COUNTER_MASK;
        if (reference->value)
            continue;
        reference->overflowed = true;
        interrupt |= reference->interrupts;
    }
    return interrupt;
}

static unsigned compare(struct machine *m, const struct reference *reference)
{
    uint64_t status = 0;
    unsigned wrong = 0;

    for (unsigned i = 0; i < PMU_PROGRAMMABLE; i++) {
        wrong += machine_read(m, MSR_PMC0 + i) != reference[i].value;
        status |= (uint64_t)reference[i].overflowed << i;
    }
    return wrong + (machine_read(m, MSR_PERF_GLOBAL_STATUS) != status);
}

static void test_random_programs(void)
{
    struct reference reference[PMU_PROGRAMMABLE] = {0};
    uint64_t seed = 4711, interrupts = 0;
    unsigned wrong_values = 0, wrong_interrupts = 0;
    struct machine m;

    machine_init(&m, (struct pmu_config){0});
    for (unsigned step = 0; step < 300000; step++) {
        enum pmu_source source = random_below(&seed, PMU_SOURCES);
        enum pmu_mode mode = random_below(&seed, PMU_MODES);
        uint64_t before = m.interrupts;
        bool expected;

        if (!random_below(&seed, 50))
            reprogram(&m, reference, &seed);
        before = m.interrupts;
        expected = reference_event(reference, PMU_WORD(source, mode));
        machine_event(&m, source, mode);
        wrong_interrupts += m.interrupts - before != expected;
        interrupts += expected;
        if (!random_below(&seed, 20))
            wrong_values += compare(&m, reference);
    }
    ok(interrupts > 500, "%" PRIu64 " overflows with interrupts happened", interrupts);
    is_u64(wrong_interrupts, 0, "each with the very event, and no other interrupts");
    is_u64(wrong_values, 0, "counters and GLOBAL_STATUS as plain counting has them");
}

static void test_fixed_counters(void)
{
    struct machine m;

    machine_init(&m, (struct pmu_config){0});
    machine_write(&m, MSR_PERF_GLOBAL_CTRL, 7ull << GLOBAL_FIXED_SHIFT);
    machine_write(&m, MSR_FIXED_CTR_CTRL, 0x31a); /* user with interrupt, kernel, both */
    machine_write(&m, MSR_FIXED_CTR0, PMU_COUNTER_MASK - 9);
    for (unsigned i = 0; i < 15; i++)
        machine_event(&m, PMU_INSTRUCTION, PMU_USER);
    for (unsigned i = 0; i < 4; i++)
        machine_event(&m, PMU_INSTRUCTION, PMU_KERNEL);
    is_u64(machine_read(&m, MSR_FIXED_CTR0), 5, "fixed counter 0: user mode, wrapped");
    is_u64(machine_read(&m, MSR_FIXED_CTR0 + 1), 4, "fixed counter 1: kernel mode");
    is_u64(machine_read(&m, MSR_FIXED_CTR0 + 2), 19, "fixed counter 2: both");
    is_u64(m.interrupts, 1, "its interrupt");
    is_u64(m.interrupt_at, 10, "with the tenth instruction");
    is_u64(machine_read(&m, MSR_PERF_GLOBAL_STATUS), 1ull << 32, "its status bit");
}

static void test_freeze(unsigned version)
{
    struct machine m;

    machine_init(&m, (struct pmu_config){.version = version});
    ok(machine_write(&m, MSR_DEBUGCTL, DEBUGCTL_FREEZE_PERFMON_ON_PMI), "v%u: freeze on PMI",
       version);
    machine_start(&m, 0, CONDITIONAL | COUNT_USER | INTERRUPT, 50);
    machine_run(&m, 200);
    is_u64(m.interrupts, 1, "v%u: one interrupt", version);
    is_u64(machine_read(&m, MSR_PMC0), 0, "v%u: the counter stands", version);
    if (version >= 4) {
        is_u64(machine_read(&m, MSR_PERF_GLOBAL_STATUS), GLOBAL_STATUS_COUNTERS_FROZEN | 1,
               "v4: shown in GLOBAL_STATUS");
        machine_write(&m, MSR_PERF_GLOBAL_OVF_CTRL, GLOBAL_STATUS_COUNTERS_FROZEN | 1);
    } else {
        is_u64(machine_read(&m, MSR_PERF_GLOBAL_CTRL), 0, "v%u: GLOBAL_CTRL is 0", version);
        machine_write(&m, MSR_PERF_GLOBAL_CTRL, 0xf);
    }
    machine_run(&m, 7);
    is_u64(machine_read(&m, MSR_PMC0), 7, "v%u: it can be let go", version);
}

/* --- skid ------------------------------------------------------------------------------------ */

static void test_skid(void)
{
    struct machine m;
    uint64_t least = ~0ull, most = 0;

    machine_init(&m, (struct pmu_config){.skid = 20});
    machine_start(&m, 0, CONDITIONAL | COUNT_USER | INTERRUPT, 100);
    machine_run(&m, 105);
    is_u64(machine_read(&m, MSR_PERF_GLOBAL_STATUS), 1, "skid: the overflow shows at once");
    is_u64(m.interrupts, 0, "skid: no interrupt yet");
    machine_run(&m, 100);
    is_u64(m.interrupt_at, 120, "skid: it comes that many events later");

    machine_start(&m, 0, CONDITIONAL | COUNT_USER | INTERRUPT, 100);
    machine_run(&m, 110);
    machine_write(&m, MSR_PERFEVTSEL0, 0);
    is_u64(m.interrupts, 1, "skid: and at once when the counter is stopped");

    machine_init(&m, (struct pmu_config){.skid = 10, .random_skid = true});
    for (unsigned i = 0; i < 500; i++) {
        machine_start(&m, 0, CONDITIONAL | COUNT_USER | INTERRUPT, 30);
        machine_run(&m, 60);
        least = m.interrupt_at < least ? m.interrupt_at : least;
        most = m.interrupt_at > most ? m.interrupt_at : most;
    }
    is_u64(least, 30, "random skid: from 0");
    is_u64(most, 40, "random skid: up to the bound");
}

/* A period that is shorter than the skid: overflows while an interrupt is under way. */
static void test_short_periods(void)
{
    struct machine m;
    uint64_t interrupts = 0;

    machine_init(&m, (struct pmu_config){.skid = 20});
    machine_start(&m, 0, CONDITIONAL | COUNT_USER | INTERRUPT, 5);
    for (unsigned i = 0; i < 100; i++) {
        uint64_t before = m.interrupts;

        machine_run(&m, 1);
        if (!machine_read(&m, MSR_PMC0))
            machine_write(&m, MSR_FULL_WIDTH_PMC0, PMU_COUNTER_MASK - 4);
        interrupts += m.interrupts - before;
    }
    ok(interrupts >= 3 && interrupts <= 5, "skid longer than the period: %" PRIu64 " interrupts",
       interrupts);
}

/* --- what an unlucky machine does ------------------------------------------------------------ */

static void test_broken(enum pmu_broken broken, const char *name, uint64_t value, uint64_t status,
                        uint64_t interrupts)
{
    struct machine m;

    machine_init(&m, (struct pmu_config){.broken = broken});
    machine_start(&m, 0, CONDITIONAL | COUNT_USER | INTERRUPT, 1000);
    machine_run(&m, 3000);
    machine_event(&m, PMU_CONDITIONAL, PMU_KERNEL);
    is_u64(machine_read(&m, MSR_PMC0), value, "broken=%s: the counter", name);
    is_u64(machine_read(&m, MSR_PERF_GLOBAL_STATUS), status, "broken=%s: GLOBAL_STATUS", name);
    is_u64(m.interrupts, interrupts, "broken=%s: interrupts", name);
}

static void test_lost_interrupts(void)
{
    struct machine m;
    uint64_t interrupts = 0;

    machine_init(&m, (struct pmu_config){.broken = PMU_BROKEN_LOSTNMI});
    for (unsigned i = 0; i < 80; i++) {
        machine_start(&m, 0, CONDITIONAL | COUNT_USER | INTERRUPT, 3);
        machine_run(&m, 5);
        interrupts += m.interrupts;
    }
    is_u64(interrupts, 70, "broken=lostnmi: 10 of 80 are lost");
}

int main(void)
{
    test_exact_overflow();
    test_modes_and_enables();
    test_without_interrupt();
    test_random_programs();
    test_fixed_counters();
    for (unsigned version = 2; version <= 4; version++)
        test_freeze(version);
    test_skid();
    test_short_periods();
    test_broken(PMU_BROKEN_NOT, "not", 2000, 1, 1);
    test_broken(PMU_BROKEN_ZERO, "zero", 0, 0, 0);
    test_broken(PMU_BROKEN_STUCK, "stuck", -1000ull & PMU_COUNTER_MASK, 0, 0);
    test_broken(PMU_BROKEN_OVERCOUNT, "overcount", 2030, 1, 1);
    test_broken(PMU_BROKEN_UNDERCOUNT, "undercount", 1970, 1, 1);
    test_broken(PMU_BROKEN_NONMI, "nonmi", 2000, 1, 0);
    test_broken(PMU_BROKEN_NOSTATUS, "nostatus", 2000, 0, 1);
    test_broken(PMU_BROKEN_ANYMODE, "anymode", 2001, 1, 1);
    test_lost_interrupts();
    return done();
}
