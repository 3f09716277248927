/* SPDX-License-Identifier: MIT */
/* The emulated last branch records of tools/qemu-pmu: hand-written traces of branches against what
 * the registers must show.
 */
#include "tests/host/pmu_machine.h"
#include "tests/host/tap.h"
#include "tools/qemu-pmu/pmu_classify.h"
#include "tools/qemu-pmu/pmu_follow.h"

#define KERNEL 0xffffffff80000000ull
#define USER 0x401000ull
#define ARCH_ALL 0x7f0007 /* LBR_CTL: enabled, both rings, all kinds */

/* --- a vCPU that branches -------------------------------------------------------------------- */

/* A machine of that form that records everything. */
static void start(struct machine *m, enum pmu_lbr_form form)
{
    machine_init(m, (struct pmu_config){.lbr = form});
    machine_write(m, form == PMU_LBR_ARCHITECTURAL ? MSR_ARCH_LBR_CTL : MSR_DEBUGCTL,
                  form == PMU_LBR_ARCHITECTURAL ? ARCH_ALL : DEBUGCTL_LBR);
}

static bool is_user(uint64_t address)
{
    return address < KERNEL;
}

static void arrive(struct machine *m, uint64_t at)
{
    pmu_arrive(&m->pmu, &m->words, (struct pmu_place){at, is_user(at)});
}

/* The branch instruction of 2 bytes at `from` starts, as the translated code notes it … */
static void begin(struct machine *m, enum pmu_lbr_kind kind, uint64_t from)
{
    m->words.branch = pmu_pack_branch(from, 2, kind);
}

/* … and leads to `to`. */
static void branch(struct machine *m, enum pmu_lbr_kind kind, uint64_t from, uint64_t to)
{
    begin(m, kind, from);
    arrive(m, to);
}

static void deliver(struct machine *m, uint64_t from, uint64_t to, bool debug)
{
    arrive(m, from);
    pmu_deliver(&m->pmu, &m->words, (struct pmu_place){from, is_user(from)},
                (struct pmu_place){to, is_user(to)}, debug);
}

/* As a guest reads the age-th newest. */
static struct pmu_lbr_record newest(struct machine *m, unsigned age)
{
    static const struct {
        uint32_t from, to;
    } blocks[PMU_LBR_FORMS] = {
        [PMU_LBR_CORE] = {MSR_CORE_LBR_FROM0, MSR_CORE_LBR_TO0},
        [PMU_LBR_SILVERMONT] = {MSR_CORE_LBR_FROM0, MSR_CORE_LBR_TO0},
        [PMU_LBR_IVY_BRIDGE] = {MSR_LBR_FROM0, MSR_LBR_TO0},
        [PMU_LBR_SKYLAKE] = {MSR_LBR_FROM0, MSR_LBR_TO0},
        [PMU_LBR_ARCHITECTURAL] = {MSR_ARCH_LBR_FROM0, MSR_ARCH_LBR_TO0},
    };
    enum pmu_lbr_form form = m->config.lbr;
    uint32_t index = age;

    if (form != PMU_LBR_ARCHITECTURAL)
        index = (uint32_t)(machine_read(m, MSR_LBR_TOS) - age) % m->pmu.lbr.depth;
    return (struct pmu_lbr_record){
        .from = machine_read(m, blocks[form].from + index),
        .to = machine_read(m, blocks[form].to + index),
    };
}

static void is_record(struct machine *m, unsigned age, uint64_t from, uint64_t to, const char *what)
{
    struct pmu_lbr_record record = newest(m, age);

    is_u64(record.from, from, "%s: from", what);
    is_u64(record.to, to, "%s: to", what);
}

/* --- the stack ------------------------------------------------------------------------------- */

static void test_wraparound(enum pmu_lbr_form form, unsigned depth)
{
    struct machine m;
    unsigned wrong = 0;

    start(&m, form);
    is_u64(m.pmu.lbr.depth, depth, "%u records", depth);
    for (unsigned count = 1; count <= 3 * depth + 1; count++) {
        branch(&m, PMU_LBR_REL_JMP, USER + 16 * count, USER + 16 * count + 8);
        for (unsigned age = 0; age < depth; age++) {
            struct pmu_lbr_record record = newest(&m, age);
            uint64_t from = age < count ? USER + 16 * (count - age) : 0;

            wrong += record.from != from || record.to != (from ? from + 8 : 0);
        }
        if (form != PMU_LBR_ARCHITECTURAL)
            wrong += machine_read(&m, MSR_LBR_TOS) != count % depth;
    }
    is_u64(wrong, 0, "%u records: the newest ones after each of %u branches", depth, 3 * depth + 1);
}

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

