/* SPDX-License-Identifier: MIT */
/* `marker bench`: what each kind costs off and on, in one run.
 *
 * Each loop runs ROUNDS times with interrupts off, and the cheapest counts. Time is that of the
 * time-stamp counter; instructions and core cycles come from the PMU where there is one. The probe
 * while they are on is "count".
 *
 * Context: the shell's thread, which the kernel does not preempt: it stays on its CPU.
 */
#include "kernel/marker_bench.h"

#include "arch/x86/cpu.h"
#include "kernel/err.h"
#include "kernel/marker_footprint.h"
#include "kernel/pmu_owner.h"
#include "kernel/printf.h"
#include "kernel/probe.h"
#include "kernel/string.h"
#include "mm/heap.h"

#define ROUNDS 5
#define EMPTY_TURNS 4000
#define COPY_TURNS 200
#define COPY_BYTES 4096
#define PROBE "count"
#define GLOB "bench_*"
#define NOT_COUNTED UINT64_MAX

struct counters {
    struct pmu_user instructions, cycles; /* reserved: it counts */
};

struct cost {
    uint64_t tsc, instructions, cycles; /* of all turns */
};

struct buffers {
    uint8_t from[COPY_BYTES], to[COPY_BYTES];
};

struct row {
    struct cost empty[2], copy[2]; /* [on] */
    struct footprint empty_code, copy_code;
};

/* --- counters --- */

static void reserve(struct pmu_user *user, enum pmu_event event)
{
    if (!pmu_refusal() && pmu_has_event(event))
        pmu_reserve(user);
}

static void start(const struct pmu_user *user, enum pmu_event event)
{
    if (user->reserved)
        pmu_start(user->counter, event, PMU_COUNT_KERNEL, 0);
}

static uint64_t stop(const struct pmu_user *user)
{
    if (!user->reserved)
        return NOT_COUNTED;
    uint64_t value = pmu_read(user->counter);
    pmu_stop(user->counter);
    return value;
}

static void keep_least(uint64_t *least, uint64_t value)
{
    if (value < *least)
        *least = value;
}

/* --- one loop --- */

static void run_once(const struct counters *counters, const struct marker_loop *loop,
                     struct buffers *buffers, struct cost *least)
{
    bool enabled = irq_save();
    start(&counters->instructions, PMU_EVENT_INSTRUCTIONS);
    start(&counters->cycles, PMU_EVENT_CYCLES);
    uint64_t before = cpu_rdtsc();
    if (buffers)
        loop->copy(COPY_TURNS, buffers->to, buffers->from);
    else
        loop->empty(EMPTY_TURNS);
    uint64_t after = cpu_rdtsc();
    uint64_t cycles = stop(&counters->cycles), instructions = stop(&counters->instructions);
    irq_restore(enabled);
    keep_least(&least->tsc, after - before);
    keep_least(&least->cycles, cycles);
    keep_least(&least->instructions, instructions);
}

static struct cost measure(const struct counters *counters, const struct marker_loop *loop,
                           struct buffers *buffers)
{
    struct cost least = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
    for (unsigned i = 0; i < ROUNDS; i++)
        run_once(counters, loop, buffers, &least);
    return least;
}

/* --- all of them --- */

/* A bench whose markers do not do what they should measures nothing. */
static int check_hits(const struct marker_loop *loop, uint64_t before, bool on)
{
    uint64_t expected = on ? ROUNDS * (EMPTY_TURNS + COPY_TURNS) : 0;
    uint64_t hits = marker_hits(marker_find(loop->marker)) - before;
    if (hits == expected)
        return 0;
    printk("marker bench: %s: %llu hits while %s, expected %llu\n", loop->name,
           (unsigned long long)hits, on ? "on" : "off", (unsigned long long)expected);
    return ERR_FAILED;
}

static int measure_row(const struct counters *counters, unsigned index, struct buffers *buffers,
                       bool on, struct row *row)
{
    const struct marker_loop *loop = &marker_loops[index];
    uint64_t before = loop->marker ? marker_hits(marker_find(loop->marker)) : 0;
    row->empty[on] = measure(counters, loop, NULL);
    row->copy[on] = measure(counters, loop, buffers);
    return loop->marker ? check_hits(loop, before, on) : 0;
}

static int measure_all(const struct counters *counters, struct row *rows, bool on)
{
    struct buffers *buffers = kzalloc(sizeof(*buffers));
    int error = buffers ? 0 : ERR_NO_MEMORY;
    for (unsigned i = 0; !error && i < MARKER_LOOPS; i++)
        error = measure_row(counters, i, buffers, on, &rows[i]);
    kfree(buffers);
    return error;
}

