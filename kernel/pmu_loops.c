/* SPDX-License-Identifier: MIT */
/* Test processes of a few instructions, one pinned to every CPU. */
#include "kernel/pmu_loops.h"

#include "arch/x86/apic.h"
#include "kernel/err.h"
#include "kernel/ipi_call.h"
#include "kernel/pmu_owner.h"
#include "kernel/process.h"
#include "kernel/string.h"
#include "mm/heap.h"

#define CODE_ADDRESS 0x400000ull
#define DATA_ADDRESS 0x10000000ull
#define DATA_PAGES 32ull
#define SHORT 2000ull
#define LONG 2000000ull

extern const uint8_t pmu_loops_start[], pmu_loops_end[];
extern const uint8_t pmu_loop_conditional[], pmu_loop_mixed[], pmu_loop_loop[], pmu_loop_rep[];
extern const uint8_t pmu_loop_calls[], pmu_loop_faults[], pmu_loop_syscalls[];

struct loop {
    const char *name;
    const uint8_t *code;
    uint64_t iterations;
    uint32_t conditional, branches; /* an iteration */
    uint32_t once_conditional, once_branches;
};

#define LOOP_PAGE_FAULTS 5
#define LOOP_SYSTEM_CALLS 6

static const struct loop loops[PMU_LOOPS] = {
    {"conditional", pmu_loop_conditional, SHORT, 1, 1, 0, 0},
    {"mixed", pmu_loop_mixed, SHORT, 2, 5, 0, 0},
    {"loop, jrcxz", pmu_loop_loop, SHORT, 2, 2, 0, 0},
    {"rep", pmu_loop_rep, SHORT, 1, 1, 0, 0},
    {"calls", pmu_loop_calls, SHORT, 1, 3, 0, 1},
    [LOOP_PAGE_FAULTS] = {"page faults", pmu_loop_faults, DATA_PAGES, 1, 1, 0, 0},
    [LOOP_SYSTEM_CALLS] = {"system calls", pmu_loop_syscalls, SHORT, 1, 1, 0, 0},
    {"interrupts", pmu_loop_conditional, LONG, 1, 1, 0, 0},
};

/* --- the processes --- */

static int add_mapping(struct space *space, uint64_t start, uint64_t pages, uint32_t prot)
{
    spin_lock(&space->lock);
    int error = space_insert(space, start, pages * PAGE_SIZE, prot);
    spin_unlock(&space->lock);
    return error ? ERR_NO_MEMORY : 0;
}

static int put_code(struct space *space)
{
    struct user_page *page = space_page(space, CODE_ADDRESS);
    if (!page)
        return ERR_NO_MEMORY;
    spin_lock(&page->lock);
    bool ready = space_page_ensure_frame(page);
    if (ready)
        memcpy(PHYS_TO_VIRT(page->frame), pmu_loops_start,
               (size_t)(pmu_loops_end - pmu_loops_start));
    spin_unlock(&page->lock);
    return ready ? 0 : ERR_NO_MEMORY;
}

static int fill(struct process *process, uint32_t cpu, const struct loop *loop, uint64_t iterations,
                struct entry_counts *entries)
{
    int error = add_mapping(process->space, CODE_ADDRESS, 1, ABI_PROT_READ | ABI_PROT_EXEC);
    if (!error)
        error =
            add_mapping(process->space, DATA_ADDRESS, DATA_PAGES, ABI_PROT_READ | ABI_PROT_WRITE);
    if (!error)
        error = put_code(process->space);
    struct thread *thread = error ? NULL : process_add_thread(process);
    if (!thread)
        return ERR_NO_MEMORY;
    struct trap_frame *frame = thread_user_frame(thread);
    frame->rip = CODE_ADDRESS + (uint64_t)(loop->code - pmu_loops_start);
    frame->rdi = iterations;
    frame->rsi = DATA_ADDRESS;
    frame->rsp = DATA_ADDRESS + DATA_PAGES * PAGE_SIZE;
    thread->cpu = cpu;
    thread->pinned = true;
    thread->entries = entries;
    return 0;
}

static void end_all(struct process **processes, bool started)
{
    for (uint32_t cpu = 0; cpu < cpu_count; cpu++) {
        if (!processes[cpu])
            continue;
        if (started)
            process_wait(processes[cpu]);
        else if (processes[cpu]->active_threads)
            process_drop_thread(processes[cpu], process_main_thread(processes[cpu]));
        process_destroy(processes[cpu]);
    }
}

