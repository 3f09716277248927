/* SPDX-License-Identifier: MIT */
/* Dynamic probes: each instruction of functions that have one of each kind, probed in each way,
 * gives the registers and memory that it gives without; what is refused; recordings with probes all
 * over the kernel.
 */
#include "arch/x86/insn.h"
#include "arch/x86/layout.h"
#include "arch/x86/text_probe.h"
#include "kernel/command.h"
#include "kernel/err.h"
#include "kernel/printf.h"
#include "kernel/probe_dynamic.h"
#include "kernel/string.h"
#include "kernel/symbols.h"
#include "tests/kernel/probe_targets.h"
#include "tests/kernel/suite.h"

#define REPORTED 10
#define PROBES_AT_ONCE 100

static const struct {
    enum text_probe_mode mode;
    const char *name;
} modes[] = {
    {TEXT_PROBE_BEST, "best"},
    {TEXT_PROBE_INT3, "int3"},
    {TEXT_PROBE_COPY, "copied"},
    {TEXT_PROBE_STEP, "stepped"},
};

/* --- targets --- */

static unsigned target_count(void)
{
    return (unsigned)(((uint64_t)probe_targets_end - (uint64_t)probe_targets) /
                      sizeof(struct target));
}

const struct target *probe_target_find(const char *name)
{
    for (unsigned i = 0; i < target_count(); i++)
        if (strcmp(probe_targets[i].name, name) == 0)
            return &probe_targets[i];
    return NULL;
}

void probe_target_result(const struct target *target, struct target_result *result)
{
    uint64_t *registers = (uint64_t *)&result->registers;

    for (unsigned i = 0; i < sizeof(result->registers) / sizeof(*registers); i++)
        registers[i] = 0x0123456789abcdefull * (2 * i + 1);
    result->registers.rdi = result->registers.rsi = (uint64_t)probe_target_data;
    result->registers.r15 = 0xfff1230; /* beyond the GDT */
    result->registers.rflags = RFLAGS_FIXED | RFLAGS_IF | RFLAGS_CF;
    for (unsigned i = 0; i < TARGET_DATA_SIZE; i++)
        probe_target_data[i] = (uint8_t)(i * 7 + 1);
    probe_target_run(&result->registers, target->start);
    memcpy(result->data, probe_target_data, TARGET_DATA_SIZE);
}

unsigned probe_target_list(const struct target *target, uint16_t *offsets, unsigned limit)
{
    struct insn insn;
    unsigned count = 0;

    for (uint64_t at = target->start; at < target->end && count < limit; at += insn.length) {
        if (insn_decode((const uint8_t *)at, INSN_MAX_LENGTH, INSN_MODE_64, &insn) != 0)
            break;
        offsets[count++] = (uint16_t)(at - target->start);
    }
    return count;
}

/* --- one instruction at a time --- */

static struct {
    unsigned probed, refused, differing, miscounted, jumps;
} sums;
static struct target_result expected, actual;

static void complain(uint64_t address, const char *what, uint64_t value)
{
    char symbol[80];

    if (sums.differing + sums.miscounted <= REPORTED)
        printk("#   %s: %s %llu\n", symbol_format(symbol, sizeof(symbol), address), what,
               (unsigned long long)value);
}

struct totals {
    uint64_t address, hits, misses;
    bool jump;
};

static void add_totals(const struct probe *probe, void *argument)
{
    struct totals *totals = argument;

    probe_totals(probe, &totals->hits, &totals->misses);
}

static void find_totals(const struct probe_dynamic *place, void *argument)
{
    struct totals *totals = argument;

    if (place->address != totals->address)
        return;
    totals->jump = strcmp(text_probe_way(place->text), "jump") == 0;
    probe_chain_for_each(place->chain, add_totals, totals);
}

static struct totals totals_of(uint64_t address)
{
    struct totals totals = {.address = address};

    probe_dynamic_for_each(find_totals, &totals);
    return totals;
}

