/* SPDX-License-Identifier: MIT */
/* The emulated PMU of tools/qemu-pmu: registers, CPUID, events, which instruction is which event,
 * the plugin's options.
 */
#include "tests/host/pmu_machine.h"
#include "tests/host/tap.h"
#include "tools/qemu-pmu/pmu_classify.h"
#include "tools/qemu-pmu/pmu_options.h"

/* --- registers ------------------------------------------------------------------------------- */

static void test_refused_writes(unsigned version)
{
    static const struct {
        uint32_t msr;
        uint64_t value;
        unsigned since; /* the version that accepts it; 9: none does */
    } writes[] = {
        {MSR_PERFEVTSEL0, 1ull << 32, 9},
        {MSR_PERFEVTSEL0 + 3, 0xffdfffff, 2},
        {MSR_PERFEVTSEL0, PERFEVTSEL_ANY_THREAD, 3},
        {MSR_PMC0, ~0ull, 2}, /* the upper half is not looked at */
        {MSR_FULL_WIDTH_PMC0, PMU_COUNTER_MASK, 2},
        {MSR_FULL_WIDTH_PMC0, PMU_COUNTER_MASK + 1, 9},
        {MSR_FIXED_CTR0 + 2, PMU_COUNTER_MASK + 1, 9},
        {MSR_FIXED_CTR_CTRL, 0xbbb, 2},
        {MSR_FIXED_CTR_CTRL, 0x444, 3},
        {MSR_FIXED_CTR_CTRL, 0x1000, 9},
        {MSR_PERF_GLOBAL_CTRL, 0x70000000full, 2},
        {MSR_PERF_GLOBAL_CTRL, 0x10, 9},
        {MSR_PERF_GLOBAL_CTRL, 1ull << 35, 9},
        {MSR_PERF_GLOBAL_STATUS, 0, 9},
        {MSR_PERF_GLOBAL_OVF_CTRL, 0xc00000070000000full, 2},
        {MSR_PERF_GLOBAL_OVF_CTRL, 1ull << 61, 3},
        {MSR_PERF_GLOBAL_OVF_CTRL, 1ull << 59, 4},
        {MSR_PERF_GLOBAL_OVF_CTRL, 1ull << 20, 9},
        {MSR_PERF_CAPABILITIES, 0, 9},
        {MSR_DEBUGCTL, DEBUGCTL_FREEZE_PERFMON_ON_PMI, 2},
        {MSR_DEBUGCTL, 1, 9},
    };
    struct machine m;

    machine_init(&m, (struct pmu_config){.version = version});
    for (unsigned i = 0; i < sizeof(writes) / sizeof(writes[0]); i++)
        is_u64(machine_write(&m, writes[i].msr, writes[i].value), version >= writes[i].since,
               "v%u: WRMSR %#x, %#" PRIx64, version, writes[i].msr, writes[i].value);
}

static void test_refusal_changes_nothing(void)
{
    struct machine m;

    machine_init(&m, (struct pmu_config){0});
    machine_write(&m, MSR_FULL_WIDTH_PMC0, 123);
    machine_write(&m, MSR_FULL_WIDTH_PMC0, 1ull << 48);
    is_u64(machine_read(&m, MSR_PMC0), 123, "a refused write leaves the register as it was");
}

static void test_counter_addresses(void)
{
    struct machine m;
    uint64_t value = 0;

    machine_init(&m, (struct pmu_config){0});
    machine_write(&m, MSR_PMC0 + 1, 0x1234567fffffffull);
    is_u64(machine_read(&m, MSR_PMC0 + 1), 0x7fffffff, "the old address takes 32 bits");
    machine_write(&m, MSR_PMC0 + 1, 0x80000000);
    is_u64(machine_read(&m, MSR_FULL_WIDTH_PMC0 + 1), 0xffff80000000, "and extends the sign");
    machine_write(&m, MSR_FULL_WIDTH_PMC0 + 1, 0xabcdef012345);
    is_u64(machine_read(&m, MSR_PMC0 + 1), 0xabcdef012345, "the other takes all 48");
    ok(pmu_read_counter(&m.pmu, 1, &value) && value == 0xabcdef012345, "RDPMC reads it");
    machine_write(&m, MSR_FIXED_CTR0 + 2, 77);
    ok(pmu_read_counter(&m.pmu, 1u << 30 | 2, &value) && value == 77, "RDPMC, fixed counter");
    ok(!pmu_read_counter(&m.pmu, PMU_PROGRAMMABLE, &value), "RDPMC of counter 4 is refused");
    ok(!pmu_read_counter(&m.pmu, 1u << 30 | 3, &value), "RDPMC of fixed counter 3 is refused");
    ok(!pmu_read_counter(&m.pmu, 1u << 31, &value), "RDPMC's fast mode is refused");
}

