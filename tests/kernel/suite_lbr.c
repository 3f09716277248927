/* SPDX-License-Identifier: MIT */
/* Branch history at exceptions: what on and off change, and whether what is saved can be true, in a
 * storm of page faults of both rings on all CPUs with NMIs coming in.
 */
#include "arch/x86/cpu.h"
#include "arch/x86/idt.h"
#include "arch/x86/lbr.h"
#include "arch/x86/layout.h"
#include "arch/x86/paging.h"
#include "arch/x86/trap.h"
#include "kernel/hash.h"
#include "kernel/ipi_call.h"
#include "kernel/lbr.h"
#include "kernel/pmu_sampling.h"
#include "kernel/printf.h"
#include "kernel/process.h"
#include "kernel/programs.h"
#include "kernel/string.h"
#include "tests/kernel/lbr_check.h"
#include "tests/kernel/suite.h"

#define STORM_NS 3000000000ull
#define NMI_PERIOD 40009

/* --- on and off --- */

struct image_hash {
    uint8_t text[16], idt[16];
};

static void hash_bytes(uint8_t out[16], const void *bytes, size_t length)
{
    struct hash hash;

    hash_init(&hash, 16);
    hash_update(&hash, bytes, length);
    hash_final(&hash, out);
}

static struct image_hash hash_image(void)
{
    struct image_hash hash = {{0}, {0}};

    hash_bytes(hash.text, text_start, (size_t)(text_end - text_start));
    hash_bytes(hash.idt, idt_shared(), IDT_SIZE);
    return hash;
}

static uint32_t shared_count; /* atomic: CPUs that use the shared IDT … */
static uint32_t own_count;    /* … or one of their own */

static void look_at_idt(void *argument)
{
    (void)argument;
    __atomic_add_fetch(idt_loaded() == idt_shared() ? &shared_count : &own_count, 1,
                       __ATOMIC_RELAXED);
}

static void count_idts(void)
{
    shared_count = own_count = 0;
    ipi_call_all(look_at_idt, NULL, "the suite to look at IDTs");
}

/* Entries that differ from the shared IDT's. */
static unsigned changed_entries(void)
{
    const uint8_t *mine = idt_loaded(), *shared = idt_shared();
    unsigned changed = 0;

    for (unsigned vector = 0; vector < IDT_ENTRIES; vector++)
        changed += memcmp(mine + 16 * vector, shared + 16 * vector, 16) != 0;
    return changed;
}

static void test_off(const struct image_hash *before)
{
    struct image_hash now = hash_image();

    count_idts();
    is_equal(shared_count, cpu_count, "off: all CPUs use the shared IDT");
    ok(memcmp(now.idt, before->idt, 16) == 0, "off: every byte of it is as before");
    ok(memcmp(now.text, before->text, 16) == 0, "off: every byte of the kernel's text, too");
}

static void test_on(const struct image_hash *before)
{
    struct image_hash now = hash_image();

    count_idts();
    is_equal(own_count, cpu_count, "on: every CPU uses an IDT of its own");
    is_equal(changed_entries(), LBR_VECTORS, "on: the entries of exceptions differ there");
    ok(memcmp(now.idt, before->idt, 16) == 0, "on: the shared IDT is as before");
    ok(memcmp(now.text, before->text, 16) == 0, "on: the kernel's text, too");
}

/* The address in a gate: Intel SDM vol. 3, figure 6-8. */
static uint64_t entry_of(const uint8_t *gate)
{
    uint64_t address = 0;

    memcpy(&address, gate, 2);
    memcpy((uint8_t *)&address + 2, gate + 6, 2);
    memcpy((uint8_t *)&address + 4, gate + 8, 4);
    return address;
}

static void test_rights(void)
{
    const uint8_t *table = idt_loaded();
    unsigned right = 0;

    for (unsigned i = 0; i < LBR_VECTORS; i++) {
        uint64_t entry = entry_of(table + 16 * lbr_vectors[i]);
        uint64_t page = paging_lookup(paging_kernel_root(), entry);
        right += page && !(page & (PT_WRITE | PT_NX | PT_USER));
    }
    is_equal(right, LBR_VECTORS, "the stubs can be executed and not written");
}

/* --- nesting --- */

static void test_counts(void)
{
    struct lbr_history first, second;
    uint64_t value;

    irq_disable();
    uint32_t cpu = this_cpu()->index;
    trap_read_safe(0x10, &value);
    bool found = lbr_newest(cpu, VECTOR_PAGE_FAULT, 0, &first);
    trap_read_safe(0x10, &value);
    found = found && lbr_newest(cpu, VECTOR_PAGE_FAULT, 0, &second);
    irq_enable();
    ok(found, "a page fault of the kernel that goes on leaves a history");
    is_equal(second.arrivals, first.arrivals + 1, "the next one is counted");
    is_equal(second.nested, first.nested, "and is not inside of the one before");
}

/* --- the storm --- */

static struct {
    uint64_t kernel_faults, histories, records, damaged, wrong; /* atomic */
    uint64_t nmis;                                              /* atomic */
    bool over;                                                  /* atomic */
} storm;

