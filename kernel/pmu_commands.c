/* SPDX-License-Identifier: MIT */
/* Shell command `pmu`: who uses the counters, the self-test again, and a storm of overflows.
 *
 * A storm is rounds of the self-test's first loop, one conditional branch an iteration, on all CPUs
 * at once, with a period little longer than the interrupts may be late. Each round must add up on
 * each CPU: every event was counted between two interrupts, while one was late, or after the last.
 */
#include "arch/x86/vectors.h"
#include "kernel/command.h"
#include "kernel/commands.h"
#include "kernel/err.h"
#include "kernel/pmu_calibration.h"
#include "kernel/pmu_loops.h"
#include "kernel/pmu_owner.h"
#include "kernel/printf.h"
#include "kernel/string.h"
#include "kernel/watchdog.h"

#define STORM_PERIOD_MIN 200
#define STORM_MAX 100000000ull

/* --- having the counters for oneself --- */

/* Whether nobody has one: entries by the NMIs of another user would count in what is measured. */
static bool all_counters_free(void)
{
    static struct pmu_user probes[PMU_MAX_COUNTERS]; /* the shell's thread only */
    uint32_t taken = 0;
    for (; taken < pmu_capabilities.counters; taken++) {
        probes[taken].name = "probe";
        if (pmu_reserve(&probes[taken]) != 0)
            break;
    }
    bool all = taken == pmu_capabilities.counters;
    while (taken > 0)
        pmu_release(&probes[--taken]);
    return all;
}

static int run_alone(int (*function)(uint64_t), uint64_t argument)
{
    bool watched = watchdog_is_on();
    watchdog_stop();
    int error = ERR_BUSY;
    if (pmu_refusal() || all_counters_free())
        error = function(argument);
    else
        pmu_print_users();
    if (watched && !pmu_refusal())
        watchdog_start();
    return error;
}

/* --- pmu test --- */

static int test(uint64_t unused)
{
    (void)unused;
    pmu_calibrate(true);
    if (!pmu_refusal())
        return 0;
    printk("pmu test: the PMU is not used: %s\n", pmu_refusal());
    return ERR_FAILED;
}

/* --- pmu storm --- */

struct storm {
    uint64_t period, skid;
    bool exact; /* entries into the kernel add nothing to the event */
    uint64_t interrupts, lost, latest;
    const char *wrong; /* NULL: all is well */
};

static void note_wrong(struct storm *storm, uint32_t cpu, const struct overflow_result *result,
                       const char *what)
{
    printk(
        "  CPU %-2u %s: %llu interrupts, at most %llu events late, %llu in all, %llu events left "
        "over\n",
        cpu, what, (unsigned long long)result->interrupts, (unsigned long long)result->latest,
        (unsigned long long)result->latest_sum, (unsigned long long)result->left_over);
    storm->wrong = what;
}

/* The last overflow may still be on its way when the events are over. Its interrupt then comes as
 * the counter is stopped, after what is left over was read, and counts that once more. */
static bool adds_up(const struct storm *storm, const struct overflow_result *result,
                    uint64_t events)
{
    uint64_t sum = result->interrupts * storm->period + result->latest_sum + result->left_over;
    return sum == events ||
           (result->left_over >= storm->period && sum == events + result->left_over);
}

static void judge(struct storm *storm, uint32_t cpu, const struct overflow_result *result,
                  uint64_t events)
{
    storm->interrupts += result->interrupts;
    if (result->latest > storm->latest)
        storm->latest = result->latest;
    if (result->latest > storm->skid)
        note_wrong(storm, cpu, result, "too late");
    if (result->left_over > storm->period + storm->skid) {
        storm->lost += result->left_over / storm->period;
        note_wrong(storm, cpu, result, "lost");
    } else if (storm->exact && !adds_up(storm, result, events)) {
        note_wrong(storm, cpu, result, "events do not add up");
    }
}

/* Without a skid one round is enough; late interrupts make a period longer and leave a rest. The
 * events beyond whole periods let the last overflow's interrupt come, and are too few for one more.
 */
static int run_round(struct storm *storm, uint64_t overflows)
{
    static struct overflow_result results[MAX_CPUS]; /* the shell's thread only */
    uint64_t before = storm->interrupts;
    uint64_t events = overflows * storm->period + storm->skid;
    int error = pmu_loops_overflow(events, storm->period, results);
    for (uint32_t cpu = 0; !error && cpu < cpu_count; cpu++)
        judge(storm, cpu, &results[cpu], events);
    if (!error && storm->interrupts == before)
        storm->wrong = "no interrupts";
    return error;
}

static bool entries_add_nothing(enum pmu_event event)
{
    return pmu_calibration_entry_cost(event, VECTOR_SYSCALL) == 0 &&
           pmu_calibration_entry_cost(event, VECTOR_PAGE_FAULT) == 0 &&
           pmu_calibration_entry_cost(event, VECTOR_TIMER) == 0;
}

static int storm(uint64_t wanted)
{
    struct storm storm = {.skid = pmu_capabilities.model->skid};
    if (pmu_refusal()) {
        printk("pmu storm: the PMU is not used: %s\n", pmu_refusal());
        return ERR_FAILED;
    }
    storm.period = storm.skid * 2 > STORM_PERIOD_MIN ? storm.skid * 2 : STORM_PERIOD_MIN;
    storm.exact = entries_add_nothing(pmu_has_event(PMU_EVENT_CONDITIONAL) ? PMU_EVENT_CONDITIONAL
                                                                           : PMU_EVENT_BRANCHES);
    if (!storm.exact)
        printk("pmu storm: entries into the kernel count here, so events cannot add up\n");
    int error = 0;
    while (!error && !storm.wrong && storm.interrupts < wanted)
        error = run_round(&storm, (wanted - storm.interrupts + cpu_count - 1) / cpu_count);
    if (error)
        return error;
    printk("@storm cpus=%u interrupts=%llu lost=%llu late_max=%llu ok=%s\n", cpu_count,
           (unsigned long long)storm.interrupts, (unsigned long long)storm.lost,
           (unsigned long long)storm.latest, storm.wrong ? "no" : "yes");
    return storm.wrong ? ERR_FAILED : 0;
}

/* --- the command --- */

static int command_pmu(int count, char **words)
{
    unsigned long long wanted;
    if (count == 1) {
        pmu_print_users();
        return 0;
    }
    if (count == 2 && strcmp(words[1], "test") == 0)
        return run_alone(test, 0);
    if (count == 3 && strcmp(words[1], "storm") == 0 && string_to_u64(words[2], &wanted) &&
        wanted > 0 && wanted <= STORM_MAX)
        return run_alone(storm, wanted);
    return ERR_USAGE;
}

static struct command command = {
    .name = "pmu",
    .arguments = "[test | storm N]",
    .help = "performance counters, their users; N overflow NMIs",
    .function = command_pmu,
};

void pmu_commands_register(void)
{
    command_register(&command);
}