static void test_owned_msrs(void)
{
    struct machine m;

    machine_init(&m, (struct pmu_config){.version = 2});
    ok(pmu_owns_msr(&m.pmu, MSR_PMC0 + 3) && !pmu_owns_msr(&m.pmu, MSR_PMC0 + 4),
       "there are four counters");
    ok(pmu_owns_msr(&m.pmu, MSR_FIXED_CTR0 + 2) && !pmu_owns_msr(&m.pmu, MSR_FIXED_CTR0 + 3),
       "and three fixed ones");
    ok(!pmu_owns_msr(&m.pmu, MSR_PERF_GLOBAL_STATUS_SET), "v2 has no STATUS_SET");
    ok(!pmu_owns_msr(&m.pmu, 0xc0000080) && !pmu_owns_msr(&m.pmu, 0x10),
       "EFER, TSC: not the PMU's");
}

static void test_version_4(void)
{
    struct machine m;

    machine_init(&m, (struct pmu_config){.version = 4});
    ok(machine_write(&m, MSR_PERF_GLOBAL_STATUS_SET, 1ull << 33 | 2), "STATUS_SET");
    is_u64(machine_read(&m, MSR_PERF_GLOBAL_STATUS), 1ull << 33 | 2, "sets status bits");
    is_u64(m.interrupts, 0, "and raises nothing");
    ok(!machine_write(&m, MSR_PERF_GLOBAL_STATUS_SET, 1ull << 63), "bit 63 is refused");
    machine_start(&m, 3, CONDITIONAL | COUNT_USER | INTERRUPT, 10);
    machine_write(&m, MSR_FIXED_CTR_CTRL, 0x020);
    is_u64(machine_read(&m, MSR_PERF_GLOBAL_INUSE), GLOBAL_INUSE_PMI | 1ull << 33 | 8, "INUSE");
}

static void test_reset(void)
{
    struct machine m;
    uint32_t registers[4];

    machine_init(&m, (struct pmu_config){0});
    machine_start(&m, 0, ALL_BRANCHES | COUNT_USER | INTERRUPT, 10);
    machine_run(&m, 20);
    pmu_reset(&m.pmu, &m.config, 0);
    machine_settle(&m);
    machine_run(&m, 20);
    is_u64(machine_read(&m, MSR_PMC0), 0, "reset: the counter");
    is_u64(machine_read(&m, MSR_PERFEVTSEL0), 0, "reset: its event");
    is_u64(machine_read(&m, MSR_PERF_GLOBAL_CTRL), 0xf, "reset: GLOBAL_CTRL");
    is_u64(machine_read(&m, MSR_PERF_GLOBAL_STATUS), 0, "reset: GLOBAL_STATUS");
    is_u64(pmu_wanted_words(&m.pmu), 0, "reset: nothing is wanted");

    pmu_cpuid(&m.config, registers);
    is_u64(registers[0], 0x07300404, "CPUID.0AH: version 4, 4 counters of 48 bits, 7 events");
    is_u64(registers[1], 0x58, "CPUID.0AH: which events there are not");
    is_u64(registers[3], 3 | 48 << 5, "CPUID.0AH: 3 fixed counters of 48 bits");
}

/* --- events, instructions, options ----------------------------------------------------------- */

static void test_events(void)
{
    pmu_word_set conditional = PMU_WORD(PMU_CONDITIONAL, PMU_USER);
    pmu_word_set taken = PMU_WORD(PMU_TAKEN, PMU_USER);

    is_u64(pmu_event_words(PMU_EVENTS_SKYLAKE, 0x01c4, true, false), conditional, "skylake 01c4");
    is_u64(pmu_event_words(PMU_EVENTS_ICELAKE, 0x11c4, true, false), conditional, "icelake 11c4");
    is_u64(pmu_event_words(PMU_EVENTS_ICELAKE, 0x01c4, true, false), taken, "icelake 01c4");
    is_u64(pmu_event_words(PMU_EVENTS_SILVERMONT, 0x7ec4, true, false), conditional,
           "silvermont 7ec4");
    is_u64(pmu_event_words(PMU_EVENTS_SKYLAKE, 0x7ec4, true, true), 0, "which skylake has not");
    is_u64(pmu_event_words(PMU_EVENTS_SKYLAKE, 0x003c, false, true),
           PMU_WORD(PMU_INSTRUCTION, PMU_KERNEL), "cycles are instructions");
    is_u64((uint64_t)__builtin_popcount(pmu_event_words(0, 0x00c4, true, true)), 10,
           "all branches: five sources in two modes");
}

