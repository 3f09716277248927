/* SPDX-License-Identifier: MIT */
/* The shell command `bench`: times a program in each of the ways in which it can run, and counts
 * its instructions. For tools/bench, which reads the lines that it prints.
 *
 * The ways take turns, so that what else the machine does meets all of them alike. A native run
 * that is not for timing comes first: after a replay an emulator's caches are not what they are
 * after a native run. A line `@bench mode=…` announces each run; then comes its own line (@native,
 * @record, @replay).
 *
 * counted: a native run while the tick counter counts on every CPU, like while recording. What
 * recording costs beyond that is the recorder's.
 *
 * Context: the shell's thread.
 */
#include "arch/x86/arch.h"
#include "kernel/command.h"
#include "kernel/commands.h"
#include "kernel/err.h"
#include "kernel/ipi_call.h"
#include "kernel/pmu_owner.h"
#include "kernel/printf.h"
#include "kernel/string.h"
#include "replay/replay_commands.h"
#include "replay/replay_session.h"

#define MAX_ROUNDS 1000

/* --- what a recording holds --- */

#define E(number, NAME, text, asynchronous, fields) [number] = text,
static const char *const kind_names[] = {LOG_EVENT_TABLE(E)};
#undef E
#define KINDS (sizeof(kind_names) / sizeof(kind_names[0]))

static int print_events(struct recording *recording)
{
    uint64_t counts[KINDS] = {0};
    for (uint32_t slot = 0; slot < recording->slots; slot++) {
        struct stream_cursor cursor;
        struct log_event event;
        stream_open(&cursor, &recording->streams[slot]);
        while (stream_next(&cursor, &event))
            counts[event.kind]++;
        if (cursor.error) {
            printk("bench: thread %u: %s\n", slot, cursor.error);
            return ERR_BAD_LOG;
        }
    }
    printk("@events log=%u", recording->number);
    for (size_t kind = 0; kind < KINDS; kind++)
        if (kind_names[kind])
            printk(" %s=%llu", kind_names[kind], (unsigned long long)counts[kind]);
    printk("\n");
    return 0;
}

/* --- runs --- */

static int run_counted(int count, char **words, uint32_t round)
{
    const struct tick_source *source = tick_source_select(LOG_UNIT_COND);
    if (source != &tick_source_pmc)
        return 0; /* nothing counts here, so there is nothing to compare with */
    int error = source->open(LOG_UNIT_COND);
    if (error)
        return error;
    printk("@bench mode=counted n=%u\n", round);
    error = program_run(count, words, round, NULL);
    source->close();
    return error;
}

static int run_recorded(int count, char **words, uint32_t round)
{
    struct recording *recording;
    printk("@bench mode=record n=%u\n", round);
    int error = record_program(count, words, &recording);
    if (error)
        return error;
    error = print_events(recording);
    printk("@bench mode=replay n=%u\n", round);
    if (!error)
        error = replay_run(recording, round);
    recording_delete(recording->number);
    return error;
}

static int bench_times(unsigned long long rounds, int count, char **words)
{
    int error = 0;
    for (uint32_t round = 1; round <= rounds && !error; round++) {
        printk("@bench mode=warm-up n=%u\n", round);
        error = program_run(count, words, round, NULL);
        printk("@bench mode=native n=%u\n", round);
        if (!error)
            error = program_run(count, words, round, NULL);
        if (!error)
            error = run_counted(count, words, round);
        if (!error)
            error = run_recorded(count, words, round);
    }
    return error;
}

/* --- instructions --- */

static struct pmu_user user_counter = {.name = "instructions, user"};
static struct pmu_user kernel_counter = {.name = "instructions, kernel"};
static bool start_failed;                               /* atomic */
static uint64_t user_instructions, kernel_instructions; /* atomic */

static void start_here(void *argument)
{
    (void)argument;
    if (!pmu_start(user_counter.counter, PMU_EVENT_INSTRUCTIONS, PMU_COUNT_USER, 0) ||
        !pmu_start(kernel_counter.counter, PMU_EVENT_INSTRUCTIONS, PMU_COUNT_KERNEL, 0))
        __atomic_store_n(&start_failed, true, __ATOMIC_RELAXED);
}

static void stop_here(void *argument)
{
    (void)argument;
    __atomic_fetch_add(&user_instructions, pmu_read(user_counter.counter), __ATOMIC_RELAXED);
    __atomic_fetch_add(&kernel_instructions, pmu_read(kernel_counter.counter), __ATOMIC_RELAXED);
    pmu_stop(user_counter.counter);
    pmu_stop(kernel_counter.counter);
}

static int counters_start(void)
{
    int error = pmu_has_event(PMU_EVENT_INSTRUCTIONS) ? 0 : ERR_NOT_FOUND;
    if (!error)
        error = pmu_reserve(&user_counter);
    if (!error && (error = pmu_reserve(&kernel_counter)) != 0)
        pmu_release(&user_counter);
    if (error)
        return error;
    start_failed = false;
    user_instructions = kernel_instructions = 0;
    ipi_call_all(start_here, NULL, "the instruction counters to start");
    return 0;
}

static int counters_stop(const char *mode)
{
    ipi_call_all(stop_here, NULL, "the instruction counters to stop");
    pmu_release(&kernel_counter);
    pmu_release(&user_counter);
    if (start_failed)
        return ERR_FAILED;
    printk("@instructions mode=%s user=%llu kernel=%llu\n", mode,
           (unsigned long long)user_instructions, (unsigned long long)kernel_instructions);
    return 0;
}

static int bench_instructions(int count, char **words)
{
    struct recording *recording = NULL;
    int error = counters_start();
    if (error)
        return error;
    error = program_run(count, words, 1, NULL);
    int stop_error = counters_stop("native");
    if (!error && !stop_error)
        error = counters_start();
    if (error || stop_error)
        return error ? error : stop_error;
    error = record_program(count, words, &recording);
    stop_error = counters_stop("record");
    if (error)
        return error;
    error = print_events(recording);
    recording_delete(recording->number);
    return error ? error : stop_error;
}

static int command_bench(int count, char **words)
{
    unsigned long long rounds;
    if (count < 3)
        return ERR_USAGE;
    if (strcmp(words[1], "instructions") == 0)
        return bench_instructions(count - 2, words + 2);
    if (!string_to_u64(words[1], &rounds) || rounds == 0 || rounds > MAX_ROUNDS)
        return ERR_USAGE;
    return bench_times(rounds, count - 2, words + 2);
}

static struct command bench_command = {
    .name = "bench",
    .arguments = "ROUNDS|instructions PROG [ARGS]",
    .help = "time native, recorded, replayed; count instructions",
    .function = command_bench,
};

void bench_register_command(void)
{
    command_register(&bench_command);
}
