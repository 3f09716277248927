/* SPDX-License-Identifier: MIT */
/* The table of machines with last-branch records, and their filters. Pure: tested on the host.
 *
 * Families and models: Intel SDM vol. 4, table 2-1. Depths and MSRs: Intel SDM vol. 3, "Last branch
 * records", the sections of the microarchitectures and table "LBR stack size and TOS pointer
 * range"; architectural LBR: the chapter of that name. AMD: APM vol. 2, 13.1.1, "Last branch stack"
 * and "Control-transfer recording MSRs"; CPUID 8000_0022H: APM vol. 3, appendix E.
 */
#include "arch/x86/lbr.h"
#include "arch/x86/msr.h"

struct intel_model {
    const char *name;
    uint32_t depth, from, to, info, select;
    uint8_t models[26]; /* of family 6; 0 ends the list */
};

static const struct intel_model intel_family_6[] = {
    {"Core 2", 4, MSR_LBR_CORE_FROM0, MSR_LBR_CORE_TO0, 0, 0, {0x0f, 0x16, 0x17, 0x1d}},
    {"Bonnell Atom", 8, MSR_LBR_CORE_FROM0, MSR_LBR_CORE_TO0, 0, 0, {0x1c, 0x26, 0x27, 0x35, 0x36}},
    {"Silvermont",
     8,
     MSR_LBR_CORE_FROM0,
     MSR_LBR_CORE_TO0,
     0,
     MSR_LBR_SELECT,
     {0x37, 0x4a, 0x4c, 0x4d, 0x5a, 0x5d}},
    {"Knights Landing", 8, MSR_LBR_FROM0, MSR_LBR_TO0, 0, MSR_LBR_SELECT, {0x57, 0x85}},
    {"Nehalem to Broadwell",
     16,
     MSR_LBR_FROM0,
     MSR_LBR_TO0,
     0,
     MSR_LBR_SELECT,
     {0x1a, 0x1e, 0x1f, 0x2e, 0x25, 0x2c, 0x2f, 0x2a, 0x2d, 0x3a, 0x3e, 0x3c, 0x3f, 0x45, 0x46,
      0x3d, 0x47, 0x4f, 0x56}},
    {"Goldmont", 32, MSR_LBR_FROM0, MSR_LBR_TO0, 0, MSR_LBR_SELECT, {0x5c, 0x5f}},
    {"Goldmont Plus, Tremont",
     32,
     MSR_LBR_FROM0,
     MSR_LBR_TO0,
     MSR_LBR_INFO0,
     MSR_LBR_SELECT,
     {0x7a, 0x86, 0x96, 0x9c}},
    {"Skylake to Rocket Lake",
     32,
     MSR_LBR_FROM0,
     MSR_LBR_TO0,
     MSR_LBR_INFO0,
     MSR_LBR_SELECT,
     {0x4e, 0x5e, 0x55, 0x8e, 0x9e, 0xa5, 0xa6, 0x66, 0x7d, 0x7e, 0x6a, 0x6c, 0x8c, 0x8d, 0xa7}},
};

#define MODEL_KNIGHTS_LANDING 0x57
#define MODEL_KNIGHTS_MILL 0x85

static void refuse(struct lbr_machine *out, const char *reason)
{
    *out = (struct lbr_machine){.kind = LBR_NONE, .reason = reason};
}

/* --- Intel --- */

/* A depth is some of the values that bits 7:0 name: 8 * (n + 1). The largest is taken. */
static void find_architectural(const struct lbr_probe *probe, struct lbr_machine *out)
{
    uint32_t depth = 0;

    for (uint32_t bit = 0; bit < 8; bit++)
        if (probe->leaf_1c >> bit & 1 && 8 * (bit + 1) <= LBR_MAX_DEPTH)
            depth = 8 * (bit + 1);
    if (depth == 0) {
        refuse(out, "CPUID.1CH names no depth of up to 32");
        return;
    }
    *out = (struct lbr_machine){
        .kind = LBR_ARCH,
        .name = "architectural LBR",
        .format = LBR_FORMAT_ARCH,
        .depth = depth,
        .from = MSR_ARCH_LBR_FROM0,
        .to = MSR_ARCH_LBR_TO0,
        .info = MSR_ARCH_LBR_INFO0,
        .stride = 1,
        .control = MSR_ARCH_LBR_CTL,
        .control_on = ARCH_LBR_CTL_ENABLE,
        .select = MSR_ARCH_LBR_CTL,
    };
}