/* Runs the loop on the CPUs from `first` on, at once; entries[cpu], cleared before, are counted. */
static int run_from(uint32_t first, const struct loop *loop, uint64_t iterations,
                    struct entry_counts *entries)
{
    struct process **processes = kzalloc(MAX_CPUS * sizeof(*processes));
    int error = processes ? 0 : ERR_NO_MEMORY;
    for (uint32_t cpu = first; !error && cpu < cpu_count; cpu++) {
        processes[cpu] = process_create_empty("pmu-test", 1, &error);
        if (!error)
            error = fill(processes[cpu], cpu, loop, iterations, &entries[cpu]);
    }
    for (uint32_t cpu = first; !error && cpu < cpu_count; cpu++)
        process_start(processes[cpu]);
    if (processes)
        end_all(processes, !error);
    kfree(processes);
    return error;
}

static int run_everywhere(const struct loop *loop, uint64_t iterations,
                          struct entry_counts *entries)
{
    memset(entries, 0, MAX_CPUS * sizeof(*entries));
    return run_from(0, loop, iterations, entries);
}

int pmu_loops_system_calls(uint64_t calls)
{
    struct entry_counts *entries = kzalloc(MAX_CPUS * sizeof(*entries));
    int error = entries ? run_everywhere(&loops[LOOP_SYSTEM_CALLS], calls, entries) : ERR_NO_MEMORY;
    for (uint32_t cpu = 0; !error && cpu < cpu_count; cpu++)
        if (entries[cpu].system_calls != calls + 1) /* and its exit */
            error = ERR_FAILED;
    kfree(entries);
    return error;
}

/* --- counting --- */

static struct pmu_user conditional_user = {.name = "test: conditional"};
static struct pmu_user branches_user = {.name = "test: all"};
static uint64_t counted[2][MAX_CPUS]; /* each CPU its own */

static void start_counting(void *argument)
{
    (void)argument;
    if (pmu_has_event(PMU_EVENT_CONDITIONAL))
        pmu_start(conditional_user.counter, PMU_EVENT_CONDITIONAL, PMU_COUNT_USER, 0);
    pmu_start(branches_user.counter, PMU_EVENT_BRANCHES, PMU_COUNT_USER, 0);
}

static void stop_counting(void *argument)
{
    uint32_t cpu = this_cpu()->index;
    (void)argument;
    counted[0][cpu] = pmu_has_event(PMU_EVENT_CONDITIONAL) ? pmu_read(conditional_user.counter) : 0;
    counted[1][cpu] = pmu_read(branches_user.counter);
    pmu_stop(conditional_user.counter);
    pmu_stop(branches_user.counter);
}

static int count_loop(const struct loop *loop, struct loop_results *results,
                      struct entry_counts *entries)
{
    ipi_call_all(start_counting, NULL, "the test's counters to start");
    int error = run_everywhere(loop, loop->iterations, entries);
    ipi_call_all(stop_counting, NULL, "the test's counters to stop");
    for (uint32_t cpu = 0; !error && cpu < cpu_count; cpu++) {
        struct loop_result *result = &results->result[results->count++];
        *result = (struct loop_result){.name = loop->name, .cpu = cpu, .entries = entries[cpu]};
        result->expected[PMU_EVENT_CONDITIONAL] =
            loop->iterations * loop->conditional + loop->once_conditional;
        result->expected[PMU_EVENT_BRANCHES] =
            loop->iterations * loop->branches + loop->once_branches;
        result->counted[PMU_EVENT_CONDITIONAL] = counted[0][cpu];
        result->counted[PMU_EVENT_BRANCHES] = counted[1][cpu];
    }
    return error;
}

int pmu_loops_count(struct loop_results *results)
{
    struct entry_counts *entries = kzalloc(MAX_CPUS * sizeof(*entries));
    results->count = 0;
    int error = entries ? pmu_reserve(&conditional_user) : ERR_NO_MEMORY;
    if (!error) {
        error = pmu_reserve(&branches_user);
        for (unsigned i = 0; !error && i < PMU_LOOPS; i++)
            error = count_loop(&loops[i], results, entries);
        pmu_release(&branches_user);
        pmu_release(&conditional_user);
    }
    kfree(entries);
    return error;
}

/* --- what a page fault costs --- */

static struct pmu_user instructions_user = {.name = "test: instructions"};
static uint64_t fault_stamps[DATA_PAGES + 1]; /* the last CPU only, while the loop runs there */
static uint32_t stamped;                      /* the same */

