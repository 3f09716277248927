/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Last branch records: pmu_lbr.h.
 *
 * The architectural form numbers its records from the newest one, the others by where they stand,
 * with a pointer to the newest. Both are the same ring here.
 */
#include "tools/qemu-pmu/pmu_bits.h"
#include "tools/qemu-pmu/pmu_lbr.h"

#define ADDRESS_BITS 57             /* of the widest linear addresses that QEMU's CPUs have */
#define LINEAR_ADDRESSES (1u << 31) /* CPUID.1CH:EAX */

struct form {
    uint8_t depth, format;
    bool top_writable;
    uint64_t from_flags;  /* bits of FROM that are not the address's */
    uint64_t select_bits; /* LBR_SELECT or LBR_CTL; 0: there is none */
    uint64_t info_bits;
    uint32_t from, to, info; /* the first MSR of each; 0: there are none */
};

static const struct form forms[PMU_LBR_FORMS] = {
    [PMU_LBR_CORE] =
        {
            .depth = 4,
            .format = LBR_FORMAT_LINEAR,
            .from = MSR_CORE_LBR_FROM0,
            .to = MSR_CORE_LBR_TO0,
        },
    [PMU_LBR_SILVERMONT] =
        {
            .depth = 8,
            .format = LBR_FORMAT_EFFECTIVE,
            .top_writable = true,
            .select_bits = 0x1ff,
            .from = MSR_CORE_LBR_FROM0,
            .to = MSR_CORE_LBR_TO0,
        },
    [PMU_LBR_IVY_BRIDGE] =
        {
            .depth = 16,
            .format = LBR_FORMAT_EFFECTIVE_FLAGS,
            .top_writable = true,
            .from_flags = LBR_FROM_MISPREDICTED,
            .select_bits = 0x1ff,
            .from = MSR_LBR_FROM0,
            .to = MSR_LBR_TO0,
        },
    [PMU_LBR_SKYLAKE] =
        {
            .depth = 32,
            .format = LBR_FORMAT_INFO,
            .top_writable = true,
            .select_bits = 0x3ff,
            .info_bits = 0xe00000000000ffff,
            .from = MSR_LBR_FROM0,
            .to = MSR_LBR_TO0,
            .info = MSR_LBR_INFO0,
        },
    [PMU_LBR_ARCHITECTURAL] =
        {
            .depth = 32,
            .format = LBR_FORMAT_ARCHITECTURAL,
            .select_bits = 0x7f000f,
            .info_bits = 0xff0000000000ffff,
            .from = MSR_ARCH_LBR_FROM0,
            .to = MSR_ARCH_LBR_TO0,
            .info = MSR_ARCH_LBR_INFO0,
        },
};

static bool is_architectural(const struct pmu_lbr *lbr)
{
    return lbr->form == PMU_LBR_ARCHITECTURAL;
}

void pmu_lbr_reset(struct pmu_lbr *lbr, enum pmu_lbr_form form)
{
    *lbr = (struct pmu_lbr){.form = form, .depth = forms[form].depth};
}

unsigned pmu_lbr_format(enum pmu_lbr_form form)
{
    return forms[form].format;
}

void pmu_lbr_cpuid(enum pmu_lbr_form form, uint32_t registers[4])
{
    enum { DEPTHS_8_16_32 = 1 << 0 | 1 << 1 | 1 << 3 };
    enum { CPL_FILTER = 1, BRANCH_FILTER = 2, CALL_STACK = 4, BRANCH_TYPE = 4 };
    bool there = form == PMU_LBR_ARCHITECTURAL;

    registers[0] = there ? DEPTHS_8_16_32 | LINEAR_ADDRESSES : 0;
    registers[1] = there ? CPL_FILTER | BRANCH_FILTER | CALL_STACK : 0;
    registers[2] = there ? BRANCH_TYPE : 0; /* neither mispredictions nor cycles */
    registers[3] = 0;
}

/* --- recording ------------------------------------------------------------------------------- */

