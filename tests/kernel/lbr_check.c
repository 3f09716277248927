/* SPDX-License-Identifier: MIT */
/* Branch records against the code: see tests/kernel/lbr_check.h.
 *
 * FROM is a branch, and TO where it goes; or FROM is any instruction, and TO is an entry of the
 * IDT, since exceptions and interrupts are recorded, too. A return goes behind a call.
 */
#include "tests/kernel/lbr_check.h"

#include "arch/x86/idt.h"
#include "arch/x86/insn.h"
#include "arch/x86/layout.h"
#include "kernel/abi.h"
#include "kernel/elf.h"
#include "kernel/programs.h"
#include "kernel/string.h"
#include "kernel/ustar.h"

extern const char syscall_entry[], context_start[]; /* entry.asm */

static struct ustar_file program;
static struct elf_image image;

bool lbr_check_program(const char *name)
{
    return programs_find(name, &program) == 0 && elf_parse(program.data, program.size, &image) == 0;
}

static const uint8_t *user_code(uint64_t address, uint64_t *available)
{
    for (uint32_t i = 0; i < image.segment_count; i++) {
        const struct elf_segment *segment = &image.segments[i];
        uint64_t offset = address - segment->address;
        if (!(segment->protection & ABI_PROT_EXEC) || offset >= segment->file_size)
            continue;
        *available = segment->file_size - offset;
        return program.data + segment->file_offset + offset;
    }
    return NULL;
}

/* The bytes there, if that is code. */
static const uint8_t *code_at(uint64_t address, uint64_t *available)
{
    uint64_t offset;

    if (address <= USER_END)
        return user_code(address, available);
    *available = INSN_MAX_LENGTH;
    if (address >= (uint64_t)text_start && address < (uint64_t)text_end)
        *available = (uint64_t)text_end - address;
    else if (!lbr_stub_at(address, &offset))
        return NULL;
    return (const uint8_t *)address;
}

static bool decode_at(uint64_t address, struct insn *insn)
{
    uint64_t available;
    const uint8_t *code = code_at(address, &available);
    unsigned limit = available < INSN_MAX_LENGTH ? (unsigned)available : INSN_MAX_LENGTH;

    return code && insn_decode(code, limit, INSN_MODE_64, insn) == 0;
}

static bool is_entry(uint64_t address)
{
    uint64_t offset;

    if (lbr_stub_at(address, &offset))
        return offset == 0;
    for (unsigned vector = 0; vector < IDT_ENTRIES; vector++)
        if (idt_default_entry(vector) == address)
            return true;
    return false;
}

static bool follows_call(uint64_t address)
{
    struct insn insn;

    for (uint64_t length = 2; length <= 8; length++)
        if (decode_at(address - length, &insn) && insn.length == length && insn.class == INSN_CALL)
            return true;
    return address == (uint64_t)context_start; /* a new thread's first return */
}

static const char *check_far(const struct insn *insn, uint64_t to)
{
    if (insn->kind == INSN_IRET)
        return NULL;
    if (insn->kind == INSN_SYSCALL)
        return to == (uint64_t)syscall_entry ? NULL : "SYSCALL goes elsewhere";
    return is_entry(to) ? NULL : "this far transfer goes elsewhere";
}

static const char *check_branch(const struct insn *insn, const struct lbr_record *record)
{
    uint64_t target, available;

    if (insn->class == INSN_FAR)
        return check_far(insn, record->to);
    if (insn_branch_target(insn, record->from + insn->length, &target))
        return target == record->to ? NULL : "the branch goes elsewhere";
    if (!code_at(record->to, &available))
        return "TO is no code";
    if (insn->class == INSN_RET)
        return follows_call(record->to) ? NULL : "a return to where no call is before";
    return NULL;
}

const char *lbr_check_record(const struct lbr_record *record)
{
    struct insn insn;

    if (is_entry(record->to))
        return NULL; /* of an exception or interrupt; or a stub's own jump */
    if (!decode_at(record->from, &insn))
        return "FROM is no code";
    if (insn.class == INSN_OTHER)
        return "FROM is no branch";
    return check_branch(&insn, record);
}
