/* SPDX-License-Identifier: MIT */
/* Every instruction of the built kernel, and of libc as if it were one, as an instruction to be
 * probed: each copy means what its original meant; each run that a jump would replace is entered
 * nowhere but at its first byte, by what objdump says.
 */
#include <unistd.h>
#include "arch/x86/insn_probe.h"
#include "tests/host/objdump.h"
#include "tests/host/tap.h"

#define REPORTED 10
#define BASE 0xffffffff80100000ull /* libc is moved there */
#define COPIES 0x4000000ull        /* that far behind the base */
#define PUSH_LENGTH 5
#define INT3 0xcc /* padding, and all of the room for copies */

static struct text {
    const char *path;
    uint64_t base, moved; /* of the first instruction, in the file and as it is tested */
    size_t size;          /* from the first to the end of the last one */
    uint8_t *bytes;
    uint8_t *starts;  /* [size]: objdump shows an instruction */
    uint8_t *shown;   /* [size]: objdump shows something */
    uint8_t *symbols; /* [size]: a symbol */
    uint32_t *ends;   /* [size]: where the function ends */
    uint8_t *targets; /* [size]: a direct branch leads there */
    unsigned wrong;
} text;

__attribute__((format(printf, 2, 3))) static void report(uint64_t at, const char *format, ...)
{
    va_list arguments;

    if (text.wrong++ >= REPORTED)
        return;
    printf("# %s, 0x%" PRIx64 ": ", text.path, at);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

/* --- reading it --- */

/* -D: what NASM's `db` wrote counts as data elsewhere. */
static FILE *open_objdump(const char *path)
{
    char command[300];

    snprintf(command, sizeof command,
             "objdump -D -z -w -M intel64 --insn-width=16 -j .text '%s' 2>/dev/null", path);
    return popen(command, "r");
}

/* "ffffffff80101000 <name>:"; NASM's local labels do not count, as in the kernel's table. */
static bool parse_symbol(const char *line, uint64_t *address)
{
    char *end;

    *address = strtoull(line, &end, 16);
    return end != line && end[0] == ' ' && end[1] == '<' && !strchr(end, '.');
}

/* The address that a direct branch's operand shows. */
static bool parse_target(const char *instruction, uint64_t *target)
{
    const char *at = instruction;
    char *end;

    if (!strchr(instruction, '<') || strchr(instruction, '(') || strchr(instruction, '*'))
        return false;
    if (!(at = strrchr(at, '<')) || at - instruction < 3)
        return false;
    for (at -= 2; at > instruction && isxdigit(at[0]); at--)
        ;
    *target = strtoull(at, &end, 16);
    return end != at;
}

static void add_line(const struct line *line)
{
    size_t offset = line->address - text.base;
    uint64_t target;

    memcpy(text.bytes + offset, line->bytes, line->length);
    text.starts[offset] = 1;
    memset(text.shown + offset, 1, line->length);
    if (parse_target(line->text, &target) && target - text.base < text.size)
        text.targets[target - text.base] = 1;
}

/* Twice: for the extent, then for what is in it. */
static bool read_lines(const char *path, bool measure)
{
    FILE *pipe = open_objdump(path);
    struct line line;
    uint64_t symbol, end = text.base;
    char row[600];

    while (pipe && fgets(row, sizeof row, pipe)) {
        bool is_line = parse_line(row, &line);
        if (measure && is_line) {
            if (end == 0)
                text.base = line.address;
            end = line.address + line.length;
        } else if (!measure && is_line) {
            add_line(&line);
        } else if (!measure && parse_symbol(row, &symbol)) {
            text.symbols[symbol - text.base] = 1;
        }
    }
    if (measure)
        text.size = end - text.base;
    return pipe && !pclose(pipe) && text.size;
}

static void find_ends(void)
{
    uint32_t end = (uint32_t)text.size;

    for (size_t offset = text.size; offset-- > 0;) {
        text.ends[offset] = end;
        if (text.symbols[offset])
            end = (uint32_t)offset;
    }
}

static bool read_text(const char *path)
{
    text = (struct text){.path = path};
    if (access(path, R_OK) || !read_lines(path, true))
        return false;
    text.moved = text.base >= BASE ? text.base : BASE + (text.base & 0xfff);
    text.bytes = calloc(1, text.size);
    text.starts = calloc(1, text.size);
    text.shown = calloc(1, text.size);
    text.symbols = calloc(1, text.size);
    text.ends = calloc(text.size, sizeof *text.ends);
    text.targets = calloc(1, text.size);
    bool read = read_lines(path, false);
    find_ends();
    return read;
}

static void free_text(void)
{
    free(text.bytes);
    free(text.starts);
    free(text.shown);
    free(text.symbols);
    free(text.ends);
    free(text.targets);
}

static unsigned available(size_t offset)
{
    size_t left = text.size - offset;
    return left < INSN_MAX_LENGTH ? (unsigned)left : INSN_MAX_LENGTH;
}

/* --- copies --- */

static bool same_operand(const struct insn *a, uint64_t a_next, const struct insn *b,
                         uint64_t b_next)
{
    uint64_t a_displacement = (uint64_t)a->operand.displacement;
    uint64_t b_displacement = (uint64_t)b->operand.displacement;

    if (a->operand.rip_relative != b->operand.rip_relative)
        return false;
    if (a->operand.rip_relative) {
        a_displacement += a_next;
        b_displacement += b_next;
    }
    return a_displacement == b_displacement && a->operand.base == b->operand.base &&
           a->operand.index == b->operand.index && a->operand.scale == b->operand.scale &&
           a->operand.is_register == b->operand.is_register && a->operand.rm == b->operand.rm &&
           a->prefixes.segment == b->prefixes.segment;
}

/* The same instruction, but for where a displacement is counted from. */
static bool same_plain(const struct insn *a, uint64_t a_next, const struct insn *b, uint64_t b_next)
{
    return a->length == b->length && a->opcode == b->opcode && a->map == b->map &&
           a->reg == b->reg && a->immediate == b->immediate && a->kind == b->kind &&
           a->operand_size == b->operand_size && same_operand(a, a_next, b, b_next);
}

static bool same_branch(const struct insn *a, uint64_t a_next, const struct insn *b,
                        uint64_t b_next)
{
    uint64_t a_target = 0, b_target = 1;

    return insn_branch_target(a, a_next, &a_target) && insn_branch_target(b, b_next, &b_target) &&
           a_target == b_target && a->condition == b->condition;
}

/* PUSH of the return address, then a jump to where the call went. */
static bool same_call(const struct insn *call, uint64_t next, const uint8_t *copy, unsigned length,
                      uint64_t to)
{
    struct insn jump;
    int32_t pushed;
    uint64_t jump_next = to + length;

    memcpy(&pushed, copy + 1, 4);
    if (copy[0] != 0x68 || (uint64_t)(int64_t)pushed != next ||
        insn_decode(copy + PUSH_LENGTH, length - PUSH_LENGTH, INSN_MODE_64, &jump) != 0 ||
        jump.length != length - PUSH_LENGTH || jump.class != INSN_JMP)
        return false;
    if (!call->has_modrm)
        return same_branch(call, next, &jump, jump_next);
    return (jump.reg & 7) == 4 && same_operand(call, next, &jump, jump_next);
}

static bool same_loop(const struct insn *loop, uint64_t next, const uint8_t *copy, unsigned length,
                      uint64_t to)
{
    struct insn first, jump;
    unsigned at = length - INSN_PROBE_JUMP_LENGTH;
    uint64_t target;

    return insn_decode(copy, length, INSN_MODE_64, &first) == 0 && first.kind == loop->kind &&
           first.address_size == loop->address_size &&
           insn_branch_target(&first, to + first.length, &target) && target == to + at &&
           insn_decode(copy + at, INSN_PROBE_JUMP_LENGTH, INSN_MODE_64, &jump) == 0 &&
           same_branch(loop, next, &jump, to + length) && copy[first.length] == 0xeb &&
           copy[first.length + 1] == INSN_PROBE_JUMP_LENGTH;
}

static bool same_effect(const struct insn_probe *probe, uint64_t from, const uint8_t *copy,
                        unsigned length, uint64_t to)
{
    const struct insn *insn = &probe->insn;
    uint64_t next = from + insn->length;
    struct insn other;

    if (insn->class == INSN_CALL)
        return same_call(insn, next, copy, length, to);
    if (insn->class == INSN_COND_BRANCH && insn->kind != INSN_JCC)
        return same_loop(insn, next, copy, length, to);
    if (insn_decode(copy, length, INSN_MODE_64, &other) != 0 || other.length != length)
        return false;
    if ((insn->class == INSN_COND_BRANCH || insn->class == INSN_JMP) && !insn->has_modrm)
        return other.class == insn->class && same_branch(insn, next, &other, to + length);
    return same_plain(insn, next, &other, to + length);
}

static void test_copies(void)
{
    unsigned ways[4] = {0};
    struct insn_probe probe;
    uint8_t copy[INSN_PROBE_COPY_MAX];
    uint64_t to = BASE + COPIES + 0x40;

    for (size_t offset = 0; offset < text.size; offset++) {
        uint64_t from = text.moved + offset;
        if (!text.starts[offset] || text.bytes[offset] == INT3)
            continue;
        insn_probe_classify(text.bytes + offset, available(offset), &probe);
        ways[probe.way]++;
        if (probe.way == INSN_PROBE_REFUSED)
            continue;
        unsigned length = insn_probe_relocate(&probe, from, to, copy);
        if (length == 0 || length > INSN_PROBE_COPY_MAX)
            report(text.base + offset, "no copy: %u", length);
        else if (!same_effect(&probe, from, copy, length, to))
            report(text.base + offset, "its copy of %u bytes means something else", length);
    }
    is_u64(text.wrong, 0, "%s: copies: %u boosted, %u emulated, %u stepped, %u refused", text.path,
           ways[INSN_PROBE_BOOSTED], ways[INSN_PROBE_EMULATED], ways[INSN_PROBE_STEPPED],
           ways[INSN_PROBE_REFUSED]);
    ok(ways[INSN_PROBE_BOOSTED] > 10000 && ways[INSN_PROBE_REFUSED] * 20 < ways[INSN_PROBE_BOOSTED],
       "%s: most instructions can be probed", text.path);
}

/* --- boundaries and runs --- */

static void sweep(struct text_map *map)
{
    *map = (struct text_map){
        .start = text.moved,
        .size = text.size,
        .starts = calloc(1, text.size / 8 + 1),
        .targets = calloc(1, text.size / 8 + 1),
    };
    for (size_t start = 0; start < text.size; start = text.ends[start])
        text_map_sweep(map, text.bytes, start, text.ends[start]);
}

static void test_map(const struct text_map *map)
{
    unsigned starts = 0, targets = 0;

    text.wrong = 0;
    for (size_t offset = 0; offset < text.size; offset++) {
        bool start = text_map_is_start(map, text.moved + offset);
        bool target = text_map_is_target(map, text.moved + offset);
        starts += start;
        targets += target;
        if (text.shown[offset] && start != text.starts[offset])
            report(text.base + offset, "a boundary here, but not there: %d, objdump %d", start,
                   text.starts[offset]);
        if (text.targets[offset] && !target)
            report(text.base + offset, "objdump shows a branch to it");
    }
    is_u64(text.wrong, 0, "%s: %u boundaries, %u targets", text.path, starts, targets);
}

/* By objdump's boundaries and targets. */
static void check_run(size_t offset, const struct insn_probe_run *run)
{
    size_t end = offset + run->length;

    if (run->length < INSN_PROBE_JUMP_LENGTH || end > text.ends[offset])
        report(text.base + offset, "a run of %u bytes", run->length);
    if (end < text.size && text.shown[end] && !text.starts[end])
        report(text.base + offset, "its run ends within an instruction");
    for (unsigned i = 1; i < run->length; i++)
        if (text.targets[offset + i])
            report(text.base + offset, "a branch leads to +%u of its run", i);
    for (unsigned i = 0; i < run->count; i++)
        if (run->probes[i].insn.class == INSN_CALL || run->probes[i].way == INSN_PROBE_STEPPED)
            report(text.base + offset, "a call or a step in its run");
}

static void test_runs(const struct text_map *map)
{
    unsigned total = 0, good = 0;
    struct insn_probe_run run;
    uint8_t copy[128];

    text.wrong = 0;
    for (size_t offset = 0; offset < text.size; offset++) {
        if (!text.starts[offset] || text.bytes[offset] == INT3)
            continue;
        total++;
        if (insn_probe_find_run(map, text.bytes + offset, text.moved + offset,
                                text.moved + text.ends[offset], &run) != INSN_PROBE_NONE)
            continue;
        good++;
        check_run(offset, &run);
        if (insn_probe_copy_run(&run, BASE + COPIES, copy, sizeof copy) == INSN_PROBE_REACH)
            report(text.base + offset, "its run cannot be copied");
    }
    is_u64(text.wrong, 0, "%s: a jump could replace %u of %u", text.path, good, total);
    ok(good > total / 4, "%s: that is more than a quarter", text.path);
}

static void test_text(const char *path)
{
    struct text_map map;

    if (!read_text(path)) {
        skip(path, "not here, or no objdump");
        return;
    }
    test_copies();
    sweep(&map);
    test_map(&map);
    test_runs(&map);
    free(map.starts);
    free(map.targets);
    free_text();
}

/* Arguments: files instead of these two. */
int main(int count, char **paths)
{
    for (int i = 1; i < count; i++)
        test_text(paths[i]);
    if (count == 1) {
        test_text("build/kernel.elf");
        test_text("/lib/x86_64-linux-gnu/libc.so.6");
    }
    return done();
}