/* LBR_SELECT says what is left out … */
static bool selected(uint64_t select, enum pmu_lbr_kind kind, bool user)
{
    static const uint16_t without[PMU_LBR_KINDS] = {
        [PMU_LBR_JCC] = 1 << 2,    [PMU_LBR_REL_CALL] = 1 << 3, [PMU_LBR_IND_CALL] = 1 << 4,
        [PMU_LBR_RETURN] = 1 << 5, [PMU_LBR_IND_JMP] = 1 << 6,  [PMU_LBR_REL_JMP] = 1 << 7,
        [PMU_LBR_OTHER] = 1 << 8,
    };

    return !(select & (without[kind] | (user ? LBR_SELECT_NOT_USER : LBR_SELECT_NOT_KERNEL)));
}

/* … and LBR_CTL what is kept. */
static bool enabled(uint64_t control, enum pmu_lbr_kind kind, bool user)
{
    static const uint32_t with[PMU_LBR_KINDS] = {
        [PMU_LBR_JCC] = 1 << 16,      [PMU_LBR_REL_JMP] = 1 << 17,  [PMU_LBR_IND_JMP] = 1 << 18,
        [PMU_LBR_REL_CALL] = 1 << 19, [PMU_LBR_IND_CALL] = 1 << 20, [PMU_LBR_RETURN] = 1 << 21,
        [PMU_LBR_OTHER] = 1 << 22,
    };

    return control & with[kind] && control & (user ? LBR_CTL_USER : LBR_CTL_KERNEL);
}

static uint64_t info_of(enum pmu_lbr_kind kind)
{
    static const uint8_t branch_type[PMU_LBR_KINDS] = {
        [PMU_LBR_JCC] = 0,      [PMU_LBR_IND_JMP] = 1,  [PMU_LBR_REL_JMP] = 2,
        [PMU_LBR_IND_CALL] = 3, [PMU_LBR_REL_CALL] = 4, [PMU_LBR_RETURN] = 5,
        [PMU_LBR_OTHER] = 8,
    };

    return (uint64_t)branch_type[kind] << LBR_INFO_TYPE_SHIFT;
}

/* A return takes its call away. */
static void pop(struct pmu_lbr *lbr)
{
    lbr->record[lbr->top] = (struct pmu_lbr_record){0};
    lbr->top = (lbr->top + lbr->depth - 1) % lbr->depth;
}

void pmu_lbr_push(struct pmu_lbr *lbr, enum pmu_lbr_kind kind, uint64_t from, uint64_t to,
                  bool user)
{
    bool kept = is_architectural(lbr) ? enabled(lbr->select, kind, user)
                                      : selected(lbr->select, kind, user);
    uint64_t call_stack = is_architectural(lbr) ? LBR_CTL_CALL_STACK : LBR_SELECT_CALL_STACK;

    if (!kept || lbr->form == PMU_LBR_NONE)
        return;
    if (kind == PMU_LBR_RETURN && lbr->select & call_stack) {
        pop(lbr);
        return;
    }
    lbr->top = (lbr->top + 1) % lbr->depth;
    lbr->record[lbr->top] = (struct pmu_lbr_record){
        .from = from & ~forms[lbr->form].from_flags,
        .to = to,
        .info = is_architectural(lbr) ? info_of(kind) : 0,
    };
}

const struct pmu_lbr_record *pmu_lbr_newest(const struct pmu_lbr *lbr, unsigned age)
{
    return &lbr->record[(lbr->top + lbr->depth - age) % lbr->depth];
}

/* --- registers ------------------------------------------------------------------------------- */