static const struct intel_model *find_model(uint32_t number)
{
    const struct intel_model *end =
        intel_family_6 + sizeof(intel_family_6) / sizeof(intel_family_6[0]);

    for (const struct intel_model *row = intel_family_6; row < end; row++)
        for (const uint8_t *model = row->models; *model; model++)
            if (*model == number)
                return row;
    return NULL;
}

/* A CPU that the table does not know, or that an emulator made up: as many entries as can be read.
 */
static const struct intel_model *guess_model(const struct lbr_probe *probe)
{
    static const struct intel_model guesses[] = {
        {"unknown Intel", 32, MSR_LBR_FROM0, MSR_LBR_TO0, MSR_LBR_INFO0, MSR_LBR_SELECT, {0}},
        {"unknown Intel", 16, MSR_LBR_FROM0, MSR_LBR_TO0, MSR_LBR_INFO0, MSR_LBR_SELECT, {0}},
        {"unknown Intel", 8, MSR_LBR_FROM0, MSR_LBR_TO0, MSR_LBR_INFO0, MSR_LBR_SELECT, {0}},
        {"unknown Intel", 8, MSR_LBR_CORE_FROM0, MSR_LBR_CORE_TO0, 0, MSR_LBR_SELECT, {0}},
        {"unknown Intel", 4, MSR_LBR_CORE_FROM0, MSR_LBR_CORE_TO0, 0, 0, {0}},
    };

    for (size_t i = 0; i < sizeof(guesses) / sizeof(guesses[0]); i++)
        if (probe->readable(guesses[i].from + guesses[i].depth - 1))
            return &guesses[i];
    return NULL;
}

static bool all_readable(const struct lbr_probe *probe, const struct lbr_machine *machine)
{
    uint32_t last = (machine->depth - 1) * machine->stride;

    return probe->readable(machine->from) && probe->readable(machine->to) &&
           probe->readable(machine->from + last) && probe->readable(machine->to + last) &&
           (!machine->info || probe->readable(machine->info + last)) &&
           (!machine->top || probe->readable(machine->top)) &&
           (!machine->select || probe->readable(machine->select));
}

static enum lbr_format legacy_format(const struct lbr_probe *probe)
{
    uint64_t format = probe->has_capabilities ? probe->capabilities & PERF_CAPABILITIES_LBR_FORMAT
                                              : (uint64_t)LBR_FORMAT_LIP;

    /* These say LIP, and have a flag all the same. */
    if (probe->model == MODEL_KNIGHTS_LANDING || probe->model == MODEL_KNIGHTS_MILL)
        return LBR_FORMAT_FLAGS;
    return format <= LBR_FORMAT_INFO2 ? (enum lbr_format)format : LBR_FORMAT_LIP;
}

static void find_legacy(const struct lbr_probe *probe, struct lbr_machine *out)
{
    const struct intel_model *model = probe->emulated ? NULL : find_model(probe->model);

    if (probe->family != 6) {
        refuse(out, "an Intel CPU of a family whose records are not known");
        return;
    }
    if (!model)
        model = guess_model(probe);
    if (!model) {
        refuse(out, "an unknown Intel CPU, and no branch records can be read");
        return;
    }
    enum lbr_format format = legacy_format(probe);
    bool info = format == LBR_FORMAT_INFO || format == LBR_FORMAT_INFO2;
    *out = (struct lbr_machine){
        .kind = LBR_LEGACY,
        .name = probe->emulated ? "emulated by QEMU" : model->name,
        .format = format,
        .depth = model->depth,
        .from = model->from,
        .to = model->to,
        .info = info ? model->info : 0,
        .stride = 1,
        .top = MSR_LBR_TOS,
        .control = MSR_DEBUGCTL,
        .control_on = DEBUGCTL_LBR,
        .select = model->select,
    };
}

static void find_intel(const struct lbr_probe *probe, struct lbr_machine *out)
{
    if (probe->architectural)
        find_architectural(probe, out);
    else if (probe->emulated && !(probe->capabilities & PERF_CAPABILITIES_LBR_FORMAT))
        refuse(out, "PERF_CAPABILITIES names no format of branch records: emulated without them");
    else
        find_legacy(probe, out);
}

/* --- AMD --- */

