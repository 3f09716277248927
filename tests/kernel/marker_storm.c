/* SPDX-License-Identifier: MIT */
/* Shell command `storm N [busy]`: markers of all kinds are switched N times, while all CPUs run
 * through them in threads, with interrupts on and off, and in NMIs of a performance counter.
 * `busy`: the threads never halt.
 *
 * Every pass is judged by itself, on its CPU: the marker's count of hits there has grown by one or
 * not at all, as the state wants it if that did not change meanwhile; where the code can tell, it
 * has evaluated its arguments if and only if it has; and the probe has seen the right ones. In the
 * end all counts must add up.
 *
 * Context of the counters: each CPU's own, a row for threads and one for NMIs. NMIs that come while
 * another one of this CPU is in its passes (any IRETQ lets them in) are not counted, but end at
 * once.
 */
#include "arch/x86/cpu.h"
#include "arch/x86/text_patch.h"
#include "arch/x86/timer.h"
#include "kernel/err.h"
#include "kernel/ipi_call.h"
#include "kernel/marker.h"
#include "kernel/panic.h"
#include "kernel/pmu_sampling.h"
#include "kernel/printf.h"
#include "kernel/probe.h"
#include "kernel/string.h"
#include "kernel/thread.h"
#include "kernel/wait.h"
#include "tests/kernel/marker_storm.h"
#include "tests/kernel/suite.h"

#define GLOB "storm_*"
#define NMI_PERIOD 30000
#define ROUNDS_A_HALT 3 /* on average */
#define PASSES_BETWEEN_YIELDS 64
#define TOGGLES_MAX 10000000ull

struct tally {
    uint64_t passes, hits, certain, wrong;
};

static struct tally tallies[MAX_CPUS][STORM_CONTEXTS]; /* owner CPU, by context */
static uint64_t seen[MAX_CPUS][STORM_CONTEXTS];        /* the same; by the probe */
static bool in_nmi[MAX_CPUS];                          /* owner CPU */
static uint64_t wrong_arguments;                       /* atomic */
static uint64_t settled;                               /* atomic; 0: being switched; each time
                                                          another, odd: all on, even: all off */
static bool busy;                                      /* fixed while it goes on */
static bool stopping;                                  /* atomic */
static uint32_t running;                               /* atomic */
static struct probe probes[STORM_CONTEXTS][STORM_PLACES];

/* --- passes --- */

static void on_hit(struct probe *probe, const struct probe_hit *hit)
{
    uint64_t *count = probe->data;
    cpu_local_increment(&count[this_cpu()->index * STORM_CONTEXTS]);
    if (hit->arg_count != 2 || hit->args[1] != (hit->args[0] ^ STORM_VALUE_MIX) ||
        hit->args[0] % MAX_CPUS != this_cpu()->index)
        __atomic_fetch_add(&wrong_arguments, 1, __ATOMIC_RELAXED);
}

static void pass(enum storm_context context, unsigned place)
{
    const struct storm_site *site = &storm_sites[context][place];
    uint32_t cpu = this_cpu()->index;
    struct tally *tally = &tallies[cpu][context];
    const uint64_t *count = &marker_at(probes[context][place].priority)->hits[cpu];
    uint64_t before = __atomic_load_n(count, __ATOMIC_RELAXED);
    uint64_t state = __atomic_load_n(&settled, __ATOMIC_ACQUIRE);
    bool evaluated = site->pass(tally->passes * MAX_CPUS + cpu);
    bool certain = state != 0 && __atomic_load_n(&settled, __ATOMIC_ACQUIRE) == state;
    uint64_t hits = __atomic_load_n(count, __ATOMIC_RELAXED) - before;
    tally->passes++;
    tally->hits += hits;
    tally->certain += certain;
    tally->wrong +=
        hits > 1 || (site->tells && evaluated != (hits == 1)) || (certain && hits != (state & 1));
}

static void pass_all(enum storm_context context)
{
    for (unsigned i = 0; i < STORM_PLACES; i++)
        pass(context, i);
}