/* --- what is a record ------------------------------------------------------------------------ */

static void test_taken(void)
{
    struct machine m;

    start(&m, PMU_LBR_SKYLAKE);
    branch(&m, PMU_LBR_JCC, USER, USER + 2);
    is_record(&m, 0, 0, 0, "a conditional branch that falls through is none");
    branch(&m, PMU_LBR_JCC, USER, USER + 3);
    is_record(&m, 0, USER, USER + 3, "a taken one is");
    branch(&m, PMU_LBR_JCC, USER + 8, USER + 8);
    is_record(&m, 0, USER + 8, USER + 8, "one to itself is");
    m.words.branch = pmu_pack_branch(USER + 16, 0, PMU_LBR_JCC);
    arrive(&m, USER + 18);
    is_record(&m, 0, USER + 16, USER + 18, "one to the next instruction, if it is taken");
    branch(&m, PMU_LBR_REL_JMP, USER + 32, USER + 32);
    is_record(&m, 0, USER + 32, USER + 32, "jmp to itself");
    branch(&m, PMU_LBR_REL_CALL, USER + 64, USER + 66);
    is_record(&m, 0, USER + 64, USER + 66, "call of the next instruction");
    arrive(&m, USER + 80);
    is_record(&m, 0, USER + 64, USER + 66, "a block without a branch before it is none");
}

static void test_faults(void)
{
    struct machine m;

    start(&m, PMU_LBR_SKYLAKE);
    begin(&m, PMU_LBR_IND_CALL, USER);
    deliver(&m, USER, KERNEL, false);
    is_record(&m, 0, USER, KERNEL, "a call that faults: from it to the handler");
    is_record(&m, 1, 0, 0, "and nothing else");

    begin(&m, PMU_LBR_IND_CALL, USER + 16);
    deliver(&m, 0x123456, KERNEL, false);
    is_record(&m, 1, USER + 16, 0x123456, "a jump into space: the branch is recorded");
    is_record(&m, 0, 0x123456, KERNEL, "then the fault there");

    begin(&m, PMU_LBR_JCC, USER + 32);
    deliver(&m, USER + 34, KERNEL + 16, false);
    is_record(&m, 0, USER + 34, KERNEL + 16, "an interrupt after a branch not taken");
    is_record(&m, 1, 0x123456, KERNEL, "which is not recorded");

    branch(&m, PMU_LBR_OTHER, KERNEL + 20, USER + 34);
    is_record(&m, 0, KERNEL + 20, USER + 34, "iret");
    begin(&m, PMU_LBR_REL_CALL, USER + 40);
    arrive(&m, USER + 40);
    is_record(&m, 0, KERNEL + 20, USER + 34, "a call that QEMU starts anew is not taken");
}

static void test_debug_exception(enum pmu_lbr_form form)
{
    struct machine m;
    uint32_t control = form == PMU_LBR_ARCHITECTURAL ? MSR_ARCH_LBR_CTL : MSR_DEBUGCTL;
    uint64_t on;

    start(&m, form);
    on = machine_read(&m, control);
    begin(&m, PMU_LBR_REL_JMP, USER);
    deliver(&m, USER + 100, KERNEL, true);
    is_record(&m, 0, USER, USER + 100, "#DB: the branch before it is recorded, itself not");
    is_u64(machine_read(&m, control), on & ~1ull, "#DB clears the enable bit alone");
    branch(&m, PMU_LBR_REL_JMP, KERNEL, KERNEL + 8);
    is_record(&m, 0, USER, USER + 100, "nothing is recorded after it");
    machine_write(&m, control, on);
    arrive(&m, KERNEL + 16);
    is_record(&m, 0, USER, USER + 100, "enabled again: not what began before");
    branch(&m, PMU_LBR_REL_JMP, KERNEL + 16, KERNEL + 32);
    is_record(&m, 0, KERNEL + 16, KERNEL + 32, "but what comes now");
}

/* --- filters --------------------------------------------------------------------------------- */

