/* SPDX-License-Identifier: MIT */
/* Last branch records by their registers alone, as the CPU has them: the emulated ones of
 * tools/qemu-pmu must do what the manual says. Nothing of the kernel's own use of them is used.
 */
#include "arch/x86/cpu.h"
#include "arch/x86/msr.h"
#include "kernel/ipi_call.h"
#include "kernel/pmu_loops.h"
#include "kernel/process.h"
#include "tests/kernel/suite.h"

#define CPUID_7_EDX_ARCH_LBR (1u << 19)
#define DEEPEST 32

enum kind { JCC, REL_JMP, IND_JMP, REL_CALL, IND_CALL, RETURN, FAR, KINDS };

struct branch {
    uint64_t from, to, kind;
};

extern const struct branch branches_expected[], branches_expected_end[]; /* branches.asm */
extern void branches_run(uint32_t msr, uint64_t on, uint64_t off);
#define BRANCHES ((unsigned)(branches_expected_end - branches_expected))

struct form {
    const char *name;
    unsigned depth;
    bool architectural, selects;
    uint32_t from, to, control;
    uint64_t on;
};

static const struct form forms[] = {
    {"of Skylake", 32, false, true, MSR_LBR_FROM0, MSR_LBR_TO0, MSR_DEBUGCTL, DEBUGCTL_LBR},
    {"of Ivy Bridge", 16, false, true, MSR_LBR_FROM0, MSR_LBR_TO0, MSR_DEBUGCTL, DEBUGCTL_LBR},
    {"of Silvermont", 8, false, true, 0x40, 0x60, MSR_DEBUGCTL, DEBUGCTL_LBR},
    {"of Core", 4, false, false, 0x40, 0x60, MSR_DEBUGCTL, DEBUGCTL_LBR},
};

static const struct form architectural = {
    "architectural",
    DEEPEST,
    true,
    true,
    MSR_ARCH_LBR_FROM0,
    MSR_ARCH_LBR_TO0,
    MSR_ARCH_LBR_CTL,
    ARCH_LBR_CTL_ENABLE | ARCH_LBR_CTL_KERNEL | ARCH_LBR_CTL_USER | ARCH_LBR_CTL_BRANCHES,
};