bool pmu_lbr_owns_msr(uint32_t msr)
{
    static const struct {
        uint32_t first, count;
    } blocks[] = {
        {MSR_CORE_LBR_FROM0, 8},
        {MSR_CORE_LBR_TO0, 8},
        {MSR_LBR_SELECT, 1},
        {MSR_LBR_TOS, 1},
        {MSR_LBR_FROM0, PMU_LBR_DEEPEST},
        {MSR_LBR_TO0, PMU_LBR_DEEPEST},
        {MSR_LBR_INFO0, PMU_LBR_DEEPEST},
        {MSR_ARCH_LBR_INFO0, PMU_LBR_DEEPEST},
        {MSR_ARCH_LBR_CTL, 1},
        {MSR_ARCH_LBR_DEPTH, 1},
        {MSR_ARCH_LBR_FROM0, PMU_LBR_DEEPEST},
        {MSR_ARCH_LBR_TO0, PMU_LBR_DEEPEST},
    };

    for (unsigned i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
        if (msr - blocks[i].first < blocks[i].count)
            return true;
    return false;
}

/* The part of a record that the MSR is; NULL: it is none of this form's. */
static const uint64_t *part(const struct pmu_lbr *lbr, uint32_t msr)
{
    const struct form *form = &forms[lbr->form];
    const struct pmu_lbr_record *record = NULL;
    unsigned index = msr % PMU_LBR_DEEPEST;

    if (index >= lbr->depth)
        return NULL;
    record = is_architectural(lbr) ? pmu_lbr_newest(lbr, index) : &lbr->record[index];
    if (msr - index == form->from)
        return &record->from;
    if (msr - index == form->to)
        return &record->to;
    return msr - index == form->info ? &record->info : NULL;
}

bool pmu_lbr_read_msr(const struct pmu_lbr *lbr, uint32_t msr, uint64_t *value)
{
    bool architectural = is_architectural(lbr);
    const uint64_t *stored = part(lbr, msr);

    if (stored)
        *value = *stored;
    else if (msr == MSR_LBR_TOS && lbr->depth && !architectural)
        *value = lbr->top;
    else if (msr == MSR_LBR_SELECT && forms[lbr->form].select_bits && !architectural)
        *value = lbr->select;
    else if (msr == MSR_ARCH_LBR_CTL && architectural)
        *value = lbr->select;
    else if (msr == MSR_ARCH_LBR_DEPTH && architectural)
        *value = lbr->depth;
    else
        return false;
    return true;
}

static bool is_canonical(uint64_t address)
{
    return (uint64_t)((int64_t)(address << (64 - ADDRESS_BITS)) >> (64 - ADDRESS_BITS)) == address;
}

/* The flags that a format keeps in FROM stand in bits of the sign. */
static bool write_part(const struct form *form, uint32_t msr, uint64_t *stored, uint64_t value)
{
    uint32_t first = msr - msr % PMU_LBR_DEEPEST;
    uint64_t address = value;

    if (first == form->from && form->from_flags)
        address = (uint64_t)((int64_t)(value << 1) >> 1);
    if (first == form->info ? value & ~form->info_bits : !is_canonical(address))
        return false;
    *stored = value;
    return true;
}

/* Any write of a depth clears the records. */
static bool write_depth(struct pmu_lbr *lbr, uint64_t value)
{
    uint64_t select = lbr->select;

    if (value != 8 && value != 16 && value != 32)
        return false;
    pmu_lbr_reset(lbr, lbr->form);
    lbr->select = select;
    lbr->depth = (unsigned)value;
    return true;
}

bool pmu_lbr_write_msr(struct pmu_lbr *lbr, uint32_t msr, uint64_t value)
{
    const struct form *form = &forms[lbr->form];
    uint64_t *stored = (uint64_t *)part(lbr, msr);

    if (stored)
        return write_part(form, msr, stored, value);
    if (msr == (is_architectural(lbr) ? MSR_ARCH_LBR_CTL : MSR_LBR_SELECT)) {
        if (!form->select_bits || value & ~form->select_bits)
            return false;
        lbr->select = value;
        return true;
    }
    if (msr == MSR_ARCH_LBR_DEPTH && is_architectural(lbr))
        return write_depth(lbr, value);
    if (msr != MSR_LBR_TOS || !form->top_writable || value >= lbr->depth)
        return false;
    lbr->top = (unsigned)value;
    return true;
}