#define LEAF_22A_LBR_V2 (1u << 1)
#define LEAF_22B_DEPTH(ebx) ((ebx) >> 4 & 0x3f)

static void find_amd(const struct lbr_probe *probe, struct lbr_machine *out)
{
    uint32_t depth = LEAF_22B_DEPTH(probe->leaf_22b);

    if (!(probe->leaf_22a & LEAF_22A_LBR_V2)) {
        *out = (struct lbr_machine){
            .kind = LBR_AMD_PAIR,
            .name = "AMD, last branch only",
            .format = LBR_FORMAT_PLAIN,
            .depth = 2, /* LastBranch, LastException */
            .from = MSR_LAST_BRANCH_FROM,
            .to = MSR_LAST_BRANCH_TO,
            .stride = MSR_LAST_EXCEPTION_FROM - MSR_LAST_BRANCH_FROM,
            .control = MSR_DEBUGCTL,
            .control_on = DEBUGCTL_LBR,
        };
        return;
    }
    *out = (struct lbr_machine){
        .kind = LBR_AMD_STACK,
        .name = "AMD LbrExtV2",
        .format = LBR_FORMAT_AMD,
        .depth = depth < LBR_MAX_DEPTH ? depth : LBR_MAX_DEPTH,
        .from = MSR_AMD_LBR_FROM0,
        .to = MSR_AMD_LBR_TO0,
        .stride = 2,
        .control = MSR_AMD_DBG_EXTN_CFG,
        .control_on = AMD_DBG_EXTN_CFG_LBRV2,
        .select = MSR_AMD_LBR_SELECT,
    };
    if (depth == 0)
        refuse(out, "CPUID.8000_0022H reports a branch stack of no entries");
}

void lbr_models_find(const struct lbr_probe *probe, struct lbr_machine *out)
{
    if (probe->intel)
        find_intel(probe, out);
    else if (probe->amd)
        find_amd(probe, out);
    else
        refuse(out, "neither Intel nor AMD: no branch records are known");
    out->tsx = probe->tsx;
    if (out->kind != LBR_NONE && !all_readable(probe, out))
        refuse(out, "the CPU should have branch records, and reading them is a #GP");
}

/* --- filters --- */

struct filter_bits {
    uint32_t filter;
    uint64_t suppress; /* LBR_SELECT, Intel's and AMD's: set to keep out */
    uint64_t pass;     /* ARCH_LBR_CTL: set to let through */
};

static const struct filter_bits filter_bits[] = {
    {LBR_FILTER_USER, LBR_SELECT_NOT_USER, ARCH_LBR_CTL_USER},
    {LBR_FILTER_KERNEL, LBR_SELECT_NOT_KERNEL, ARCH_LBR_CTL_KERNEL},
    {LBR_FILTER_CALLS, LBR_SELECT_NOT_DIRECT_CALL | LBR_SELECT_NOT_INDIRECT_CALL,
     ARCH_LBR_CTL_DIRECT_CALL | ARCH_LBR_CTL_INDIRECT_CALL},
    {LBR_FILTER_RETURNS, LBR_SELECT_NOT_RETURN, ARCH_LBR_CTL_RETURN},
    {LBR_FILTER_JUMPS,
     LBR_SELECT_NOT_CONDITIONAL | LBR_SELECT_NOT_DIRECT_JUMP | LBR_SELECT_NOT_INDIRECT_JUMP,
     ARCH_LBR_CTL_CONDITIONAL | ARCH_LBR_CTL_DIRECT_JUMP | ARCH_LBR_CTL_INDIRECT_JUMP},
};

uint64_t lbr_models_select(const struct lbr_machine *machine, uint32_t filter)
{
    uint64_t suppress = 0, pass = ARCH_LBR_CTL_OTHER;

    if (!(filter & LBR_FILTER_RINGS))
        filter |= LBR_FILTER_RINGS;
    if (!(filter & LBR_FILTER_KINDS))
        filter |= LBR_FILTER_KINDS;
    for (size_t i = 0; i < sizeof(filter_bits) / sizeof(filter_bits[0]); i++)
        if (filter & filter_bits[i].filter)
            pass |= filter_bits[i].pass;
        else
            suppress |= filter_bits[i].suppress;
    if (!machine->select)
        return 0;
    return machine->kind == LBR_ARCH ? pass : suppress;
}
