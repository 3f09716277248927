/* SPDX-License-Identifier: MIT */
/* The clocks of known frequency: each is started, read as ticks since then, and tried out once.
 *
 * Sources: IA-PC HPET Specification 1.0a; ACPI Specification 6.5, 4.8.3.3 (PM timer); Intel 8254
 * datasheet (read-back command).
 */
#include "arch/x86/clock_reference.h"

#include "arch/x86/apic.h"
#include "arch/x86/io.h"
#include "arch/x86/paging.h"
#include "kernel/panic.h"
#include "kernel/printf.h"

/* Reads until which a clock must have moved. Every read takes well above 10 ns. */
#define TRIAL_READS 100000u
#define TRIAL_TICKS 3u

/* --- HPET: its main counter, the lower half, which is read at once on every CPU --- */

#define HPET_PERIOD 0x04 /* femtoseconds: upper half of the capabilities */
#define HPET_CONFIGURATION 0x10
#define HPET_COUNTER 0xf0
#define HPET_ENABLE 1u
#define HPET_PERIOD_MAX 100000000u
#define HPET_SIZE 0x400
#define FEMTOSECONDS 1000000000000000ull

static volatile uint8_t *hpet;
static uint32_t hpet_started;

static uint32_t hpet_get(uint32_t offset)
{
    return *(volatile uint32_t *)(hpet + offset);
}

static void hpet_start(void)
{
    hpet_started = hpet_get(HPET_COUNTER);
}

/* Wraps after 42 s at least: the caller never measures that long. */
static bool hpet_read(uint64_t *ticks)
{
    *ticks = hpet_get(HPET_COUNTER) - hpet_started;
    return true;
}

static uint64_t hpet_open(void)
{
    if (acpi_info.hpet_address == 0)
        return 0;
    hpet = paging_map_device(acpi_info.hpet_address, HPET_SIZE);
    uint32_t period = hpet_get(HPET_PERIOD);
    if (period == 0 || period > HPET_PERIOD_MAX)
        return 0;
    uint32_t configuration = hpet_get(HPET_CONFIGURATION);
    *(volatile uint32_t *)(hpet + HPET_CONFIGURATION) = configuration | HPET_ENABLE;
    return (FEMTOSECONDS + period / 2) / period;
}

/* --- ACPI PM timer --- */

#define PM_TIMER_HZ 3579545u
#define PM_TIMER_MASK 0xffffffu /* some count 32 bits, all at least these */
#define PM_TIMER_TRIES 10

static uint32_t pm_started;

/* Some chipsets do not latch the counter: a value counts when it lies between its neighbours. */
static uint32_t pm_get(void)
{
    uint16_t port = (uint16_t)acpi_info.pm_timer_port;
    uint32_t before = io_in32(port), value = io_in32(port), after = io_in32(port);
    for (int i = 0; i < PM_TIMER_TRIES && !(before <= value && value <= after); i++) {
        before = value;
        value = after;
        after = io_in32(port);
    }
    return value;
}

static void pm_start(void)
{
    pm_started = pm_get();
}

/* Wraps after 4.7 s: the caller never measures that long. */
static bool pm_read(uint64_t *ticks)
{
    *ticks = (pm_get() - pm_started) & PM_TIMER_MASK;
    return true;
}

static uint64_t pm_open(void)
{
    return acpi_info.pm_timer_port ? PM_TIMER_HZ : 0;
}

/* --- PIT: channel 2, which drives only the speaker; silent, gate open --- */

#define PIT_HZ 1193182u
#define PIT_CHANNEL2 0x42
#define PIT_COMMAND 0x43
#define PIT_CHANNEL2_ONCE 0xb0 /* both bytes, mode 0: output rises at the end of the count */
#define PIT_READ_BACK_CHANNEL2 0xc8
#define PIT_STATUS_OUTPUT 0x80
#define PIT_STATUS_NOT_LOADED 0x40
#define PIT_START 0xffffu
#define PORT_B 0x61
#define PORT_B_GATE 1u
#define PORT_B_SPEAKER 2u

static void pit_start(void)
{
    io_out8(PORT_B, (uint8_t)((io_in8(PORT_B) & ~PORT_B_SPEAKER) | PORT_B_GATE));
    io_out8(PIT_COMMAND, PIT_CHANNEL2_ONCE);
    io_out8(PIT_CHANNEL2, PIT_START & 0xff);
    io_out8(PIT_CHANNEL2, PIT_START >> 8);
}

/* Status and count of the same moment: after 55 ms the output tells that the count has wrapped. */
static bool pit_read(uint64_t *ticks)
{
    io_out8(PIT_COMMAND, PIT_READ_BACK_CHANNEL2);
    uint8_t status = io_in8(PIT_CHANNEL2);
    uint32_t count = io_in8(PIT_CHANNEL2);
    count |= (uint32_t)io_in8(PIT_CHANNEL2) << 8;
    *ticks = status & PIT_STATUS_NOT_LOADED ? 0 : PIT_START - count;
    return !(status & PIT_STATUS_OUTPUT);
}

static uint64_t pit_open(void)
{
    return PIT_HZ;
}

/* --- the choice --- */

static struct clock_reference references[] = {
    {"HPET", 0, hpet_start, hpet_read},
    {"ACPI PM timer", 0, pm_start, pm_read},
    {"PIT", 0, pit_start, pit_read},
};
static uint64_t (*const reference_open[])(void) = {hpet_open, pm_open, pit_open};
#define REFERENCES (sizeof(references) / sizeof(references[0]))
_Static_assert(REFERENCES == sizeof(reference_open) / sizeof(reference_open[0]), "one each");

static bool reference_runs(const struct clock_reference *reference)
{
    uint64_t ticks;
    reference->start();
    for (uint32_t i = 0; i < TRIAL_READS; i++) {
        if (!reference->read(&ticks))
            reference->start();
        else if (ticks >= TRIAL_TICKS)
            return true;
    }
    return false;
}

const struct clock_reference *clock_reference_find(void)
{
    for (unsigned i = 0; i < REFERENCES; i++) {
        references[i].hz = reference_open[i]();
        if (references[i].hz == 0)
            continue;
        if (reference_runs(&references[i]))
            return &references[i];
        printk("timer: the %s stands still\n", references[i].name);
    }
    panic("no clock to measure time with: neither HPET, ACPI PM timer nor PIT runs");
}