/* One branch of each kind in each ring; kinds and rings that are kept, as bits. */
static unsigned kept(struct machine *m)
{
    static uint64_t fresh; /* addresses of no earlier call */
    unsigned set = 0;

    fresh += 0x10000;
    for (unsigned kind = PMU_LBR_JCC; kind < PMU_LBR_KINDS; kind++)
        for (unsigned user = 0; user < 2; user++) {
            uint64_t from = (user ? USER : KERNEL) + fresh + 64 * kind;

            branch(m, kind, from, from + 32);
            set |= (newest(m, 0).from == from) << (2 * kind + user);
        }
    return set;
}

#define BOTH(kind) (3u << 2 * PMU_LBR_##kind)
#define EVERYTHING (((1u << 2 * PMU_LBR_KINDS) - 1) & ~3u)
#define USERS (0xaaaaaaaau & EVERYTHING)

static void test_filters(void)
{
    static const struct {
        const char *what;
        uint64_t select, control;
        unsigned kinds; /* LBR_SELECT leaves them out, LBR_CTL keeps them */
    } cases[] = {
        {"conditional", 1 << 2, 1 << 16, BOTH(JCC)},
        {"calls", 1 << 3, 1 << 19, BOTH(REL_CALL)},
        {"calls by pointer", 1 << 4, 1 << 20, BOTH(IND_CALL)},
        {"returns", 1 << 5, 1 << 21, BOTH(RETURN)},
        {"indirect jumps", 1 << 6, 1 << 18, BOTH(IND_JMP)},
        {"jumps", 1 << 7, 1 << 17, BOTH(REL_JMP)},
        {"far branches", 1 << 8, 1 << 22, BOTH(OTHER)},
    };
    struct machine m, a;

    start(&m, PMU_LBR_SKYLAKE);
    start(&a, PMU_LBR_ARCHITECTURAL);
    is_u64(kept(&m), EVERYTHING, "without a filter everything is recorded");
    is_u64(kept(&a), EVERYTHING, "with all of LBR_CTL's bits, too");
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        machine_write(&m, MSR_LBR_SELECT, cases[i].select);
        is_u64(kept(&m), EVERYTHING & ~cases[i].kinds, "LBR_SELECT: no %s", cases[i].what);
        machine_write(&a, MSR_ARCH_LBR_CTL, cases[i].control | 7);
        is_u64(kept(&a), cases[i].kinds, "LBR_CTL: %s", cases[i].what);
    }
    machine_write(&m, MSR_LBR_SELECT, LBR_SELECT_NOT_KERNEL);
    is_u64(kept(&m), USERS, "LBR_SELECT: not what ends in ring 0");
    branch(&m, PMU_LBR_OTHER, KERNEL + 0x1000, USER + 0x1000);
    is_record(&m, 0, KERNEL + 0x1000, USER + 0x1000, "what ends in ring 3 is kept");
    deliver(&m, USER + 0x2000, KERNEL, false);
    is_record(&m, 0, KERNEL + 0x1000, USER + 0x1000, "an exception ends in ring 0");
    machine_write(&m, MSR_LBR_SELECT, LBR_SELECT_NOT_USER);
    is_u64(kept(&m), EVERYTHING & ~USERS, "LBR_SELECT: not what ends in ring 3");
    machine_write(&a, MSR_ARCH_LBR_CTL, ARCH_ALL & ~LBR_CTL_KERNEL);
    is_u64(kept(&a), USERS, "LBR_CTL: ring 3");
    machine_write(&a, MSR_ARCH_LBR_CTL, ARCH_ALL & ~LBR_CTL_USER);
    is_u64(kept(&a), EVERYTHING & ~USERS, "LBR_CTL: ring 0");
}

static void test_call_stack(enum pmu_lbr_form form)
{
    struct machine m;

    start(&m, form);
    if (form == PMU_LBR_ARCHITECTURAL)
        machine_write(&m, MSR_ARCH_LBR_CTL, 0x380000 | LBR_CTL_CALL_STACK | 7);
    else
        machine_write(&m, MSR_LBR_SELECT, LBR_SELECT_CALL_STACK | 0x1c4);
    branch(&m, PMU_LBR_REL_CALL, USER, USER + 0x100);
    branch(&m, PMU_LBR_IND_CALL, USER + 0x110, USER + 0x200);
    branch(&m, PMU_LBR_JCC, USER + 0x210, USER + 0x220);
    branch(&m, PMU_LBR_RETURN, USER + 0x230, USER + 0x112);
    is_record(&m, 0, USER, USER + 0x100, "call stack: a return takes its call away");
    branch(&m, PMU_LBR_REL_CALL, USER + 0x120, USER + 0x300);
    is_record(&m, 0, USER + 0x120, USER + 0x300, "call stack: the innermost call");
    is_record(&m, 1, USER, USER + 0x100, "call stack: and who called that");
    is_record(&m, 2, 0, 0, "call stack: no more");
}

