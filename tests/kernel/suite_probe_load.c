/* SPDX-License-Identifier: MIT */
/* Probes that come and go while all CPUs run through them, in threads and in NMIs: results are
 * right, hits and misses add up exactly, and what was unregistered is not called any more.
 *
 * Context of the counters: atomic, but for what is said to be a CPU's own.
 */
#include "arch/x86/cpu.h"
#include "arch/x86/text_probe.h"
#include "kernel/err.h"
#include "kernel/panic.h"
#include "kernel/pmu_sampling.h"
#include "kernel/printf.h"
#include "kernel/probe_dynamic.h"
#include "kernel/string.h"
#include "kernel/symbols.h"
#include "kernel/thread.h"
#include "kernel/wait.h"
#include "tests/kernel/probe_targets.h"
#include "tests/kernel/suite.h"

#define CHANGES 100
#define NMI_PERIOD 200000
#define PASSES_BETWEEN_YIELDS 4
#define HOT_OFFSETS 32

static struct load {
    const struct target *hot, *leaf;
    struct target_registers expected; /* of the hot one, with the same start for all */
    uint64_t passes, wrong;           /* atomic */
    uint64_t nmi_passes, nmi_wrong;   /* atomic */
    uint32_t running;                 /* atomic */
    bool stop;                        /* atomic */
    bool in_nmi[MAX_CPUS];            /* owner CPU */
} load;

static void start_registers(struct target_registers *registers)
{
    *registers = (struct target_registers){.rflags = RFLAGS_FIXED | RFLAGS_IF};
    registers->rdi = 0x1234567;
    registers->rsi = 0x89abcde;
    registers->rbp = 0x55555;
    registers->r15 = 0x1515;
}

static bool pass(void)
{
    struct target_registers registers;

    start_registers(&registers);
    probe_target_run(&registers, load.hot->start);
    __atomic_add_fetch(&load.passes, 1, __ATOMIC_RELAXED);
    return memcmp(&registers, &load.expected, sizeof(registers)) == 0;
}

static void load_thread(void *unused)
{
    (void)unused;
    for (unsigned i = 0; !__atomic_load_n(&load.stop, __ATOMIC_ACQUIRE); i++) {
        if (!pass())
            __atomic_add_fetch(&load.wrong, 1, __ATOMIC_RELAXED);
        if (i % PASSES_BETWEEN_YIELDS == 0)
            thread_yield();
    }
    __atomic_sub_fetch(&load.running, 1, __ATOMIC_RELEASE);
}

/* An NMI in the middle of one does nothing. Interrupts stay off, whatever a target's flags say. */
static void nmi_pass(void)
{
    struct target_registers registers;
    bool *busy = &load.in_nmi[this_cpu()->index];

    if (*busy)
        return;
    *busy = true;
    start_registers(&registers);
    registers.rflags = RFLAGS_FIXED;
    uint64_t result = registers.rdi * 3 ^ registers.rsi;
    probe_target_run(&registers, load.leaf->start);
    __atomic_add_fetch(&load.nmi_passes, 1, __ATOMIC_RELAXED);
    if (registers.rax != (result << 9 | result >> 55))
        __atomic_add_fetch(&load.nmi_wrong, 1, __ATOMIC_RELAXED);
    *busy = false;
}

static void on_overflow(struct trap_frame *frame);
static struct pmu_sampler sampler = {.user = {.name = "probe load", .overflow = on_overflow}};

static void on_overflow(struct trap_frame *frame)
{
    (void)frame;
    nmi_pass();
    pmu_write(sampler.user.counter, 0 - sampler.period);
}

/* One thread on each CPU. Returns whether there are NMIs. */
static bool start_load(void)
{
    bool nmis = !pmu_refusal() && pmu_sampler_start(&sampler, NMI_PERIOD) == 0;

    load.stop = false;
    for (uint32_t cpu = 0; cpu < cpu_count; cpu++) {
        struct thread *thread = thread_create_kernel("probe load", load_thread, NULL);
        if (!thread)
            panic("out of memory for the load");
        thread->cpu = cpu;
        thread->pinned = true;
        __atomic_add_fetch(&load.running, 1, __ATOMIC_RELAXED);
        thread_start(thread);
    }
    return nmis;
}

static void stop_load(void)
{
    __atomic_store_n(&load.stop, true, __ATOMIC_RELEASE);
    while (__atomic_load_n(&load.running, __ATOMIC_ACQUIRE))
        thread_yield();
    pmu_sampler_stop(&sampler);
}

/* --- coming and going --- */

/* The instructions that come and go are all but the first one, whose probe stays, as an int3 or as
 * a jump over some of them. */