static void start_instructions(void *argument)
{
    (void)argument;
    pmu_start(instructions_user.counter, PMU_EVENT_INSTRUCTIONS, PMU_COUNT_KERNEL, 0);
}

static void stop_instructions(void *argument)
{
    (void)argument;
    pmu_stop(instructions_user.counter);
}

static void stamp_page_fault(void)
{
    if (stamped <= DATA_PAGES)
        fault_stamps[stamped++] = pmu_read(instructions_user.counter);
}

static uint64_t distance_before(uint32_t i)
{
    return (fault_stamps[i] - fault_stamps[i - 1]) & pmu_mask();
}

/* From one fault to the next the kernel executes all of one, if not always the same parts of it: a
 * page table is missing, a timer comes. What most of them take is the ordinary fault. */
static uint64_t usual_distance(void)
{
    uint64_t usual = 0;
    uint32_t most = 0;
    for (uint32_t i = 1; i < stamped; i++) {
        uint32_t same = 0;
        for (uint32_t j = 1; j < stamped; j++)
            same += distance_before(j) == distance_before(i);
        if (same > most) {
            most = same;
            usual = distance_before(i);
        }
    }
    return usual;
}

/* On the last CPU alone, so that nobody waits for a lock. */
int pmu_loops_fault_cost(uint64_t *each)
{
    struct entry_counts *entries = kzalloc(MAX_CPUS * sizeof(*entries));
    uint32_t cpu = cpu_count - 1;
    int error = entries ? pmu_reserve(&instructions_user) : ERR_NO_MEMORY;
    if (!error) {
        stamped = 0;
        entries[cpu].on_page_fault = stamp_page_fault;
        ipi_call_all(start_instructions, NULL, "the test's counters to start");
        error = run_from(cpu, &loops[LOOP_PAGE_FAULTS], DATA_PAGES, entries);
        ipi_call_all(stop_instructions, NULL, "the test's counters to stop");
        pmu_release(&instructions_user);
        if (!error && stamped < DATA_PAGES)
            error = ERR_FAILED;
    }
    kfree(entries);
    *each = usual_distance();
    return error;
}

/* --- overflow interrupts --- */

static void on_overflow(struct trap_frame *frame);
static struct pmu_user overflow_user = {.name = "test: overflow", .overflow = on_overflow};
static uint64_t overflow_period;
static struct overflow_result overflow_results[MAX_CPUS]; /* each CPU its own */

/* NMI. What the counter has counted since it overflowed is how late we are. */
static void on_overflow(struct trap_frame *frame)
{
    struct overflow_result *result = &overflow_results[this_cpu()->index];
    uint64_t late = pmu_read(overflow_user.counter);
    (void)frame;
    pmu_write(overflow_user.counter, 0 - overflow_period);
    result->interrupts++;
    result->latest_sum += late;
    if (late > result->latest)
        result->latest = late;
}

static enum pmu_event overflow_event(void)
{
    return pmu_has_event(PMU_EVENT_CONDITIONAL) ? PMU_EVENT_CONDITIONAL : PMU_EVENT_BRANCHES;
}

static void start_overflows(void *argument)
{
    (void)argument;
    overflow_results[this_cpu()->index] = (struct overflow_result){0};
    pmu_user_armed(&overflow_user, true);
    pmu_start(overflow_user.counter, overflow_event(), PMU_COUNT_USER | PMU_INTERRUPT,
              0 - overflow_period);
}

static void stop_overflows(void *argument)
{
    struct overflow_result *result = &overflow_results[this_cpu()->index];
    (void)argument;
    result->left_over = (pmu_read(overflow_user.counter) + overflow_period) & pmu_mask();
    pmu_stop(overflow_user.counter);
    pmu_user_armed(&overflow_user, false);
}

int pmu_loops_overflow(uint64_t events, uint64_t period, struct overflow_result *results)
{
    struct entry_counts *entries = kzalloc(MAX_CPUS * sizeof(*entries));
    int error = entries ? pmu_reserve(&overflow_user) : ERR_NO_MEMORY;
    if (!error) {
        overflow_period = period;
        ipi_call_all(start_overflows, NULL, "the test's counters to start");
        error = run_everywhere(&loops[0], events, entries);
        ipi_call_all(stop_overflows, NULL, "the test's counters to stop");
        memcpy(results, overflow_results, cpu_count * sizeof(*results));
        pmu_release(&overflow_user);
    }
    kfree(entries);
    return error;
}
