/* SPDX-License-Identifier: MIT */
/* Which branch records a machine has, how their registers are read, what filters let through. */
#include "arch/x86/lbr.h"
#include "arch/x86/lbr_stub.h"
#include "arch/x86/msr.h"
#include "tests/host/tap.h"

/* --- discovery --- */

static uint32_t first_unreadable[4]; /* FROM of 0x40, of 0x680; all others are readable */

static bool all_readable(uint32_t msr)
{
    (void)msr;
    return true;
}

static bool none_readable(uint32_t msr)
{
    (void)msr;
    return false;
}

/* An emulated stack of so many entries at 0x680. */
static bool readable_below(uint32_t msr)
{
    if (msr >= MSR_LBR_FROM0 && msr < MSR_LBR_FROM0 + 32)
        return msr < first_unreadable[1];
    if (msr >= MSR_LBR_CORE_FROM0 && msr < MSR_LBR_CORE_FROM0 + 8)
        return msr < first_unreadable[0];
    return true;
}

static void test_intel_models(void)
{
    static const struct {
        const char *name;
        uint32_t model, depth, from;
        bool selects;
    } cases[] = {
        {"Core 2", 0x17, 4, 0x40, false},        {"Bonnell", 0x1c, 8, 0x40, false},
        {"Silvermont", 0x37, 8, 0x40, true},     {"Knights Landing", 0x57, 8, 0x680, true},
        {"Nehalem", 0x1a, 16, 0x680, true},      {"Haswell", 0x3c, 16, 0x680, true},
        {"Broadwell-DE", 0x56, 16, 0x680, true}, {"Goldmont", 0x5c, 32, 0x680, true},
        {"Skylake", 0x5e, 32, 0x680, true},      {"Ice Lake server", 0x6a, 32, 0x680, true},
        {"Rocket Lake", 0xa7, 32, 0x680, true},  {"one not in the table", 0xee, 32, 0x680, true},
    };

    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lbr_probe probe = {.intel = true,
                                  .family = 6,
                                  .model = cases[i].model,
                                  .has_capabilities = true,
                                  .capabilities = LBR_FORMAT_FLAGS,
                                  .readable = all_readable};
        struct lbr_machine machine;
        lbr_models_find(&probe, &machine);
        ok(machine.kind == LBR_LEGACY && machine.depth == cases[i].depth &&
               machine.from == cases[i].from && (machine.select != 0) == cases[i].selects &&
               machine.top == MSR_LBR_TOS && machine.control == MSR_DEBUGCTL,
           "%s: %u entries at 0x%x", cases[i].name, cases[i].depth, cases[i].from);
    }
}

static void test_info(void)
{
    struct lbr_probe probe = {.intel = true,
                              .family = 6,
                              .model = 0x5e,
                              .has_capabilities = true,
                              .capabilities = LBR_FORMAT_INFO,
                              .readable = all_readable};
    struct lbr_machine machine;

    lbr_models_find(&probe, &machine);
    ok(machine.info == MSR_LBR_INFO0 && machine.format == LBR_FORMAT_INFO, "Skylake has INFO");
    probe.capabilities = LBR_FORMAT_FLAGS_TSX;
    lbr_models_find(&probe, &machine);
    ok(machine.info == 0, "not where the format says otherwise, as a hypervisor may");
    probe.model = 0x57;
    probe.capabilities = LBR_FORMAT_LIP;
    lbr_models_find(&probe, &machine);
    is_u64(machine.format, LBR_FORMAT_FLAGS, "Knights Landing has flags that it does not name");
}

static void test_emulated(void)
{
    struct lbr_probe probe = {.intel = true,
                              .emulated = true,
                              .family = 6,
                              .model = 0x3c,
                              .has_capabilities = true,
                              .capabilities = LBR_FORMAT_INFO,
                              .readable = readable_below};
    struct lbr_machine machine;

    for (uint32_t depth = 8; depth <= 32; depth *= 2) {
        first_unreadable[1] = MSR_LBR_FROM0 + depth;
        lbr_models_find(&probe, &machine);
        is_u64(machine.depth, depth, "emulated: as many as can be read, not the model's");
    }
    first_unreadable[1] = MSR_LBR_FROM0;
    first_unreadable[0] = MSR_LBR_CORE_FROM0 + 4;
    probe.capabilities = LBR_FORMAT_LIP;
    lbr_models_find(&probe, &machine);
    ok(machine.depth == 4 && machine.from == MSR_LBR_CORE_FROM0 && !machine.select,
       "emulated: 4 at 0x40");
    probe.capabilities = 0;
    lbr_models_find(&probe, &machine);
    ok(machine.kind == LBR_NONE && strstr(machine.reason, "PERF_CAPABILITIES"),
       "emulated, no format: none, and why");
}