static unsigned change_probes(const uint16_t *offsets, unsigned count)
{
    static const enum text_probe_mode modes[] = {TEXT_PROBE_BEST, TEXT_PROBE_BEST, TEXT_PROBE_INT3,
                                                 TEXT_PROBE_COPY, TEXT_PROBE_STEP};
    bool there[HOT_OFFSETS] = {false};
    uint64_t seed = 4711;
    unsigned failed = 0;
    enum insn_probe_refusal reason;

    for (unsigned i = 0; i < CHANGES; i++) {
        unsigned at = 1 + (unsigned)(suite_random(&seed) % (count - 1));
        uint64_t address = load.hot->start + offsets[at];
        enum text_probe_mode mode = modes[suite_random(&seed) % 5];
        int error = there[at] ? probe_dynamic_remove(address, "count")
                              : probe_dynamic_add(address, "count", mode, &reason);
        if (error == 0)
            there[at] = !there[at];
        else if (error != ERR_NOT_PROBEABLE || reason != INSN_PROBE_NO_STEP)
            failed++;
        thread_yield();
    }
    for (unsigned at = 1; at < count; at++)
        if (there[at])
            failed += probe_dynamic_remove(load.hot->start + offsets[at], NULL) != 0;
    return failed;
}

static void place_name(char name[PROBE_NAME_MAX], uint64_t address)
{
    symbol_format(name, PROBE_NAME_MAX, address);
}

static void on_hit(struct probe *probe, const struct probe_hit *hit)
{
    uint64_t *wrong = probe->data;

    if (hit->site || !hit->frame || hit->frame->rip != hit->address || hit->frame->cs != 8 ||
        !(hit->frame->rflags & RFLAGS_FIXED))
        __atomic_add_fetch(wrong, 1, __ATOMIC_RELAXED);
}

/* A probe of our own at a place that a built-in one holds. */
static int add_own(struct probe *probe, uint64_t address, enum text_probe_mode mode)
{
    enum insn_probe_refusal reason;
    char name[PROBE_NAME_MAX];
    int error = probe_dynamic_add(address, "count", mode, &reason);

    place_name(name, address);
    return error ? error : probe_register(probe, name);
}

/* Its hits and misses. */
static void take_own(struct probe *probe, uint64_t address, uint64_t *hits, uint64_t *misses)
{
    probe_totals(probe, hits, misses);
    probe_unregister(probe);
    probe_dynamic_remove(address, NULL);
}

static void test_changes(void)
{
    static uint64_t wrong_hits;
    struct probe first = {
        .name = "first", .function = on_hit, .data = &wrong_hits, .flags = PROBE_NMI_SAFE};
    struct probe in_nmi = {
        .name = "in nmi", .function = on_hit, .data = &wrong_hits, .flags = PROBE_NMI_SAFE};
    struct probe not_in_nmi = {.name = "not in nmi", .function = on_hit, .data = &wrong_hits};
    uint16_t offsets[HOT_OFFSETS];
    uint64_t hits, misses;
    char leaf[PROBE_NAME_MAX];
    unsigned count = probe_target_list(load.hot, offsets, HOT_OFFSETS);

    load.passes = load.wrong = load.nmi_passes = load.nmi_wrong = wrong_hits = 0;
    place_name(leaf, load.leaf->start);
    ok(add_own(&first, load.hot->start, TEXT_PROBE_BEST) == 0 &&
           add_own(&in_nmi, load.leaf->start, TEXT_PROBE_STEP) == 0 &&
           probe_register(&not_in_nmi, leaf) == 0,
       "probes that stay");
    bool nmis = start_load();
    unsigned failed = change_probes(offsets, count);
    stop_load();
    is_equal(failed, 0, "%u probes added or removed under load, on %u of %u instructions", CHANGES,
             count - 1, count);
    is_equal(load.wrong, 0, "%llu passes gave the right result", (unsigned long long)load.passes);
    probe_totals(&not_in_nmi, &hits, &misses);
    probe_unregister(&not_in_nmi);
    if (nmis) {
        ok(load.nmi_passes > 0 && load.nmi_wrong == 0, "%llu passes in NMIs, stepped",
           (unsigned long long)load.nmi_passes);
        ok(hits == 0 && misses == load.nmi_passes, "a probe not for NMIs: %llu misses",
           (unsigned long long)misses);
    } else {
        suite_skip("passes in NMIs, stepped", "no usable PMU");
    }
    take_own(&in_nmi, load.leaf->start, &hits, &misses);
    ok(hits == load.nmi_passes && misses == 0, "a probe for NMIs: %llu hits",
       (unsigned long long)hits);
    take_own(&first, load.hot->start, &hits, &misses);
    is_equal(hits, load.passes, "the first instruction's probe was hit once in each pass");
    is_equal(misses, 0, "and never missed");
    is_equal(wrong_hits, 0, "all hits had the right frame");
}

/* --- the grace period --- */

static struct {
    struct probe probe;
    struct probe_chain *chain;
    uint32_t entered, ended;    /* atomic */
    bool release, unregistered; /* atomic */
    uint32_t late;              /* atomic; calls that went on after unregistering had returned */
} grace;

