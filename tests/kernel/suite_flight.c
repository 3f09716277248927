/* SPDX-License-Identifier: MIT */
/* The flight recorder: events of all CPUs from threads, interrupts and NMIs that interrupt each
 * other while they write; rings that stop when they are full; what an event costs.
 *
 * Whatever stands in an event of the storm follows from its CPU, its context and its number in that
 * context, so tests/kernel/trace.sh checks each of them again in what babeltrace2 reads.
 */
#include "arch/x86/apic.h"
#include "arch/x86/cpu.h"
#include "kernel/err.h"
#include "kernel/flight.h"
#include "kernel/ipi_call.h"
#include "kernel/marker.h"
#include "kernel/nmi.h"
#include "kernel/panic.h"
#include "kernel/pmu_owner.h"
#include "kernel/printf.h"
#include "kernel/probe.h"
#include "kernel/string.h"
#include "kernel/thread.h"
#include "kernel/wait.h"
#include "tests/kernel/suite.h"

#define THREAD_EVENTS 2400u
#define CALL_EVERY 120u
#define NMI_EVERY 6u
#define COST_EVENTS 1000u
#ifdef __clang__
#define COST_LIMIT 155u /* with a string; it saves more registers */
#else
#define COST_LIMIT 150u
#endif

enum event_context { IN_THREAD, IN_CALL, IN_NMI, CONTEXTS };
static const char *const context_names[CONTEXTS] = {"thread", "call", "nmi"};

static uint64_t written[MAX_CPUS][CONTEXTS]; /* owner CPU */
static bool nmi_wanted[MAX_CPUS];            /* atomic */
static uint32_t running;                     /* atomic */

static void write_event(enum event_context context)
{
    uint32_t cpu = this_cpu()->index;
    uint64_t number = ++written[cpu][context];
    MARKER(test_flight, MARKER_ARG(cpu, cpu), MARKER_ARG(context, context_names[context]),
           MARKER_ARG(number, number), MARKER_ARG(negative, -(int32_t)number),
           MARKER_ARG(place, (void *)(0xffff800000000000 + number * 4096)),
           MARKER_ARG(check, number * 2654435761 + cpu * 1000 + context));
}

/* --- the storm --- */

static bool on_nmi(struct trap_frame *frame)
{
    (void)frame;
    if (!__atomic_exchange_n(&nmi_wanted[this_cpu()->index], false, __ATOMIC_ACQ_REL))
        return false;
    write_event(IN_NMI);
    return true;
}

static struct nmi_handler nmi_handler = {.name = "flight suite", .handle = on_nmi};

static void send_nmi(uint32_t cpu)
{
    if (!__atomic_exchange_n(&nmi_wanted[cpu], true, __ATOMIC_ACQ_REL))
        apic_send_nmi(cpu);
}

static void on_call(void *argument)
{
    (void)argument;
    write_event(IN_CALL);
}

static void storm_thread(void *argument)
{
    uint32_t next = this_cpu()->index;
    (void)argument;
    for (unsigned i = 1; i <= THREAD_EVENTS; i++) {
        if (i % NMI_EVERY == 0)
            send_nmi(next++ % cpu_count);
        if (i % CALL_EVERY == 0)
            ipi_call_all(on_call, NULL, "the calls of the flight suite");
        write_event(IN_THREAD);
    }
    __atomic_sub_fetch(&running, 1, __ATOMIC_ACQ_REL);
}

static bool nmis_have_come(void)
{
    bool all = true;
    for (uint32_t i = 0; i < cpu_count; i++)
        all = all && !__atomic_load_n(&nmi_wanted[i], __ATOMIC_ACQUIRE);
    return all;
}

static void run_storm(void)
{
    struct wait_state wait = {0};
    running = cpu_count;
    memset(written, 0, sizeof written);
    for (uint32_t i = 0; i < cpu_count; i++) {
        struct thread *thread = thread_create_kernel("flight storm", storm_thread, NULL);
        if (!thread)
            panic("out of memory for a thread of the flight suite");
        thread->pinned = true;
        thread->cpu = i;
        thread_start(thread);
    }
    while (__atomic_load_n(&running, __ATOMIC_ACQUIRE) > 0 || !nmis_have_come()) {
        thread_yield();
        wait_turn(&wait, "the storm of the flight suite");
    }
}

struct totals {
    uint64_t hits, misses;
};

static void add_totals(const struct probe *probe, void *argument)
{
    struct totals *totals = argument;
    uint64_t hits, misses;
    probe_totals(probe, &hits, &misses);
    totals->hits += hits;
    totals->misses += misses;
}

/* Looks at every event of a ring: the number that follows in its context, and what goes with it. */
static unsigned count_wrong(uint32_t cpu, uint64_t numbers[CONTEXTS])
{
    struct flight_snapshot snapshot;
    struct flight_cursor cursor = {0};
    struct flight_event event;
    unsigned wrong = 0;
    if (flight_snapshot_alloc(&snapshot) != 0)
        return 1;
    flight_snapshot_take(&snapshot, cpu);
    while (flight_snapshot_next(&snapshot, &cursor, &event)) {
        const uint64_t *args =
            event.args; /* cpu, 4 words of text, number, negative, place, check */
        const char *name = (const char *)&args[1];
        unsigned context = *name == 't' ? IN_THREAD : *name == 'c' ? IN_CALL : IN_NMI;
        uint64_t number = ++numbers[context];
        wrong += args[0] != cpu || strcmp(name, context_names[context]) != 0 || args[5] != number ||
                 args[6] != 0 - number || args[7] != 0xffff800000000000 + number * 4096 ||
                 args[8] != number * 2654435761 + cpu * 1000 + context;
    }
    flight_snapshot_free(&snapshot);
    return wrong;
}