/* `hits`: as many as there must be; 0: not known. Returns how many there were. */
static uint64_t try_instruction(const struct target *target, uint64_t address,
                                enum text_probe_mode mode, uint64_t hits)
{
    enum insn_probe_refusal reason;
    int error = probe_dynamic_add(address, "count", mode, &reason);

    if (error) {
        sums.refused++;
        if (error != ERR_NOT_PROBEABLE || mode != TEXT_PROBE_STEP)
            complain(address, insn_probe_refusal_text(reason), (uint64_t)-error);
        return 0;
    }
    probe_target_result(target, &actual);
    struct totals totals = totals_of(address);
    sums.probed++;
    sums.jumps += totals.jump;
    if (memcmp(&actual, &expected, sizeof(actual)) != 0) {
        sums.differing++;
        complain(address, "another result; mode", mode);
    }
    if (totals.misses || (hits && totals.hits != hits)) {
        sums.miscounted++;
        complain(address, "hits", totals.hits);
    }
    probe_dynamic_remove(address, "count");
    return totals.hits;
}

static void test_target(const struct target *target, unsigned mode)
{
    uint16_t offsets[160];
    unsigned count = probe_target_list(target, offsets, 160);

    memset(&sums, 0, sizeof(sums));
    probe_target_result(target, &expected);
    for (unsigned i = 0; i < count; i++) {
        uint64_t address = target->start + offsets[i];
        uint64_t hits = target->straight;
        if (!hits && mode != 0)
            hits = try_instruction(target, address, TEXT_PROBE_INT3, 0);
        try_instruction(target, address, modes[mode].mode, hits);
    }
    ok(sums.differing == 0 && sums.miscounted == 0 && sums.probed > 0 &&
           (modes[mode].mode == TEXT_PROBE_STEP || sums.refused == 0),
       "%s, %s: %u probed (%u jumps), %u refused, of %u", target->name, modes[mode].name,
       sums.probed, sums.jumps, sums.refused, count);
    probe_target_result(target, &actual);
    ok(memcmp(&actual, &expected, sizeof(actual)) == 0, "%s, %s: and without a probe again",
       target->name, modes[mode].name);
}

static void test_targets(void)
{
    for (unsigned i = 0; i < target_count(); i++)
        for (unsigned mode = 0; mode < sizeof(modes) / sizeof(modes[0]); mode++)
            test_target(&probe_targets[i], mode);
}

/* --- all of a function at once --- */

static void test_all_at_once(const struct target *target, enum text_probe_mode mode)
{
    uint16_t offsets[PROBES_AT_ONCE];
    unsigned count = probe_target_list(target, offsets, PROBES_AT_ONCE), failed = 0, hit = 0;
    enum insn_probe_refusal reason;

    probe_target_result(target, &expected);
    for (unsigned i = 0; i < count; i++)
        failed += probe_dynamic_add(target->start + offsets[i], "count", mode, &reason) != 0;
    probe_target_result(target, &actual);
    for (unsigned i = 0; i < count; i++) {
        hit += totals_of(target->start + offsets[i]).hits > 0;
        probe_dynamic_remove(target->start + offsets[i], NULL);
    }
    ok(failed == 0 && memcmp(&actual, &expected, sizeof(actual)) == 0 &&
           (!target->straight || hit == count),
       "%s: all %u instructions at once, mode %u, %u hit", target->name, count, mode, hit);
    probe_target_result(target, &actual);
    ok(memcmp(&actual, &expected, sizeof(actual)) == 0, "%s: and all taken away", target->name);
}

/* --- refusals --- */

static void check_refusal(uint64_t address, enum insn_probe_refusal expected_reason,
                          const char *what)
{
    enum insn_probe_refusal reason;
    int error = probe_dynamic_add(address, "count", TEXT_PROBE_BEST, &reason);

    ok(error == ERR_NOT_PROBEABLE && reason == expected_reason, "refused: %s: %s", what,
       insn_probe_refusal_text(reason));
    if (!error)
        probe_dynamic_remove(address, NULL);
}