static void test_architectural(void)
{
    struct lbr_probe probe = {.intel = true,
                              .family = 6,
                              .model = 0x97,
                              .architectural = true,
                              .leaf_1c = 1 << 0 | 1 << 1 | 1 << 3,
                              .readable = all_readable};
    struct lbr_machine machine;

    lbr_models_find(&probe, &machine);
    ok(machine.kind == LBR_ARCH && machine.depth == 32 && machine.top == 0 &&
           machine.from == 0x1500 && machine.to == 0x1600 && machine.info == 0x1200,
       "architectural: the largest depth");
    probe.leaf_1c = 1 << 1;
    lbr_models_find(&probe, &machine);
    is_u64(machine.depth, 16, "architectural: 16 only");
    probe.leaf_1c = 1 << 7;
    lbr_models_find(&probe, &machine);
    ok(machine.kind == LBR_NONE && machine.reason, "architectural: only more than 32: refused");
}

static void test_amd(void)
{
    struct lbr_probe probe = {.amd = true, .family = 0x19, .readable = all_readable};
    struct lbr_machine machine;

    lbr_models_find(&probe, &machine);
    ok(machine.kind == LBR_AMD_PAIR && machine.depth == 2 && machine.from == 0x1db &&
           machine.to == 0x1dc && machine.stride == 2 && !machine.select,
       "AMD without LbrExtV2: the pairs");
    probe.leaf_22a = 1 << 1;
    probe.leaf_22b = 16 << 4;
    lbr_models_find(&probe, &machine);
    ok(machine.kind == LBR_AMD_STACK && machine.depth == 16 && machine.from == 0xc0010300 &&
           machine.to == 0xc0010301 && machine.stride == 2,
       "AMD LbrExtV2: 16 entries");
    probe.leaf_22b = 0;
    lbr_models_find(&probe, &machine);
    ok(machine.kind == LBR_NONE && machine.reason, "AMD LbrExtV2 without entries: refused");
}

static void test_refused(void)
{
    struct lbr_probe probe = {.intel = true, .family = 6, .model = 0x5e, .readable = none_readable};
    struct lbr_machine machine;

    lbr_models_find(&probe, &machine);
    ok(machine.kind == LBR_NONE && machine.reason, "registers that are a #GP: refused");
    probe.model = 0xee;
    lbr_models_find(&probe, &machine);
    ok(machine.kind == LBR_NONE && machine.reason, "an unknown model without registers: refused");
    probe.family = 15;
    probe.readable = all_readable;
    lbr_models_find(&probe, &machine);
    ok(machine.kind == LBR_NONE && machine.reason, "another family: refused");
    probe.intel = false;
    lbr_models_find(&probe, &machine);
    ok(machine.kind == LBR_NONE && machine.reason, "another vendor: refused");
}

/* --- filters --- */

static void test_filters(void)
{
    struct lbr_machine legacy = {.kind = LBR_LEGACY, .select = MSR_LBR_SELECT};
    struct lbr_machine arch = {.kind = LBR_ARCH, .select = MSR_ARCH_LBR_CTL};
    struct lbr_machine none = {.kind = LBR_LEGACY};

    is_u64(lbr_models_select(&legacy, 0), 0, "no filter keeps nothing out");
    is_u64(lbr_models_select(&legacy, LBR_FILTER_USER), 0x001, "user");
    is_u64(lbr_models_select(&legacy, LBR_FILTER_KERNEL), 0x002, "kernel");
    is_u64(lbr_models_select(&legacy, LBR_FILTER_CALLS), 0x0e4, "calls");
    is_u64(lbr_models_select(&legacy, LBR_FILTER_RETURNS | LBR_FILTER_JUMPS), 0x018,
           "returns, jumps");
    is_u64(lbr_models_select(&arch, 0), 0x7f0006, "architectural: all");
    is_u64(lbr_models_select(&arch, LBR_FILTER_KERNEL | LBR_FILTER_CALLS), 0x580002,
           "architectural: kernel calls");
    is_u64(lbr_models_select(&none, LBR_FILTER_CALLS), 0, "no register, no bits");
}

/* --- records --- */

static struct lbr_history decode(struct lbr_machine machine, const struct lbr_slot *slot)
{
    struct lbr_history history = {0};

    lbr_records_decode(&machine, slot, &history);
    return history;
}