static uint64_t check_cpu(uint32_t cpu)
{
    uint64_t numbers[CONTEXTS] = {0}, events = 0;
    is_equal(count_wrong(cpu, numbers), 0, "CPU %u: every event is as it was written", cpu);
    for (unsigned i = 0; i < CONTEXTS; i++) {
        is_equal(numbers[i], written[cpu][i], "CPU %u: all events of its %s context", cpu,
                 context_names[i]);
        ok(written[cpu][i] > 0, "CPU %u: there are some", cpu);
        events += written[cpu][i];
    }
    is_equal(flight_ring_of(cpu)->lost, 0, "CPU %u: none is lost", cpu);
    printk("@flight-written cpu=%u thread=%lu call=%lu nmi=%lu\n", cpu, written[cpu][IN_THREAD],
           written[cpu][IN_CALL], written[cpu][IN_NMI]);
    return events;
}

static void test_storm(void)
{
    struct totals totals = {0};
    uint64_t events = 0;
    is_equal(flight_start("test_flight"), 0, "the storm's marker is recorded");
    run_storm();
    probe_chain_for_each(probe_chain_find("test_flight"), add_totals, &totals);
    is_equal(flight_stop(NULL), 0, "and then not any more");
    write_event(IN_THREAD); /* not recorded */
    written[this_cpu()->index][IN_THREAD]--;
    for (uint32_t i = 0; i < cpu_count; i++)
        events += check_cpu(i);
    is_equal(totals.hits, events, "the probe was run for each");
    is_equal(totals.misses, 0, "and has missed none");
}

/* --- modes --- */

static void test_modes(void)
{
    uint64_t first, end;
    is_equal(flight_start("no_such_marker"), ERR_NOT_FOUND, "a name that no marker has");
    is_equal(flight_set_overwrite(false), 0, "rings are to stop when they are full");
    is_equal(flight_start("test_flight"), 0, "recording begins");
    is_equal(flight_set_overwrite(true), ERR_BUSY, "the mode cannot change meanwhile");
    bool enabled = irq_save();
    const struct flight_ring *ring = flight_ring_of(this_cpu()->index);
    for (unsigned i = 0; i < 3 * FLIGHT_RING_BYTES / 100; i++)
        write_event(IN_THREAD);
    irq_restore(enabled);
    flight_stop(NULL);
    flight_ring_range(ring, &first, &end);
    ok(first == 0 && end == FLIGHT_SUBS, "a full ring has all its sub-buffers, the first included");
    ok(ring->lost > FLIGHT_RING_BYTES / 100, "what did not fit is counted (%lu)", ring->lost);
    is_equal(flight_set_overwrite(true), 0, "back to overwriting");
    flight_start("test_flight");
    is_equal(ring->lost, 0, "a new trace begins with empty rings");
    flight_stop(NULL);
    is_equal(flight_traced_count(), 0, "nothing is recorded any more");
}

/* --- cost --- */

static void cost_none(void)
{
    MARKER(test_cost_none);
}

static void cost_six(void)
{
    MARKER(test_cost_six, MARKER_ARG(a, 1), MARKER_ARG(b, 2), MARKER_ARG(c, 3), MARKER_ARG(d, 4),
           MARKER_ARG(e, 5), MARKER_ARG(f, 6));
}

static void cost_string(void)
{
    MARKER(test_cost_string, MARKER_ARG(a, 1), MARKER_ARG(text, "a wait for the end of a hold"));
}

static uint64_t count_instructions(const struct pmu_user *user, void (*function)(void))
{
    bool enabled = irq_save();
    pmu_start(user->counter, PMU_EVENT_INSTRUCTIONS, PMU_COUNT_KERNEL, 0);
    for (unsigned i = 0; i < COST_EVENTS; i++)
        function();
    uint64_t count = pmu_read(user->counter);
    pmu_stop(user->counter);
    irq_restore(enabled);
    return count;
}

static void test_cost_of(const struct pmu_user *user, const char *marker, void (*function)(void))
{
    uint64_t off = count_instructions(user, function);
    flight_start(marker);
    uint64_t on = count_instructions(user, function);
    flight_stop(NULL);
    uint64_t hundredths = (on - off) * 100 / COST_EVENTS;
    ok(on > off && hundredths <= COST_LIMIT * 100, "%s: at most %u instructions an event", marker,
       COST_LIMIT);
    printk("@flight-cost marker=%s instructions=%lu.%02lu\n", marker, hundredths / 100,
           hundredths % 100);
}

static void test_cost(void)
{
    static struct pmu_user user = {.name = "flight suite"};
#ifdef DEBUG
    suite_skip("what an event costs", "a DEBUG kernel is not optimised");
    return;
#endif
    if (pmu_refusal() || !pmu_has_event(PMU_EVENT_INSTRUCTIONS) || pmu_reserve(&user) != 0) {
        suite_skip("what an event costs", "no performance counter counts instructions");
        return;
    }
    test_cost_of(&user, "test_cost_none", cost_none);
    test_cost_of(&user, "test_cost_six", cost_six);
    test_cost_of(&user, "test_cost_string", cost_string);
    pmu_release(&user);
}

static void run(void)
{
    static bool registered;
    if (!registered)
        nmi_register(&nmi_handler);
    registered = true;
    test_modes();
    test_cost();
    test_storm(); /* last: its events are for `trace save` */
}

const struct suite suite_flight = {"flight", run};