static void on_overflow(struct trap_frame *frame);
static struct pmu_sampler sampler = {.user = {.name = "marker storm", .overflow = on_overflow}};

static void on_overflow(struct trap_frame *frame)
{
    bool *busy = &in_nmi[this_cpu()->index];
    (void)frame;
    if (!*busy) {
        *busy = true;
        pass_all(STORM_NMI);
        *busy = false;
    }
    pmu_write(sampler.user.counter, 0 - sampler.period);
}

/* Every other round with interrupts off. */
static void thread_passes(uint64_t round)
{
    bool off = round & 1, enabled = off && irq_save();
    pass_all(STORM_THREAD);
    if (off)
        irq_restore(enabled);
}

/* Until the next interrupt, mostly a synchronisation of the patcher: what follows runs while the
 * next bytes are written. A host with fewer processors than CPUs gets much more done this way. */
static void halt(void)
{
    irq_disable();
    if (__atomic_load_n(&stopping, __ATOMIC_ACQUIRE))
        irq_enable();
    else
        cpu_idle_wait();
}

static void storm_thread(void *unused)
{
    uint64_t seed = this_cpu()->index + 1;
    (void)unused;
    for (uint64_t round = 0; !__atomic_load_n(&stopping, __ATOMIC_ACQUIRE); round++) {
        thread_passes(round);
        if (!busy && suite_random(&seed) % ROUNDS_A_HALT == 0)
            halt();
        if (round % PASSES_BETWEEN_YIELDS == 0)
            thread_yield();
    }
    __atomic_sub_fetch(&running, 1, __ATOMIC_RELEASE);
}

/* --- setting up --- */

/* One on each CPU but this one, on which the switching thread passes by itself. */
static int start_threads(void)
{
    __atomic_store_n(&stopping, false, __ATOMIC_RELEASE);
    for (uint32_t cpu = 0; cpu < cpu_count; cpu++) {
        if (cpu == this_cpu()->index)
            continue;
        struct thread *thread = thread_create_kernel("storm", storm_thread, NULL);
        if (!thread)
            return ERR_NO_MEMORY;
        thread->cpu = cpu;
        thread->pinned = true;
        __atomic_add_fetch(&running, 1, __ATOMIC_RELAXED);
        thread_start(thread);
    }
    return 0;
}

static void wake(void *unused)
{
    (void)unused;
}

static void stop_threads(void)
{
    __atomic_store_n(&stopping, true, __ATOMIC_RELEASE);
    ipi_call_all(wake, NULL, "the storm to end");
    wait_until(__atomic_load_n(&running, __ATOMIC_ACQUIRE) == 0, "the threads of the storm");
}

static int register_probes(void)
{
    int error = 0;
    for (unsigned context = 0; context < STORM_CONTEXTS; context++)
        for (unsigned place = 0; !error && place < STORM_PLACES; place++) {
            const char *name = storm_sites[context][place].name;
            probes[context][place] = (struct probe){
                .name = "storm",
                .priority = (int)marker_find(name)->index,
                .flags = PROBE_NMI_SAFE,
                .function = on_hit,
                .data = &seen[0][context],
            };
            error = probe_register(&probes[context][place], name);
        }
    return error;
}

static void unregister_probes(void)
{
    for (unsigned context = 0; context < STORM_CONTEXTS; context++)
        for (unsigned place = 0; place < STORM_PLACES; place++)
            if (probes[context][place].chain)
                probe_unregister(&probes[context][place]);
}

/* --- the storm --- */

static int switch_all(bool on)
{
    static uint64_t turn;
    __atomic_store_n(&settled, 0, __ATOMIC_SEQ_CST);
    int error = marker_set(GLOB, on);
    turn += 2;
    if (!error)
        __atomic_store_n(&settled, turn + on, __ATOMIC_SEQ_CST);
    return error;
}

static int toggle(uint64_t toggles)
{
    int error = 0;
    for (uint64_t i = 0; !error && i < toggles; i++) {
        error = switch_all(i % 2 == 0);
        thread_passes(i);
    }
    int off = switch_all(false);
    return error ? error : off;
}