static void test_order(void)
{
    struct lbr_machine ring = {
        .kind = LBR_LEGACY, .format = LBR_FORMAT_LIP, .depth = 4, .top = MSR_LBR_TOS};
    struct lbr_slot slot = {.top = 1, .rip = 0x30, .stub = 0x9000};
    struct lbr_history history;

    for (uint64_t i = 0; i < 4; i++) {
        slot.entries[i].from = 0x10 * (i + 2);
        slot.entries[i].to = 0x1000 + i;
    }
    history = decode(ring, &slot);
    ok(history.count == 4 && history.records[0].to == 0x1001 && history.records[1].to == 0x1000 &&
           history.records[2].to == 0x1003 && history.records[3].to == 0x1002,
       "a ring is read down from its top");
    slot.top = 0;
    history = decode(ring, &slot);
    is_u64(history.records[0].to, 0x1000, "a top of 0 is one like any other");
    slot.entries[2].from = slot.entries[2].to = 0;
    history = decode(ring, &slot);
    is_u64(history.count, 3, "an entry never written is left out");
    ring.kind = LBR_ARCH;
    ring.top = 0;
    history = decode(ring, &slot);
    is_u64(history.records[2].to, 0x1003, "without a top entry 0 is the newest");
    memset(slot.entries, 0, sizeof slot.entries);
    history = decode(ring, &slot);
    ok(history.count == 0 && history.missing, "no entries: no history, and it says so");
}

static void test_own_record(void)
{
    struct lbr_machine machine = {.kind = LBR_ARCH, .format = LBR_FORMAT_ARCH, .depth = 2};
    struct lbr_slot slot = {.rip = 0x400123, .stub = 0x9000};
    struct lbr_history history;

    slot.entries[0].from = 0x400123;
    slot.entries[0].to = 0x9000;
    slot.entries[1].from = 0x400100;
    slot.entries[1].to = 0x400120;
    history = decode(machine, &slot);
    ok(!history.missing && history.count == 1 && history.records[0].to == 0x400120,
       "the exception's own record is dropped");
    slot.entries[0].from = 0x400122;
    ok(!decode(machine, &slot).missing, "a trap's comes from the instruction before");
    slot.entries[0].from = 0x400000;
    ok(decode(machine, &slot).missing, "one from elsewhere is an NMI's return: damaged");
    slot.entries[0].from = 0x400123;
    slot.nmis_after = 1;
    ok(decode(machine, &slot).missing, "an NMI while it was read: damaged");
}

static void test_flags(void)
{
    struct lbr_slot slot = {0};
    struct lbr_machine machine = {.kind = LBR_LEGACY, .depth = 1, .tsx = true};
    struct lbr_history history;

    slot.entries[0].from = 0x8000ffff80001234ull | 7ull << 61;
    slot.entries[0].to = 0xffffffff80005678ull;
    machine.format = LBR_FORMAT_FLAGS_TSX;
    history = decode(machine, &slot);
    ok(history.records[0].flags == (LBR_MISPREDICTED | LBR_IN_TX | LBR_ABORT) &&
           history.records[0].from == 0xffffffff80001234ull &&
           history.records[0].to == 0xffffffff80005678ull,
       "flags in FROM do not change the address");
    machine.tsx = false;
    is_u64(decode(machine, &slot).records[0].flags, LBR_MISPREDICTED, "without TSX only the first");
    machine.format = LBR_FORMAT_TIME;
    slot.entries[0].to = 0x0123ffff80005678ull;
    history = decode(machine, &slot);
    ok(history.records[0].cycles == 0x123 && history.records[0].to == 0xffffffff80005678ull,
       "cycles in TO");
    machine.format = LBR_FORMAT_INFO;
    slot.entries[0].info = 1ull << 63 | 42;
    history = decode(machine, &slot);
    ok(history.records[0].cycles == 42 &&
           history.records[0].flags == (LBR_MISPREDICTED | LBR_HAS_CYCLES),
       "INFO");
    machine.format = LBR_FORMAT_ARCH;
    is_u64(decode(machine, &slot).records[0].flags, LBR_MISPREDICTED, "cycles that are not valid");
    machine = (struct lbr_machine){.kind = LBR_AMD_STACK, .format = LBR_FORMAT_AMD, .depth = 1};
    slot.entries[0].to = 0x401000;
    is_u64(decode(machine, &slot).count, 0, "AMD: an entry that is not valid");
    slot.entries[0].to |= AMD_LBR_TO_VALID;
    is_u64(decode(machine, &slot).count, 1, "AMD: one that is");
}

static void test_pair(void)
{
    struct lbr_machine machine = {.kind = LBR_AMD_PAIR, .format = LBR_FORMAT_PLAIN, .depth = 2};
    struct lbr_slot slot = {.rip = 0x400123, .stub = 0x9000};

    for (int i = 0; i < 2; i++) {
        slot.entries[i].from = 0x400100;
        slot.entries[i].to = 0x400120;
    }
    is_u64(decode(machine, &slot).count, 1, "AMD's pairs, the same branch twice: once");
    slot.entries[0].to = 0x9000;
    ok(decode(machine, &slot).count == 1 && decode(machine, &slot).records[0].to == 0x400120,
       "AMD's pairs: the exception, and the branch before it");
}

int main(void)
{
    test_intel_models();
    test_info();
    test_emulated();
    test_architectural();
    test_amd();
    test_refused();
    test_filters();
    test_order();
    test_own_record();
    test_flags();
    test_pair();
    return done();
}