static int read_code(struct row *rows)
{
    int error = 0;
    for (unsigned i = 0; !error && i < MARKER_LOOPS; i++) {
        error = footprint_read((uint64_t)marker_loops[i].empty, &rows[i].empty_code);
        if (!error)
            error = footprint_read((uint64_t)marker_loops[i].copy, &rows[i].copy_code);
    }
    return error;
}

static int attach_all(void)
{
    int error = 0;
    for (unsigned i = 1; !error && i < MARKER_LOOPS; i++)
        error = probe_attach(PROBE, marker_loops[i].marker);
    return error;
}

static void detach_all(void)
{
    for (unsigned i = 1; i < MARKER_LOOPS; i++)
        probe_detach(PROBE, marker_loops[i].marker); /* those that were not attached: no matter */
}

static int run_all(const struct counters *counters, struct row *rows)
{
    int error = marker_set(GLOB, false);
    if (!error)
        error = read_code(rows);
    if (!error)
        error = measure_all(counters, rows, false);
    if (!error)
        error = attach_all();
    if (!error)
        error = marker_set(GLOB, true);
    if (!error)
        error = measure_all(counters, rows, true);
    int off = marker_set(GLOB, false);
    detach_all();
    return error ? error : off;
}

/* --- the table --- */

/* Hundredths: "12.34"; "-" when it was not counted. */
static const char *per_turn(char out[24], uint64_t total, uint64_t turns)
{
    uint64_t hundredths = total * 100 / turns;
    if (total == NOT_COUNTED)
        return "-";
    format_text(out, 24, "%llu.%02llu", (unsigned long long)(hundredths / 100),
                (unsigned long long)(hundredths % 100));
    return out;
}

static void print_cost(const char *kind, const char *loop, bool on, const struct cost *cost,
                       uint64_t turns)
{
    char tsc[24], cycles[24], instructions[24];
    printk("@marker-cost kind=%-10s state=%-3s loop=%-5s tsc=%-9s cycles=%-9s instructions=%s\n",
           kind, on ? "on" : "off", loop, per_turn(tsc, cost->tsc, turns),
           per_turn(cycles, cost->cycles, turns),
           per_turn(instructions, cost->instructions, turns));
}

static void print_code(const char *kind, const char *loop, const struct footprint *code,
                       const struct footprint *without)
{
    char registers[80];
    printk(
        "@marker-code kind=%-10s loop=%-5s hot_bytes=%-3d hot_instructions=%-2d cold_bytes=%-3d "
        "registers=\"%s\"\n",
        kind, loop, (int)(code->hot_bytes - without->hot_bytes),
        (int)(code->hot_instructions - without->hot_instructions),
        (int)(code->cold_bytes - without->cold_bytes),
        footprint_registers(registers, sizeof(registers), code->registers & ~without->registers));
}

static void print_rows(const struct row *rows)
{
    printk("costs of a turn, the loop included (empty: nothing; copy: 4 KiB):\n");
    for (unsigned on = 0; on < 2; on++)
        for (unsigned i = 0; i < MARKER_LOOPS; i++) {
            print_cost(marker_loops[i].name, "empty", on, &rows[i].empty[on], EMPTY_TURNS);
            print_cost(marker_loops[i].name, "copy", on, &rows[i].copy[on], COPY_TURNS);
        }
    printk("code more than without a marker, while off, and registers that it uses besides:\n");
    for (unsigned i = 1; i < MARKER_LOOPS; i++) {
        print_code(marker_loops[i].name, "empty", &rows[i].empty_code, &rows[0].empty_code);
        print_code(marker_loops[i].name, "copy", &rows[i].copy_code, &rows[0].copy_code);
    }
}

int marker_bench(void)
{
    static struct counters counters = {.instructions = {.name = "marker bench: instructions"},
                                       .cycles = {.name = "marker bench: cycles"}};
    if (!marker_find(marker_loops[1].marker)) {
        printk("marker bench: this kernel was built without markers\n");
        return ERR_NOT_FOUND;
    }
    struct row *rows = kzalloc(MARKER_LOOPS * sizeof(*rows));
    if (!rows)
        return ERR_NO_MEMORY;
    reserve(&counters.instructions, PMU_EVENT_INSTRUCTIONS);
    reserve(&counters.cycles, PMU_EVENT_CYCLES);
    if (!counters.instructions.reserved)
        printk("marker bench: instructions are not counted: %s\n",
               pmu_refusal() ? pmu_refusal() : "no counter is free, or none counts them");
    int error = run_all(&counters, rows);
    if (counters.cycles.reserved)
        pmu_release(&counters.cycles);
    if (counters.instructions.reserved)
        pmu_release(&counters.instructions);
    if (!error)
        print_rows(rows);
    kfree(rows);
    return error;
}
