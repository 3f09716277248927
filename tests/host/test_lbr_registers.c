/* SPDX-License-Identifier: MIT */
/* The emulated last branch records of tools/qemu-pmu: their registers in each form, and which
 * instruction is which kind of branch.
 */
#include "tests/host/lbr_machine.h"
#include "tools/qemu-pmu/pmu_classify.h"

static void test_formats(void)
{
    struct machine m;

    start(&m, PMU_LBR_IVY_BRIDGE);
    branch(&m, PMU_LBR_RETURN, KERNEL + 1, KERNEL + 2);
    is_record(&m, 0, (KERNEL + 1) & ~(1ull << 63), KERNEL + 2, "bit 63 of FROM is no sign");
    ok(machine_write(&m, MSR_LBR_FROM0, (KERNEL + 1) & ~(1ull << 63)), "and is not looked at");
    ok(!machine_write(&m, MSR_LBR_FROM0, 1ull << 62), "unlike the next one");
    is_u64(machine_read(&m, MSR_LBR_INFO0), 0xbad, "there is no LBR_INFO");
    is_u64(machine_read(&m, MSR_PERF_CAPABILITIES) & 0x3f, 3, "format 3");

    start(&m, PMU_LBR_SKYLAKE);
    branch(&m, PMU_LBR_RETURN, KERNEL + 1, KERNEL + 2);
    is_record(&m, 0, KERNEL + 1, KERNEL + 2, "with LBR_INFO it is");
    is_u64(machine_read(&m, MSR_LBR_INFO0 + 1), 0, "predicted, no cycles");
    is_u64(machine_read(&m, MSR_PERF_CAPABILITIES) & 0x3f, 5, "format 5");

    start(&m, PMU_LBR_NONE);
    ok(!machine_write(&m, MSR_DEBUGCTL, DEBUGCTL_LBR), "without records there is no LBR bit");
    is_u64(machine_read(&m, MSR_LBR_TOS), 0xbad, "no pointer");
    is_u64(machine_read(&m, MSR_PERF_CAPABILITIES) & 0x3f, 0, "format 0");
}

static void test_writes(void)
{
    static const struct {
        enum pmu_lbr_form form;
        uint32_t msr;
        uint64_t value;
        bool accepted;
    } writes[] = {
        {PMU_LBR_CORE, MSR_LBR_TOS, 1, false}, /* read-only there */
        {PMU_LBR_CORE, MSR_LBR_SELECT, 0, false},
        {PMU_LBR_CORE, MSR_CORE_LBR_FROM0 + 3, USER, true},
        {PMU_LBR_CORE, MSR_CORE_LBR_FROM0 + 4, USER, false},
        {PMU_LBR_CORE, MSR_LBR_FROM0, USER, false},
        {PMU_LBR_SILVERMONT, MSR_CORE_LBR_TO0 + 7, KERNEL, true},
        {PMU_LBR_SILVERMONT, MSR_LBR_TOS, 8, false},
        {PMU_LBR_IVY_BRIDGE, MSR_LBR_TOS, 15, true},
        {PMU_LBR_IVY_BRIDGE, MSR_LBR_TOS, 16, false},
        {PMU_LBR_IVY_BRIDGE, MSR_LBR_SELECT, 0x1ff, true},
        {PMU_LBR_IVY_BRIDGE, MSR_LBR_SELECT, 0x200, false},
        {PMU_LBR_IVY_BRIDGE, MSR_LBR_TO0 + 16, USER, false},
        {PMU_LBR_SKYLAKE, MSR_LBR_SELECT, 0x3ff, true},
        {PMU_LBR_SKYLAKE, MSR_LBR_SELECT, 0x400, false},
        {PMU_LBR_SKYLAKE, MSR_LBR_TO0 + 31, KERNEL, true},
        {PMU_LBR_SKYLAKE, MSR_LBR_TO0 + 31, 1ull << 57, false},
        {PMU_LBR_SKYLAKE, MSR_LBR_INFO0 + 31, 0xe00000000000ffff, true},
        {PMU_LBR_SKYLAKE, MSR_LBR_INFO0 + 31, 0x10000, false},
        {PMU_LBR_SKYLAKE, MSR_DEBUGCTL, 0x1801, true},
        {PMU_LBR_SKYLAKE, MSR_DEBUGCTL, 2, false}, /* BTF */
        {PMU_LBR_SKYLAKE, MSR_ARCH_LBR_CTL, 0, false},
        {PMU_LBR_SKYLAKE, MSR_ARCH_LBR_DEPTH, 32, false},
        {PMU_LBR_ARCHITECTURAL, MSR_LBR_TOS, 0, false},
        {PMU_LBR_ARCHITECTURAL, MSR_LBR_SELECT, 0, false},
        {PMU_LBR_ARCHITECTURAL, MSR_LBR_FROM0, 0, false},
        {PMU_LBR_ARCHITECTURAL, MSR_ARCH_LBR_CTL, 0x7f000f, true},
        {PMU_LBR_ARCHITECTURAL, MSR_ARCH_LBR_CTL, 0x10, false},
        {PMU_LBR_ARCHITECTURAL, MSR_ARCH_LBR_CTL, 1 << 23, false},
        {PMU_LBR_ARCHITECTURAL, MSR_ARCH_LBR_DEPTH, 16, true},
        {PMU_LBR_ARCHITECTURAL, MSR_ARCH_LBR_DEPTH, 24, false},
        {PMU_LBR_ARCHITECTURAL, MSR_ARCH_LBR_FROM0 + 31, KERNEL, true},
        {PMU_LBR_ARCHITECTURAL, MSR_ARCH_LBR_TO0, 1ull << 63, false},
        {PMU_LBR_ARCHITECTURAL, MSR_ARCH_LBR_INFO0, 0xff0000000000ffff, true},
        {PMU_LBR_ARCHITECTURAL, MSR_ARCH_LBR_INFO0, 1ull << 55, false},
    };

    for (unsigned i = 0; i < sizeof(writes) / sizeof(writes[0]); i++) {
        struct machine m;
        bool written;

        start(&m, writes[i].form);
        written = machine_write(&m, writes[i].msr, writes[i].value);
        is_u64(written, writes[i].accepted, "form %u: WRMSR %#x, %#" PRIx64, writes[i].form,
               writes[i].msr, writes[i].value);
        if (written)
            is_u64(machine_read(&m, writes[i].msr), writes[i].value, "reads back");
    }
}