static void count(uint64_t *counter, uint64_t by)
{
    __atomic_add_fetch(counter, by, __ATOMIC_RELAXED);
}

static void on_overflow(struct trap_frame *frame);
static struct pmu_sampler sampler = {.user = {.name = "test: lbr", .overflow = on_overflow}};

static void on_overflow(struct trap_frame *frame)
{
    (void)frame;
    count(&storm.nmis, 1);
    pmu_write(sampler.user.counter, 0 - sampler.period);
}

static void complain(const struct lbr_history *history, uint32_t at, const char *wrong)
{
    const struct lbr_record *record = &history->records[at];

    if (__atomic_fetch_add(&storm.wrong, 1, __ATOMIC_RELAXED) < 3)
        printk("#   vector %u at 0x%llx, record %u of %u, 0x%llx -> 0x%llx: %s\n", history->vector,
               (unsigned long long)history->rip, at, history->count,
               (unsigned long long)record->from, (unsigned long long)record->to, wrong);
}

static void check_history(const struct lbr_history *history)
{
    count(history->missing ? &storm.damaged : &storm.histories, 1);
    for (uint32_t i = 0; i < history->count && !history->missing; i++) {
        const char *wrong = lbr_check_record(&history->records[i]);
        if (wrong)
            complain(history, i, wrong);
    }
    count(&storm.records, history->missing ? 0 : history->count);
}

/* With interrupts off, so that a fault's history is the newest when it is looked at. */
static void fault_and_check(void)
{
    struct lbr_history history;
    uint64_t value;

    irq_disable();
    uint32_t cpu = this_cpu()->index;
    for (uint32_t back = 0; back < 4; back++) /* those of programs, mostly */
        if (lbr_newest(cpu, VECTOR_PAGE_FAULT, back, &history))
            check_history(&history);
    trap_read_safe(0x10, &value);
    if (lbr_newest(cpu, VECTOR_PAGE_FAULT, 0, &history))
        check_history(&history);
    irq_enable();
    count(&storm.kernel_faults, 1);
}

static bool run_program(void)
{
    static char *words[] = {"mapper", "3", "2"};
    int error;
    struct process *process = process_create(3, words, &error);

    if (!process)
        return false;
    process->quiet = true;
    process_start(process);
    process_wait(process);
    bool good = !process->end.killed && process->end.exit_status == 0;
    process_destroy(process);
    return good;
}

static void storm_thread(unsigned index, void *argument)
{
    bool *good = argument;
    uint64_t end = timer_now_ns() + STORM_NS;

    if (index == 0) {
        while (*good && timer_now_ns() < end)
            *good = run_program();
        __atomic_store_n(&storm.over, true, __ATOMIC_RELAXED);
        return;
    }
    while (!__atomic_load_n(&storm.over, __ATOMIC_RELAXED)) {
        fault_and_check();
        thread_yield();
    }
}

static void test_storm(void)
{
    bool good = true;

    memset(&storm, 0, sizeof storm);
    bool nmis = pmu_sampler_start(&sampler, NMI_PERIOD) == 0;
    crowd_run(cpu_count + 1, storm_thread, &good);
    pmu_sampler_stop(&sampler);
    printk("#   %llu faults of the kernel, %llu histories with %llu records, %llu damaged by one "
           "of %llu NMIs\n",
           (unsigned long long)storm.kernel_faults, (unsigned long long)storm.histories,
           (unsigned long long)storm.records, (unsigned long long)storm.damaged,
           (unsigned long long)storm.nmis);
    ok(good, "storm: the programs ended well");
    is_equal(storm.wrong, 0, "storm: every record is a branch that the code has");
    ok(storm.records > 1000, "storm: there were many");
    ok(storm.damaged < storm.histories / 4, "storm: few were damaged by an NMI");
    if (nmis)
        ok(storm.nmis > 100, "storm: NMIs came in");
    else
        suite_skip("storm: NMIs came in", "no counter can be used");
}

/* A check that finds nothing wrong anywhere would pass the storm. */
static void test_check(void)
{
    uint64_t code = (uint64_t)crowd_run;
    const struct lbr_record no_branch = {.from = code, .to = code},
                            no_code = {.from = (uint64_t)&storm, .to = code},
                            elsewhere = {.from = code - 1, .to = 0};

    ok(lbr_check_record(&no_branch) != NULL, "the check refuses a FROM that is no branch");
    ok(lbr_check_record(&no_code) != NULL, "and one that is no code");
    ok(lbr_check_record(&elsewhere) != NULL, "and a TO that is none");
}

static void run(void)
{
    struct image_hash before = hash_image();

    if (lbr_refusal()) {
        suite_skip("branch history", lbr_refusal());
        return;
    }
    ok(lbr_check_program("mapper"), "the program is there");
    test_check();
    test_off(&before);
    for (unsigned round = 0; round < 2; round++) {
        is_equal(lbr_turn_on(), 0, "it can be turned on");
        test_on(&before);
        test_rights();
        test_counts();
        if (round == 0)
            test_storm();
        lbr_turn_off();
        test_off(&before);
    }
}

const struct suite suite_lbr = {"lbr", run};