/* --- registers ------------------------------------------------------------------------------- */

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

/* --- freezing -------------------------------------------------------------------------------- */

/* The branch at USER overflows a counter when it starts. */
static void overflow(struct machine *m, enum pmu_lbr_form form, unsigned version, bool freeze)
{
    machine_init(m, (struct pmu_config){.lbr = form, .version = version});
    machine_start(m, 0, CONDITIONAL | COUNT_USER | INTERRUPT, 1);
    machine_write(m, MSR_DEBUGCTL, DEBUGCTL_LBR | (freeze ? DEBUGCTL_FREEZE_LBRS_ON_PMI : 0));
    if (form == PMU_LBR_ARCHITECTURAL)
        machine_write(m, MSR_ARCH_LBR_CTL, ARCH_ALL);
    begin(m, PMU_LBR_JCC, USER);
    machine_event(m, PMU_CONDITIONAL, PMU_USER);
    deliver(m, USER + 64, KERNEL, false);
    branch(m, PMU_LBR_REL_JMP, KERNEL, KERNEL + 8);
}

static void test_freeze(void)
{
    struct machine m;

    overflow(&m, PMU_LBR_SKYLAKE, 4, false);
    is_u64(m.interrupts, 1, "the counter overflowed");
    is_record(&m, 0, KERNEL, KERNEL + 8, "not asked to freeze: it goes on");
    is_record(&m, 1, USER + 64, KERNEL, "with the interrupt");

    overflow(&m, PMU_LBR_SKYLAKE, 4, true);
    is_record(&m, 0, USER, USER + 64, "frozen: the branch that overflowed is the newest");
    is_u64(machine_read(&m, MSR_DEBUGCTL), 0x801, "version 4: DEBUGCTL stays");
    is_u64(machine_read(&m, MSR_PERF_GLOBAL_STATUS) >> 58 & 1, 1, "version 4: LBR_FRZ");
    machine_write(&m, MSR_PERF_GLOBAL_OVF_CTRL, GLOBAL_STATUS_LBR_FROZEN);
    branch(&m, PMU_LBR_REL_JMP, KERNEL + 16, KERNEL + 32);
    is_record(&m, 0, KERNEL + 16, KERNEL + 32, "until it is reset");

    overflow(&m, PMU_LBR_ARCHITECTURAL, 4, true);
    is_record(&m, 0, USER, USER + 64, "the architectural form freezes, too");
    is_u64(machine_read(&m, MSR_ARCH_LBR_CTL), ARCH_ALL, "and LBR_CTL stays");

    overflow(&m, PMU_LBR_IVY_BRIDGE, 3, true);
    is_record(&m, 0, USER, USER + 64, "version 3 freezes");
    is_u64(machine_read(&m, MSR_DEBUGCTL), DEBUGCTL_FREEZE_LBRS_ON_PMI, "by clearing LBR");
}

/* --- instructions ---------------------------------------------------------------------------- */

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
    test_wraparound(PMU_LBR_CORE, 4);
    test_wraparound(PMU_LBR_SILVERMONT, 8);
    test_wraparound(PMU_LBR_IVY_BRIDGE, 16);
    test_wraparound(PMU_LBR_SKYLAKE, 32);
    test_wraparound(PMU_LBR_ARCHITECTURAL, 32);
    test_formats();
    test_taken();
    test_faults();
    test_debug_exception(PMU_LBR_SKYLAKE);
    test_debug_exception(PMU_LBR_ARCHITECTURAL);
    test_filters();
    test_call_stack(PMU_LBR_SKYLAKE);
    test_call_stack(PMU_LBR_ARCHITECTURAL);
    test_writes();
    test_pointer_is_written();
    test_architectural();
    test_freeze();
    test_classify();
    test_reset();
    return done();
}