static void test_pointer_is_written(void)
{
    struct machine m;

    start(&m, PMU_LBR_SKYLAKE);
    machine_write(&m, MSR_LBR_TOS, 30);
    branch(&m, PMU_LBR_REL_JMP, USER, USER + 8);
    branch(&m, PMU_LBR_REL_JMP, USER + 8, USER + 16);
    is_u64(machine_read(&m, MSR_LBR_FROM0 + 31), USER, "recording goes on behind the pointer");
    is_u64(machine_read(&m, MSR_LBR_FROM0), USER + 8, "and around the end");
    machine_write(&m, MSR_LBR_TO0, 77);
    is_record(&m, 0, USER + 8, 77, "a record can be written");
}

static void test_architectural(void)
{
    struct machine m;
    uint32_t registers[4];

    start(&m, PMU_LBR_ARCHITECTURAL);
    machine_write(&m, MSR_DEBUGCTL, DEBUGCTL_LBR | DEBUGCTL_FREEZE_LBRS_ON_PMI);
    is_u64(machine_read(&m, MSR_DEBUGCTL), DEBUGCTL_FREEZE_LBRS_ON_PMI, "DEBUGCTL.LBR is ignored");
    branch(&m, PMU_LBR_REL_CALL, USER, USER + 8);
    is_u64(machine_read(&m, MSR_ARCH_LBR_INFO0), 4ull << 56, "the kind of branch: direct call");
    deliver(&m, USER + 8, KERNEL, false);
    is_u64(machine_read(&m, MSR_ARCH_LBR_INFO0), 8ull << 56, "the kind of branch: other");
    is_u64(machine_read(&m, MSR_ARCH_LBR_FROM0 + 1), USER, "the older one has the number after it");
    machine_write(&m, MSR_ARCH_LBR_TO0 + 1, USER + 9);
    is_record(&m, 1, USER, USER + 9, "and is written by it");
    machine_write(&m, MSR_ARCH_LBR_DEPTH, 8);
    is_record(&m, 0, 0, 0, "a write of the depth clears all");
    is_u64(machine_read(&m, MSR_ARCH_LBR_CTL), ARCH_ALL, "but not LBR_CTL");
    is_u64(machine_read(&m, MSR_ARCH_LBR_FROM0 + 8), 0xbad, "there are no more");
    for (unsigned i = 0; i < 9; i++)
        branch(&m, PMU_LBR_REL_JMP, USER + 16 * i, USER + 16 * i + 8);
    is_record(&m, 7, USER + 16, USER + 24, "the oldest of 8");
    is_u64(machine_read(&m, MSR_PERF_CAPABILITIES) & 0x3f, 0x3f, "format 3FH");
    pmu_lbr_cpuid(PMU_LBR_ARCHITECTURAL, registers);
    ok(registers[0] == 0x8000000b && registers[1] == 7 && registers[2] == 4 && !registers[3],
       "CPUID.1CH: depths 8, 16, 32, linear addresses; all filters; kinds");
}