static void stay(struct probe *probe, const struct probe_hit *hit)
{
    (void)probe;
    (void)hit;
    __atomic_add_fetch(&grace.entered, 1, __ATOMIC_RELEASE);
    wait_until(__atomic_load_n(&grace.release, __ATOMIC_ACQUIRE), "the release of a probe");
    if (__atomic_load_n(&grace.unregistered, __ATOMIC_ACQUIRE))
        __atomic_add_fetch(&grace.late, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&grace.ended, 1, __ATOMIC_RELEASE);
}

/* 0: goes into the probe; 1: unregisters it; 2: lets 0 go on when the probe is out of its chain, so
 * that 1 waits for it by then. Not patched text: the chain is run as a marker runs it, interrupts
 * on. */
static void grace_thread(unsigned index, void *argument)
{
    struct probe_hit hit = {.address = 1};

    (void)argument;
    if (index == 0) {
        probe_run(grace.chain, &hit);
        return;
    }
    wait_until(__atomic_load_n(&grace.entered, __ATOMIC_ACQUIRE), "a thread in the probe");
    if (index == 1) {
        probe_unregister(&grace.probe);
        __atomic_store_n(&grace.unregistered, true, __ATOMIC_RELEASE);
        return;
    }
    wait_until(probe_chain_empty(grace.chain), "the probe to be unlinked");
    probe_run(grace.chain, &hit);
    __atomic_store_n(&grace.release, true, __ATOMIC_RELEASE);
}

static void test_grace(void)
{
    static const char name[] = "suite_grace";

    if (cpu_count < 3) {
        suite_skip("the grace period", "needs 3 CPUs");
        return;
    }
    memset(&grace, 0, sizeof(grace));
    grace.probe = (struct probe){.name = "stays", .function = stay};
    grace.chain = probe_chain_get(name);
    is_equal(probe_register(&grace.probe, name), 0, "a probe for a marker that is not there");
    crowd_run(3, grace_thread, NULL);
    ok(grace.entered == 1 && grace.ended == 1 && grace.late == 0,
       "unregistering waited for the call that was going on, and nobody came in later");
    is_equal(probe_unregister(&grace.probe), ERR_NO_PROBE, "it is unregistered");
    probe_chain_release(grace.chain);
    ok(!probe_chain_find(name), "and its chain has gone with it");
}

/* --- recursion, priorities --- */

static struct {
    uint64_t order; /* digits of those that ran */
    uint64_t inner; /* what the call of a probed function from a probe gave */
} nested;

static void run_leaf(struct target_registers *registers)
{
    start_registers(registers);
    probe_target_run(registers, probe_target_find("leaf")->start);
}

static void recurse(struct probe *probe, const struct probe_hit *hit)
{
    struct target_registers registers;

    (void)hit;
    nested.order = nested.order * 10 + (uint64_t)probe->data;
    if (probe->data == (void *)2) {
        run_leaf(&registers);
        nested.inner = registers.rax;
    }
}

static void test_recursion(enum text_probe_mode mode)
{
    struct probe probes[3];
    struct target_registers registers;
    uint64_t hits, misses, address = probe_target_find("leaf")->start;
    static const char *const names[] = {"low", "high", "middle"};
    static const int priorities[] = {-5, 7, 0};
    static const uint64_t digits[] = {3, 1, 2};
    char name[PROBE_NAME_MAX];

    place_name(name, address);
    memset(&nested, 0, sizeof(nested));
    for (unsigned i = 0; i < 3; i++) {
        probes[i] = (struct probe){.name = names[i],
                                   .priority = priorities[i],
                                   .function = recurse,
                                   .data = (void *)digits[i]};
        if (i == 0)
            is_equal(add_own(&probes[0], address, mode), 0, "a place, mode %u", mode);
        else
            is_equal(probe_register(&probes[i], name), 0, "another probe there");
    }
    is_equal(probe_register(&probes[1], "elsewhere"), ERR_BUSY, "nothing is in two chains");
    run_leaf(&registers);
    is_equal(nested.order, 123, "probes ran in the order of priorities, and once");
    is_equal(nested.inner, registers.rax, "the probed function works in a probe, too");
    for (unsigned i = 0; i < 3; i++) {
        probe_totals(&probes[i], &hits, &misses);
        ok(hits == 1 && misses == 1, "%s: %llu hit, %llu missed in the recursion", names[i],
           (unsigned long long)hits, (unsigned long long)misses);
        probe_unregister(&probes[i]);
    }
    is_equal(probe_dynamic_remove(address, NULL), 0, "and away with it");
}

static void run(void)
{
    load.hot = probe_target_find("hot");
    load.leaf = probe_target_find("leaf");
    start_registers(&load.expected);
    probe_target_run(&load.expected, load.hot->start);
    test_recursion(TEXT_PROBE_INT3);
    test_recursion(TEXT_PROBE_BEST);
    test_recursion(TEXT_PROBE_STEP);
    test_grace();
    test_changes();
}

const struct suite suite_probe_load = {.name = "probe-load", .run = run};