/* The deepest whose last register is there; NULL: none. */
static const struct form *find_form(void)
{
    uint32_t features[4];
    uint64_t value;

    cpu_cpuid(7, 0, features);
    if (features[3] & CPUID_7_EDX_ARCH_LBR)
        return &architectural;
    for (unsigned i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (msr_read_safe(forms[i].from + forms[i].depth - 1, &value))
            return &forms[i];
    return NULL;
}

/* The age-th newest, with the bits of the sign that formats without LBR_INFO keep flags in. */
static struct branch read_record(const struct form *form, unsigned age)
{
    uint64_t top = form->architectural ? 0 : msr_read(MSR_LBR_TOS);
    unsigned index = form->architectural ? age : (unsigned)(top - age) % form->depth;
    struct branch branch = {.from = msr_read(form->from + index), .to = msr_read(form->to + index)};

    branch.from = (uint64_t)((int64_t)(branch.from << 7) >> 7);
    return branch;
}

static void clear_records(const struct form *form)
{
    if (form->architectural) {
        msr_write(MSR_ARCH_LBR_DEPTH, form->depth);
        return;
    }
    for (unsigned i = 0; i < form->depth; i++) {
        msr_write(form->from + i, 0);
        msr_write(form->to + i, 0);
    }
}

/* Runs the code and compares the newest records, and that there are no more. */
static void check_kinds(const struct form *form, const char *what, unsigned kinds, uint64_t on)
{
    unsigned wrong = 0, age = 0;
    bool enabled = irq_save();

    clear_records(form);
    branches_run(form->control, on, 0);
    for (unsigned i = BRANCHES; i-- > 0 && age < form->depth;) {
        struct branch record;

        if (!(kinds >> branches_expected[i].kind & 1))
            continue;
        record = read_record(form, age++);
        wrong += record.from != branches_expected[i].from || record.to != branches_expected[i].to;
    }
    if (age < form->depth)
        wrong += read_record(form, age).from != 0;
    irq_restore(enabled);
    is_equal(wrong, 0, "%s: the newest %u are those that were taken", what, age);
}

static void test_known_branches(const struct form *form)
{
    static const struct {
        const char *what;
        unsigned select_bit, control_bit;
    } names[KINDS] = {
        [JCC] = {"conditional", 2, 16},        [REL_CALL] = {"calls", 3, 19},
        [IND_CALL] = {"by pointer", 4, 20},    [RETURN] = {"returns", 5, 21},
        [IND_JMP] = {"indirect jumps", 6, 18}, [REL_JMP] = {"jumps", 7, 17},
        [FAR] = {"far branches", 8, 22},
    };

    check_kinds(form, "all", (1 << KINDS) - 1, form->on);
    for (unsigned kind = 0; kind < KINDS && form->selects; kind++) {
        uint64_t on = form->on;

        if (form->architectural)
            on = ARCH_LBR_CTL_ENABLE | ARCH_LBR_CTL_KERNEL | 1ull << names[kind].control_bit;
        else
            msr_write(MSR_LBR_SELECT, 0x1fc & ~(1ull << names[kind].select_bit));
        check_kinds(form, names[kind].what, 1u << kind, on);
    }
    if (form->selects && !form->architectural)
        msr_write(MSR_LBR_SELECT, 1);
    if (form->selects)
        check_kinds(form, "none of ring 0", 0, form->on & ~ARCH_LBR_CTL_KERNEL);
    if (form->selects && !form->architectural)
        msr_write(MSR_LBR_SELECT, 0);
}

/* An exception leads from the instruction that faults to its handler, and back behind it. */
static void test_fault(const struct form *form)
{
    bool enabled = irq_save();
    uint64_t on = form->on, value;
    struct branch newest, before;

    if (form->architectural)
        on = ARCH_LBR_CTL_ENABLE | ARCH_LBR_CTL_KERNEL | 1ull << 22;
    else
        msr_write(MSR_LBR_SELECT, 0xfc);
    clear_records(form);
    msr_write(form->control, on);
    bool there = msr_read_safe(form->architectural ? MSR_LBR_SELECT : MSR_ARCH_LBR_CTL, &value);
    msr_write(form->control, 0);
    newest = read_record(form, 0);
    before = read_record(form, 1);
    if (!form->architectural)
        msr_write(MSR_LBR_SELECT, 0);
    irq_restore(enabled);
    ok(!there, "a register that is not there");
    ok(before.from && newest.to > before.from && newest.to - before.from <= 16,
       "#GP: from the instruction, back to where it goes on");
    ok(newest.from - before.to < 1 << 20, "by the handler");
}

static void test_refusals(const struct form *form)
{
    ok(!msr_write_safe(form->from, 0x1234ull << 48), "an address that is not canonical");
    ok(!msr_write_safe(MSR_DEBUGCTL, DEBUGCTL_BTF), "BTF");
    ok(!msr_write_safe(form->architectural ? MSR_ARCH_LBR_CTL : MSR_LBR_SELECT, 1ull << 40),
       "a filter's reserved bit");
    if (form->architectural)
        ok(!msr_write_safe(MSR_ARCH_LBR_DEPTH, 12), "a depth that there is not");
    else
        ok(!msr_write_safe(MSR_LBR_TOS, form->depth), "a pointer beyond the last record");
}

/* --- in both rings, on all CPUs: tests/kernel/branches.sh compares with what was executed --------
 */

static void write_control(void *value)
{
    const uint64_t *words = value;

    msr_write((uint32_t)words[0], words[1]);
}

/* Counts the CPUs on which records are still being made. */
static uint32_t recording; /* atomic */

static void count_recording(void *form)
{
    if (msr_read(((const struct form *)form)->control) & 1)
        __atomic_add_fetch(&recording, 1, __ATOMIC_RELAXED);
}

static void run_program(char **words, int count)
{
    int error;
    struct process *process = process_create(count, words, &error);

    if (!ok(process != NULL, "%s can be started", words[0]))
        return;
    process->quiet = true;
    process_start(process);
    process_wait(process);
    process_destroy(process);
}

/* A storm of overflows, each of which is an NMI. */
static void test_nmis(const struct form *form)
{
    static struct overflow_result results[MAX_CPUS];
    uint64_t on[] = {form->control, form->on}, off[] = {form->control, 0};

    ipi_call_all(write_control, on, "records on");
    int error = pmu_loops_overflow(30000, 997, results);
    ipi_call_all(write_control, off, "records off");
    if (error)
        suite_skip("records while NMIs come", "no usable counter");
    else
        ok(results[0].interrupts >= 30, "records while NMIs come");
}

/* The last one steps itself by TF: #DB ends recording. */
static void test_programs(const struct form *form)
{
    static char *programs[][4] = {{"mutex", "4", "100"},
                                  {"mapper", "3", "2"},
                                  {"faults", "pf_write", "thread"},
                                  {"tf", "settf"}};
    static const int counts[] = {3, 3, 3, 2};
    uint64_t on[] = {form->control, form->on}, off[] = {form->control, 0};

    for (unsigned i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        bool debug = counts[i] == 2;

        ipi_call_all(write_control, on, "records on");
        run_program(programs[i], counts[i]);
        recording = 0;
        ipi_call_all(count_recording, (void *)form, "records on?");
        ok(debug ? recording < cpu_count : recording == cpu_count, "%s: records are made %s",
           programs[i][0], debug ? "until the first #DB" : "to the end");
        ipi_call_all(write_control, off, "records off");
    }
}

static void run(void)
{
    const struct form *form = find_form();

    if (!form) {
        suite_skip("last branch records", "this CPU has none");
        return;
    }
    ok(true, "the records are those %s: %u", form->name, form->depth);
    test_known_branches(form);
    if (form->selects)
        test_fault(form);
    test_refusals(form);
    test_programs(form);
    test_nmis(form);
}

const struct suite suite_branches = {"branches", run};