static void test_classify(void)
{
    static const struct {
        const char *what;
        uint8_t bytes[8];
        unsigned length;
        enum pmu_lbr_kind kind;
        bool to_next;
    } cases[] = {
        {"jz", {0x74, 5}, 2, PMU_LBR_JCC, false},
        {"jz to the next", {0x74, 0}, 2, PMU_LBR_JCC, true},
        {"loop to itself", {0xe2, 0xfe}, 2, PMU_LBR_JCC, false},
        {"jmp", {0xe9, 0, 0, 0, 0}, 5, PMU_LBR_REL_JMP, false},
        {"jmp rax", {0xff, 0xe0}, 2, PMU_LBR_IND_JMP, false},
        {"jmp [rax]", {0xff, 0x20}, 2, PMU_LBR_IND_JMP, false},
        {"call", {0xe8, 0, 0, 0, 0}, 5, PMU_LBR_REL_CALL, false},
        {"call r8", {0x41, 0xff, 0xd0}, 3, PMU_LBR_IND_CALL, false},
        {"ret 8", {0xc2, 8, 0}, 3, PMU_LBR_RETURN, false},
        {"far ret", {0x48, 0xcb}, 2, PMU_LBR_OTHER, false},
        {"far jmp [rax]", {0x48, 0xff, 0x28}, 3, PMU_LBR_OTHER, false},
        {"iretq", {0x48, 0xcf}, 2, PMU_LBR_OTHER, false},
        {"syscall", {0x0f, 0x05}, 2, PMU_LBR_OTHER, false},
        {"sysret", {0x48, 0x0f, 0x07}, 3, PMU_LBR_OTHER, false},
        {"int3, seen as it is delivered", {0xcc}, 1, PMU_LBR_NO_BRANCH, false},
        {"int 0x80", {0xcd, 0x80}, 2, PMU_LBR_NO_BRANCH, false},
        {"int1", {0xf1}, 1, PMU_LBR_NO_BRANCH, false},
        {"wrmsr", {0x0f, 0x30}, 2, PMU_LBR_NO_BRANCH, false},
        {"rep movsb", {0xf3, 0xa4}, 2, PMU_LBR_NO_BRANCH, false},
    };

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pmu_lbr_branch found = {0};
        bool is_branch = pmu_classify_for_lbr(cases[i].bytes, cases[i].length, 64, &found);

        ok(is_branch == (cases[i].kind != PMU_LBR_NO_BRANCH) && found.kind == cases[i].kind &&
               found.length == cases[i].length && found.to_next == cases[i].to_next,
           "%s", cases[i].what);
    }
}

static void test_reset(void)
{
    struct machine m;

    start(&m, PMU_LBR_SKYLAKE);
    branch(&m, PMU_LBR_REL_JMP, USER, USER + 8);
    machine_write(&m, MSR_LBR_SELECT, 4);
    ok(pmu_wanted_words(&m.pmu) & PMU_BRANCH_RECORDS, "enabled: code must be instrumented");
    pmu_reset(&m.pmu, &m.config, 0);
    machine_settle(&m);
    ok(!pmu_wanted_words(&m.pmu) && !m.words.following, "reset: nothing is recorded");
    is_u64(machine_read(&m, MSR_LBR_TOS) | machine_read(&m, MSR_LBR_FROM0 + 1) |
               machine_read(&m, MSR_LBR_SELECT),
           0, "reset: all registers are 0");
}

int main(void)
{
    test_formats();
    test_writes();
    test_pointer_is_written();
    test_architectural();
    test_classify();
    test_reset();
    return done();
}