static void test_refusals(void)
{
    const struct target *plain = probe_target_find("plain");
    enum insn_probe_refusal reason;

    check_refusal(0, INSN_PROBE_NOT_TEXT, "address 0");
    check_refusal((uint64_t)text_end, INSN_PROBE_NOT_TEXT, "behind the text");
    check_refusal((uint64_t)rodata_start, INSN_PROBE_NOT_TEXT, "read-only data");
    check_refusal((uint64_t)noprobe_start, INSN_PROBE_NOPROBE, "the entry of breakpoints");
    check_refusal((uint64_t)text_probe_breakpoint, INSN_PROBE_NOPROBE, "the handler of probes");
    check_refusal((uint64_t)probe_run, INSN_PROBE_NOPROBE, "probe_run()");
    check_refusal(plain->start + 2, INSN_PROBE_NOT_BOUNDARY, "the middle of an instruction");
    if ((uint64_t)marker_places_start != (uint64_t)marker_places_end)
        check_refusal(marker_places_start[0].address, INSN_PROBE_SITE, "a marker's place");
    is_equal(probe_dynamic_add(plain->start, "nothing", TEXT_PROBE_BEST, &reason), ERR_NO_PROBE,
             "a probe of no known type");
    is_equal(probe_dynamic_add(plain->start, "count", TEXT_PROBE_BEST, &reason), 0, "one of them");
    is_equal(probe_dynamic_add(plain->start, "count", TEXT_PROBE_BEST, &reason), ERR_BUSY,
             "and the same again");
    is_equal(probe_dynamic_remove(plain->start, "print"), ERR_NO_PROBE, "removing another");
    is_equal(probe_dynamic_remove(plain->start, "count"), 0, "removing it");
    is_equal(probe_dynamic_remove(plain->start, "count"), ERR_NO_PROBE, "removing it again");
}

/* --- all over the kernel --- */

/* Every step'th instruction of the kernel, from `first` on, that can be probed; 0 at the end. */
static uint64_t next_place(uint64_t from, uint64_t step)
{
    enum insn_probe_refusal reason;

    for (uint64_t at = from; at < (uint64_t)text_end; at++)
        if (probe_dynamic_add(at, "count", TEXT_PROBE_BEST, &reason) == 0)
            return at + step;
    return 0;
}

static void remove_place(const struct probe_dynamic *place, void *argument)
{
    *(uint64_t *)argument = place->address;
}

/* One of those in the table. */
static bool remove_any(void)
{
    uint64_t address = 0;

    probe_dynamic_for_each(remove_place, &address);
    return address && probe_dynamic_remove(address, NULL) == 0;
}

static void add_hits(const struct probe_dynamic *place, void *argument)
{
    struct totals totals = {.address = place->address};

    find_totals(place, &totals);
    *(uint64_t *)argument += totals.hits > 0;
}

static void test_kernel(unsigned round, unsigned rounds)
{
    uint64_t size = (uint64_t)text_end - (uint64_t)noprobe_end;
    uint64_t step = size / PROBES_AT_ONCE, hit = 0;
    uint64_t at = (uint64_t)noprobe_end + step * round / rounds;
    unsigned count = 0, removed = 0;

    while ((at = next_place(at, step)) && count < PROBES_AT_ONCE)
        count++;
    int error = command_run_line("record racey 2 10; replay");
    probe_dynamic_for_each(add_hits, &hit);
    while (remove_any())
        removed++;
    ok(error == 0 && count > PROBES_AT_ONCE / 2 && removed >= count,
       "a recording and its replay with %u probes all over the kernel, %llu of them hit", removed,
       (unsigned long long)hit);
}

#define KERNEL_ROUNDS 4

static void run(void)
{
    test_refusals();
    test_targets();
    for (unsigned i = 0; i < target_count(); i++) {
        test_all_at_once(&probe_targets[i], TEXT_PROBE_BEST);
        test_all_at_once(&probe_targets[i], TEXT_PROBE_COPY);
    }
    for (unsigned round = 0; round < KERNEL_ROUNDS; round++)
        test_kernel(round, KERNEL_ROUNDS);
}

const struct suite suite_probes = {.name = "probes", .run = run};
