/* SPDX-License-Identifier: MIT */
/* The emulated last branch records of tools/qemu-pmu: hand-written traces of branches against the
 * records that they must leave.
 */
#include "tests/host/lbr_machine.h"

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

int main(void)
{
    test_wraparound(PMU_LBR_CORE, 4);
    test_wraparound(PMU_LBR_SILVERMONT, 8);
    test_wraparound(PMU_LBR_IVY_BRIDGE, 16);
    test_wraparound(PMU_LBR_SKYLAKE, 32);
    test_wraparound(PMU_LBR_ARCHITECTURAL, 32);
    test_taken();
    test_faults();
    test_debug_exception(PMU_LBR_SKYLAKE);
    test_debug_exception(PMU_LBR_ARCHITECTURAL);
    test_filters();
    test_call_stack(PMU_LBR_SKYLAKE);
    test_call_stack(PMU_LBR_ARCHITECTURAL);
    test_freeze();
    return done();
}
