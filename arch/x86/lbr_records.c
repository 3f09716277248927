/* SPDX-License-Identifier: MIT */
/* From the registers that a stub copied to a history: order, flags, and which record is the
 * exception's own. Pure: tested on the host.
 */
#include "arch/x86/insn.h"
#include "arch/x86/lbr.h"
#include "arch/x86/lbr_stub.h"
#include "arch/x86/msr.h"

#define FROM_MISPREDICTED (1ull << 63) /* formats FLAGS, FLAGS_TSX, TIME */
#define FROM_IN_TX (1ull << 62)        /* format FLAGS_TSX */
#define FROM_ABORT (1ull << 61)
#define TO_CYCLES_SHIFT 48 /* format TIME */
#define ADDRESS_BITS 48    /* the kernel has four levels of page tables */

/* The upper bits hold flags or copies of the sign, depending on the format and, in format
 * FLAGS_TSX, on whether the CPU has TSX: in no case are they needed. */
static uint64_t address_of(uint64_t value)
{
    return (uint64_t)((int64_t)(value << (64 - ADDRESS_BITS)) >> (64 - ADDRESS_BITS));
}

static uint32_t flags_if(uint64_t mispredicted, uint64_t in_tx, uint64_t abort)
{
    return (mispredicted ? LBR_MISPREDICTED : 0) | (in_tx ? LBR_IN_TX : 0) |
           (abort ? LBR_ABORT : 0);
}

static void decode_info(const struct lbr_machine *machine, uint64_t info, struct lbr_record *record)
{
    bool tsx = machine->tsx && machine->format != LBR_FORMAT_INFO2;
    bool cycles = machine->format != LBR_FORMAT_ARCH || (info & ARCH_LBR_INFO_CYCLES_VALID);

    record->flags = flags_if(info & LBR_INFO_MISPREDICTED, tsx ? info & LBR_INFO_IN_TX : 0,
                             tsx ? info & LBR_INFO_ABORT : 0);
    if (!cycles)
        return;
    record->flags |= LBR_HAS_CYCLES;
    record->cycles = (uint32_t)(info & LBR_INFO_CYCLES);
}

static struct lbr_record decode_entry(const struct lbr_machine *machine, uint64_t from, uint64_t to,
                                      uint64_t info)
{
    struct lbr_record record = {.from = address_of(from), .to = address_of(to)};

    switch (machine->format) {
    case LBR_FORMAT_FLAGS_TSX:
        record.flags = flags_if(from & FROM_MISPREDICTED, machine->tsx ? from & FROM_IN_TX : 0,
                                machine->tsx ? from & FROM_ABORT : 0);
        break;
    case LBR_FORMAT_FLAGS:
    case LBR_FORMAT_AMD:
        record.flags = flags_if(from & FROM_MISPREDICTED, 0, 0);
        break;
    case LBR_FORMAT_TIME:
        record.flags = flags_if(from & FROM_MISPREDICTED, 0, 0) | LBR_HAS_CYCLES;
        record.cycles = (uint32_t)(to >> TO_CYCLES_SHIFT);
        break;
    case LBR_FORMAT_INFO:
    case LBR_FORMAT_INFO2:
    case LBR_FORMAT_ARCH:
        decode_info(machine, info, &record);
        break;
    default:
        break;
    }
    return record;
}

/* Entries that were never written, and AMD's that are no branches that happened. */
static bool is_empty(const struct lbr_machine *machine, uint64_t from, uint64_t to)
{
    if (machine->format == LBR_FORMAT_AMD)
        return !(to & AMD_LBR_TO_VALID);
    return from == 0 && to == 0;
}

/* The number of the entry that is `age` older than the newest. */
static uint32_t entry_at(const struct lbr_machine *machine, const struct lbr_slot *slot,
                         uint32_t age)
{
    if (!machine->top)
        return age;
    return ((uint32_t)slot->top + machine->depth - age) % machine->depth;
}

/* An NMI between the exception and the stub's first instruction, or within the stub, leaves its own
 * branches. The first kind shows in the newest record: it comes from the NMI's IRET, not from what
 * the exception interrupted (a trap's FROM is the instruction before RIP). AMD's manual does not
 * say what FROM is. */
static const char *find_damage(const struct lbr_machine *machine, const struct lbr_slot *slot,
                               const struct lbr_record *own)
{
    if (slot->nmis_before != slot->nmis_after)
        return "an NMI came while it was read";
    bool intel = machine->kind == LBR_LEGACY || machine->kind == LBR_ARCH;
    if (own && intel && slot->rip - own->from > INSN_MAX_LENGTH)
        return "an NMI came before it was read";
    return NULL;
}

void lbr_records_decode(const struct lbr_machine *machine, const struct lbr_slot *slot,
                        struct lbr_history *out)
{
    struct lbr_record own = {0};

    out->count = 0;
    for (uint32_t age = 0; age < machine->depth; age++) {
        uint32_t at = entry_at(machine, slot, age);
        uint64_t from = slot->entries[at].from, to = slot->entries[at].to;
        if (is_empty(machine, from, to))
            continue;
        struct lbr_record record = decode_entry(machine, from, to, slot->entries[at].info);
        if (age == 0 && slot->stub && record.to == slot->stub)
            own = record;
        else
            out->records[out->count++] = record;
    }
    /* Without an exception's own record the pair's second half repeats the first. */
    if (machine->kind == LBR_AMD_PAIR && out->count == 2 &&
        out->records[0].from == out->records[1].from && out->records[0].to == out->records[1].to)
        out->count = 1;
    out->missing = find_damage(machine, slot, own.to ? &own : NULL);
    if (!out->missing && out->count == 0)
        out->missing = "no branches were recorded";
}