static bool report(uint64_t toggles, uint64_t ns, const struct text_patch_stats *before)
{
    struct text_patch_stats after;
    struct tally sums[STORM_CONTEXTS] = {0};
    uint64_t saw[STORM_CONTEXTS] = {0};
    bool all_right = wrong_arguments == 0;
    text_patch_get_stats(&after);
    for (unsigned context = 0; context < STORM_CONTEXTS; context++) {
        for (uint32_t cpu = 0; cpu < cpu_count; cpu++) {
            sums[context].passes += tallies[cpu][context].passes;
            sums[context].hits += tallies[cpu][context].hits;
            sums[context].certain += tallies[cpu][context].certain;
            sums[context].wrong += tallies[cpu][context].wrong;
            saw[context] += seen[cpu][context];
        }
        uint64_t hits = 0;
        for (unsigned place = 0; place < STORM_PLACES; place++) {
            const struct marker *marker = marker_find(storm_sites[context][place].name);
            hits += marker_hits(marker);
        }
        const struct tally *sum = &sums[context];
        all_right = all_right && sum->wrong == 0 && sum->hits == saw[context] && hits == sum->hits;
        printk("@storm context=%s passes=%llu hits=%llu marker_hits=%llu probed=%llu certain=%llu "
               "wrong=%llu\n",
               context == STORM_NMI ? "nmi" : "thread", (unsigned long long)sum->passes,
               (unsigned long long)sum->hits, (unsigned long long)hits,
               (unsigned long long)saw[context], (unsigned long long)sum->certain,
               (unsigned long long)sum->wrong);
    }
    printk("@storm toggles=%llu cpus=%u batches=%llu patches=%llu synchronisations=%llu "
           "emulated=%llu wrong_arguments=%llu ms=%llu ok=%s\n",
           (unsigned long long)toggles, cpu_count,
           (unsigned long long)(after.batches - before->batches),
           (unsigned long long)(after.patches - before->patches),
           (unsigned long long)(after.synchronisations - before->synchronisations),
           (unsigned long long)(after.emulated - before->emulated),
           (unsigned long long)wrong_arguments, (unsigned long long)(ns / 1000000),
           all_right ? "yes" : "no");
    return all_right;
}

/* marker_hits() counts from boot. */
static void reset(void)
{
    memset(tallies, 0, sizeof(tallies));
    memset(seen, 0, sizeof(seen));
    wrong_arguments = 0;
    for (uint32_t i = 0; i < marker_count(); i++)
        if (marker_name_matches(GLOB, marker_at(i)->name))
            memset(marker_at(i)->hits, 0, cpu_count * sizeof(uint64_t));
}

static int run(uint64_t toggles)
{
    struct text_patch_stats before;
    bool nmis = !pmu_refusal();
    int error = nmis ? pmu_sampler_start(&sampler, NMI_PERIOD) : 0;
    if (!nmis)
        printk("storm: no NMIs: %s\n", pmu_refusal());
    text_patch_get_stats(&before);
    uint64_t started = timer_now_ns();
    if (!error)
        error = start_threads();
    if (!error)
        error = toggle(toggles);
    stop_threads();
    pmu_sampler_stop(&sampler);
    if (!error && !report(toggles, timer_now_ns() - started, &before))
        error = ERR_FAILED;
    return error;
}

int storm_command(int count, char **words)
{
    unsigned long long toggles;
    busy = count == 3 && strcmp(words[2], "busy") == 0;
    if ((count != 2 && !busy) || !string_to_u64(words[1], &toggles) || toggles == 0 ||
        toggles > TOGGLES_MAX)
        return ERR_USAGE;
    bool pinned = current_thread()->pinned;
    current_thread()->pinned = true;
    reset();
    int error = register_probes();
    if (!error)
        error = run(toggles);
    unregister_probes();
    current_thread()->pinned = pinned;
    return error;
}