static void test_classify(void)
{
    static const struct {
        const char *what;
        uint8_t bytes[8];
        unsigned length, bits;
        enum pmu_source source;
        enum pmu_certain certain;
    } cases[] = {
        {"jz", {0x74, 5}, 2, 64, PMU_CONDITIONAL, PMU_CERTAIN_BEFORE},
        {"jz near", {0x0f, 0x84, 1, 0, 0, 0}, 6, 64, PMU_CONDITIONAL, PMU_CERTAIN_BEFORE},
        {"loop", {0xe2, 0xfe}, 2, 32, PMU_CONDITIONAL, PMU_CERTAIN_BEFORE},
        {"jmp", {0xeb, 0}, 2, 64, PMU_JUMP, PMU_CERTAIN_BEFORE},
        {"jmp rax", {0xff, 0xe0}, 2, 64, PMU_JUMP, PMU_CERTAIN_BEFORE},
        {"jmp [rax]", {0xff, 0x20}, 2, 64, PMU_JUMP, PMU_CERTAIN_READ},
        {"call", {0xe8, 0, 0, 0, 0}, 5, 64, PMU_CALL, PMU_CERTAIN_WRITE},
        {"call [rax]", {0xff, 0x10}, 2, 64, PMU_CALL, PMU_CERTAIN_WRITE},
        {"ret", {0xc3}, 1, 64, PMU_RETURN, PMU_CERTAIN_READ},
        {"ret 8", {0xc2, 8, 0}, 3, 64, PMU_RETURN, PMU_CERTAIN_READ},
        {"syscall", {0x0f, 0x05}, 2, 64, PMU_FAR, PMU_CERTAIN_BEFORE},
        {"int 0x80", {0xcd, 0x80}, 2, 64, PMU_FAR, PMU_CERTAIN_BEFORE},
    };
    static const uint8_t nop[] = {0x90}, add[] = {0x48, 0x01, 0xc8}, rdpmc[] = {0x66, 0x0f, 0x33};
    struct pmu_branch branch;

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ok(pmu_classify(cases[i].bytes, cases[i].length, cases[i].bits, &branch) &&
               branch.source == cases[i].source && branch.certain == cases[i].certain,
           "%s", cases[i].what);
    ok(!pmu_classify(nop, 1, 64, &branch) && !pmu_classify(add, 3, 64, &branch), "no branches");
    pmu_classify(cases[0].bytes, 2, 64, &branch);
    ok(pmu_is_taken(branch.condition, 1 << 6, 0) && !pmu_is_taken(branch.condition, 0, 0),
       "jz is taken when ZF is set");
    pmu_classify(cases[2].bytes, 2, 32, &branch);
    ok(pmu_is_taken(branch.condition, 0, 0x100000002) && !pmu_is_taken(branch.condition, 0, 1),
       "loop with a counter of 32 bits");
    is_u64(pmu_match_0f(rdpmc, 3, 64, 0x33), 3, "RDPMC with a prefix");
    is_u64(pmu_match_0f(rdpmc, 3, 64, 0x32), 0, "which is no RDMSR");
}

static bool parse(struct pmu_options *options, const char *argument, char *error)
{
    char *arguments[] = {(char *)argument};

    return pmu_parse_options(options, 1, arguments, error, 200);
}

static void test_options(void)
{
    static const char *const wrong[] = {
        "skid",
        "skid=",
        "skid=x",
        "skid=-1",
        "skid=1x",
        "skid=random5",
        "skid=random:",
        "version=5",
        "version=1",
        "events=zen",
        "seed=?",
        "broken=yes",
        "skid=99999999999",
        "verbose=1",
        "icount=on",
        "skids=1",
        "ski=1",
        "lbr=5",
        "lbr-trace=",
        "",
    };
    struct pmu_options options;
    char error[200] = "";

    ok(pmu_parse_options(&options, 0, NULL, error, sizeof(error)) && options.config.version == 4 &&
           !options.config.skid && !options.config.broken && !options.verbose &&
           options.config.lbr == PMU_LBR_SKYLAKE,
       "defaults");
    ok(parse(&options, "skid=0x20", error) && options.config.skid == 32, "skid=0x20");
    ok(parse(&options, "skid=random", error) && options.config.random_skid &&
           options.config.skid == 100,
       "skid=random");
    ok(parse(&options, "skid=random:7", error) && options.config.skid == 7, "skid=random:7");
    ok(parse(&options, "broken=nonmi", error) && options.config.broken == PMU_BROKEN_NONMI,
       "broken=nonmi");
    ok(parse(&options, "events=icelake", error) && options.config.events == PMU_EVENTS_ICELAKE,
       "events=icelake");
    ok(parse(&options, "lbr=16", error) && options.config.lbr == PMU_LBR_IVY_BRIDGE, "lbr=16");
    ok(parse(&options, "lbr=none", error) && options.config.lbr == PMU_LBR_NONE, "lbr=none");
    ok(parse(&options, "lbr=arch", error) && options.config.lbr == PMU_LBR_ARCHITECTURAL,
       "lbr=arch");
    ok(!pmu_parse_options(&options, 2, (char *[]){"lbr=arch", "version=3"}, error, sizeof(error)) &&
           strstr(error, "version=4"),
       "lbr=arch needs version 4");
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        bool parsed = parse(&options, wrong[i], error);

        ok(!parsed && strstr(error, wrong[i]), "'%s' is refused by name", wrong[i]);
    }
}

int main(void)
{
    for (unsigned version = 2; version <= 4; version++)
        test_refused_writes(version);
    test_refusal_changes_nothing();
    test_counter_addresses();
    test_owned_msrs();
    test_version_4();
    test_reset();
    test_events();
    test_classify();
    test_options();
    return done();
}
