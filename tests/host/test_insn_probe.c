/* SPDX-License-Identifier: MIT */
/* Instructions under a dynamic probe: a table of each kind, copies byte by byte, emulation, steps;
 * which runs one jump can replace.
 */
#include "arch/x86/insn_probe.h"
#include "tests/host/insn_hex.h"
#include "tests/host/tap.h"

#define FROM 0xffffffff80101000ull
#define TO 0xffffffff80180040ull

static struct insn_probe classify_hex(const char *hex)
{
    struct insn_probe probe;
    unsigned size;
    uint8_t *bytes = bytes_of(hex, &size);

    insn_probe_classify(bytes, size, &probe);
    free(bytes);
    return probe;
}

/* --- what can be done --- */

static const struct {
    const char *hex, *text;
    uint8_t way, refusal;
    bool can_step;
} kinds[] = {
    {"55", "push rbp", INSN_PROBE_BOOSTED, 0, true},
    {"48 89 e5", "mov rbp, rsp", INSN_PROBE_BOOSTED, 0, true},
    {"48 8b 05 10 00 00 00", "mov rax, [rip + 16]", INSN_PROBE_BOOSTED, 0, true},
    {"f3 48 a5", "rep movsq", INSN_PROBE_BOOSTED, 0, true},
    {"f0 48 0f b1 11", "lock cmpxchg [rcx], rdx", INSN_PROBE_BOOSTED, 0, true},
    {"65 48 8b 04 25 00 00 00 00", "mov rax, gs:[0]", INSN_PROBE_BOOSTED, 0, true},
    {"9c", "pushfq", INSN_PROBE_BOOSTED, 0, true},
    {"9d", "popfq", INSN_PROBE_BOOSTED, 0, true},
    {"c3", "ret", INSN_PROBE_BOOSTED, 0, false},
    {"c2 08 00", "ret 8", INSN_PROBE_BOOSTED, 0, false},
    {"e8 00 01 00 00", "call rel32", INSN_PROBE_BOOSTED, 0, false},
    {"ff d0", "call rax", INSN_PROBE_BOOSTED, 0, false},
    {"ff 15 10 00 00 00", "call [rip + 16]", INSN_PROBE_BOOSTED, 0, false},
    {"41 ff 54 c5 08", "call [r13 + rax * 8 + 8]", INSN_PROBE_BOOSTED, 0, false},
    {"41 ff 14 24", "call [r12]", INSN_PROBE_BOOSTED, 0, false},
    {"ff e0", "jmp rax", INSN_PROBE_BOOSTED, 0, false},
    {"ff 24 c5 00 10 10 80", "jmp [rax * 8 + table]", INSN_PROBE_BOOSTED, 0, false},
    {"49 90", "xchg rax, r8", INSN_PROBE_BOOSTED, 0, true},
    {"0f 0b", "ud2", INSN_PROBE_BOOSTED, 0, true},
    {"f3 0f 1e fa", "endbr64", INSN_PROBE_BOOSTED, 0, true},
    {"c5 f8 77", "vzeroupper", INSN_PROBE_BOOSTED, 0, true},
    {"0f 31", "rdtsc", INSN_PROBE_BOOSTED, 0, true},
    {"0f a2", "cpuid", INSN_PROBE_BOOSTED, 0, true},
    {"90", "nop", INSN_PROBE_EMULATED, 0, true},
    {"f3 90", "pause", INSN_PROBE_EMULATED, 0, true},
    {"66 90", "nop of two bytes", INSN_PROBE_EMULATED, 0, true},
    {"0f 1f 44 00 00", "nop of five bytes", INSN_PROBE_EMULATED, 0, true},
    {"fa", "cli", INSN_PROBE_EMULATED, 0, true},
    {"eb 10", "jmp rel8", INSN_PROBE_EMULATED, 0, false},
    {"e9 00 01 00 00", "jmp rel32", INSN_PROBE_EMULATED, 0, false},
    {"74 10", "je rel8", INSN_PROBE_EMULATED, 0, false},
    {"0f 8f 00 01 00 00", "jg rel32", INSN_PROBE_EMULATED, 0, false},
    {"e2 fe", "loop", INSN_PROBE_EMULATED, 0, false},
    {"67 e3 10", "jecxz", INSN_PROBE_EMULATED, 0, false},
    {"0f 22 d8", "mov cr3, rax", INSN_PROBE_STEPPED, 0, true},
    {"0f 30", "wrmsr", INSN_PROBE_STEPPED, 0, true},
    {"0f 32", "rdmsr", INSN_PROBE_STEPPED, 0, true},
    {"0f 01 38", "invlpg [rax]", INSN_PROBE_STEPPED, 0, true},
    {"0f 01 10", "lgdt [rax]", INSN_PROBE_STEPPED, 0, true},
    {"0f 00 d8", "ltr ax", INSN_PROBE_STEPPED, 0, true},
    {"0f 01 ca", "clac", INSN_PROBE_STEPPED, 0, true},
    {"06", "not in 64-bit mode", INSN_PROBE_REFUSED, INSN_PROBE_UNDECODABLE, false},
    {"48 8b", "cut", INSN_PROBE_REFUSED, INSN_PROBE_UNDECODABLE, false},
    {"cc", "int3", INSN_PROBE_REFUSED, INSN_PROBE_FAR, false},
    {"cd 80", "int 0x80", INSN_PROBE_REFUSED, INSN_PROBE_FAR, false},
    {"f1", "int1", INSN_PROBE_REFUSED, INSN_PROBE_FAR, false},
    {"48 cf", "iretq", INSN_PROBE_REFUSED, INSN_PROBE_FAR, false},
    {"48 cb", "retfq", INSN_PROBE_REFUSED, INSN_PROBE_FAR, false},
    {"0f 05", "syscall", INSN_PROBE_REFUSED, INSN_PROBE_FAR, false},
    {"fb", "sti", INSN_PROBE_REFUSED, INSN_PROBE_STI, false},
    {"f4", "hlt", INSN_PROBE_REFUSED, INSN_PROBE_HALT, false},
    {"0f 01 c9", "mwait", INSN_PROBE_REFUSED, INSN_PROBE_HALT, false},
    {"0f 01 f8", "swapgs", INSN_PROBE_REFUSED, INSN_PROBE_SWAPGS, false},
    {"8e d0", "mov ss, ax", INSN_PROBE_REFUSED, INSN_PROBE_SS, false},
    {"c7 f8 00 00 00 00", "xbegin", INSN_PROBE_REFUSED, INSN_PROBE_XBEGIN, false},
    {"66 e9 00 01", "jmp with 66: Intel takes two bytes more", INSN_PROBE_REFUSED,
     INSN_PROBE_UNDECODABLE, false},
    {"66 e9 00 01 00 00", "jmp with 66", INSN_PROBE_REFUSED, INSN_PROBE_LENGTH, false},
    {"66 c3", "ret with 66", INSN_PROBE_REFUSED, INSN_PROBE_LENGTH, false},
    {"ff d4", "call rsp", INSN_PROBE_REFUSED, INSN_PROBE_RSP, false},
    {"ff 54 24 08", "call [rsp + 8]", INSN_PROBE_REFUSED, INSN_PROBE_RSP, false},
    {"67 8b 05 10 00 00 00", "mov eax, [eip + 16]", INSN_PROBE_REFUSED, INSN_PROBE_ADDRESS_SIZE,
     false},
};

static void test_kinds(void)
{
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct insn_probe probe = classify_hex(kinds[i].hex);
        ok(probe.way == kinds[i].way && probe.refusal == kinds[i].refusal &&
               probe.can_step == kinds[i].can_step,
           "%s: way %u, %s", kinds[i].text, probe.way, insn_probe_refusal_text(probe.refusal));
    }
    is_string(insn_probe_refusal_text(999), "?", "an unknown refusal");
}

/* --- copies --- */

static const struct {
    const char *hex, *copy; /* from FROM to TO: TO - FROM is 0x7f040 */
    const char *text;
} copies[] = {
    {"55", "55", "push: as it is"},
    {"c2 08 00", "c2 08 00", "ret 8: as it is"},
    {"48 8b 05 10 00 00 00", "48 8b 05 d0 0f f8 ff", "mov from [rip + 16]"},
    {"81 3d 10 00 00 00 78 56 34 12", "81 3d d0 0f f8 ff 78 56 34 12", "cmp [rip + 16], imm32"},
    {"ff 25 10 00 00 00", "ff 25 d0 0f f8 ff", "jmp [rip + 16]"},
    {"eb 10", "e9 cd 0f f8 ff", "jmp rel8: rel32"},
    {"e9 10 00 00 00", "e9 d0 0f f8 ff", "jmp rel32"},
    {"3e 75 10", "0f 85 cd 0f f8 ff", "jne rel8 with a hint: rel32"},
    {"0f 88 10 00 00 00", "0f 88 d0 0f f8 ff", "js rel32"},
    {"e2 10", "e2 02 eb 05 e9 c9 0f f8 ff", "loop: over a jump over a jump"},
    {"67 e3 10", "67 e3 02 eb 05 e9 c9 0f f8 ff", "jecxz: keeps its prefix"},
    {"e8 10 00 00 00", "68 05 10 10 80 e9 cb 0f f8 ff", "call rel32: push, jmp"},
    {"ff d0", "68 02 10 10 80 ff e0", "call rax: push, jmp rax"},
    {"41 ff d4", "68 03 10 10 80 41 ff e4", "call r12: not taken for rsp"},
    {"ff 15 10 00 00 00", "68 06 10 10 80 ff 25 cb 0f f8 ff", "call [rip + 16]: push, jmp"},
    {"65 ff 14 25 10 00 00 00", "68 08 10 10 80 65 ff 24 25 10 00 00 00", "call gs:[16]"},
};

static void test_copies(void)
{
    for (unsigned i = 0; i < sizeof copies / sizeof copies[0]; i++) {
        struct insn_probe probe = classify_hex(copies[i].hex);
        uint8_t copy[INSN_PROBE_COPY_MAX];
        unsigned size;
        uint8_t *expected = bytes_of(copies[i].copy, &size);
        unsigned length = insn_probe_relocate(&probe, FROM, TO, copy);

        if (!ok(length == size && !memcmp(copy, expected, size), "copy of %s", copies[i].text))
            for (unsigned k = 0; k < length; k++)
                diag("%02x", copy[k]);
        free(expected);
    }
}

/* Nothing is written that would lead somewhere else. */
static void test_reach(void)
{
    static const char *const far[] = {"48 8b 05 10 00 00 00", "e9 10 00 00 00", "75 10", "e2 10",
                                      "e8 10 00 00 00"};
    uint8_t copy[INSN_PROBE_COPY_MAX];

    for (unsigned i = 0; i < sizeof far / sizeof far[0]; i++) {
        struct insn_probe probe = classify_hex(far[i]);
        is_u64(insn_probe_relocate(&probe, FROM, FROM - (1ull << 32), copy), 0, "%s: out of reach",
               far[i]);
    }
    struct insn_probe call = classify_hex("ff d0");
    is_u64(insn_probe_relocate(&call, 0x100000000, 0x100001000, copy), 0,
           "a return address that PUSH cannot push");
    ok(!insn_probe_make_jump(FROM, FROM + (1ull << 31) + 5, copy), "a jump by 2 GiB");
    ok(insn_probe_make_jump(FROM, FROM + (1ull << 31) + 4, copy), "a jump by one byte less");
}

static void check_resolve(const char *hex, unsigned offset, uint64_t expected, int64_t expected_rsp)
{
    struct insn_probe probe = classify_hex(hex);
    int64_t rsp = 1;
    uint64_t rip = insn_probe_resolve(&probe, FROM, offset, &rsp);

    ok(rip == expected && rsp == expected_rsp, "%s at %u of its copy: at +%lld, rsp %+lld", hex,
       offset, (long long)(rip - FROM), (long long)rsp);
}

static void test_resolve(void)
{
    check_resolve("55", 0, FROM, 0);
    check_resolve("48 89 e5", 3, FROM + 3, 0);
    check_resolve("e8 10 00 00 00", 0, FROM, 0);
    check_resolve("e8 10 00 00 00", 5, FROM, 8);
    check_resolve("ff d0", 5, FROM, 8);
    check_resolve("e2 10", 2, FROM + 2, 0);
    check_resolve("e2 10", 4, FROM + 0x12, 0);
    check_resolve("67 e2 10", 3, FROM + 3, 0);
    check_resolve("67 e2 10", 5, FROM + 0x13, 0);
}

/* --- without a copy --- */

static const struct {
    const char *hex, *text;
    uint64_t rflags, rcx; /* before */
    uint64_t rip, rflags_after, rcx_after;
} effects[] = {
    {"90", "nop", RFLAGS_IF, 1, FROM + 1, RFLAGS_IF, 1},
    {"0f 1f 44 00 00", "long nop", RFLAGS_IF, 1, FROM + 5, RFLAGS_IF, 1},
    {"fa", "cli", RFLAGS_IF | RFLAGS_CF, 1, FROM + 1, RFLAGS_CF, 1},
    {"eb fe", "jmp to itself", 0, 1, FROM, 0, 1},
    {"e9 00 01 00 00", "jmp", 0, 1, FROM + 0x105, 0, 1},
    {"72 10", "jc, taken", RFLAGS_CF, 1, FROM + 0x12, RFLAGS_CF, 1},
    {"72 10", "jc, not taken", 0, 1, FROM + 2, 0, 1},
    {"e2 10", "loop, taken", 0, 2, FROM + 0x12, 0, 1},
    {"e2 10", "loop, the last one", 0, 1, FROM + 2, 0, 0},
    {"67 e2 10", "loop by ecx: the upper half is cleared", 0, 0xf00000002, FROM + 0x13, 0, 1},
    {"67 e2 10", "loop by ecx of 0", 0, 0x100000000, FROM + 0x13, 0, 0xffffffff},
    {"e1 10", "loope without ZF", 0, 2, FROM + 2, 0, 1},
    {"e3 10", "jrcxz, taken", 0, 0, FROM + 0x12, 0, 0},
    {"e3 10", "jrcxz, not taken: rcx stays", 0, 5, FROM + 2, 0, 5},
    {"67 e3 10", "jecxz by the lower half", 0, 0x500000000, FROM + 0x13, 0, 0x500000000},
};

static void test_emulation(void)
{
    for (unsigned i = 0; i < sizeof effects / sizeof effects[0]; i++) {
        struct insn_probe probe = classify_hex(effects[i].hex);
        struct trap_frame frame = {.rip = FROM, .rflags = effects[i].rflags, .rcx = effects[i].rcx};
        insn_probe_emulate(&probe, &frame);
        ok(probe.way == INSN_PROBE_EMULATED && frame.rip == effects[i].rip &&
               frame.rflags == effects[i].rflags_after && frame.rcx == effects[i].rcx_after,
           "%s", effects[i].text);
    }
}

static void check_step(const char *hex, const char *text, bool enabled, uint64_t rflags,
                       uint64_t expected, uint64_t pushed)
{
    struct insn_probe probe = classify_hex(hex);
    struct trap_frame frame = {.rflags = rflags};
    uint64_t stack = rflags;

    insn_probe_finish_step(&probe, &frame, &stack, enabled);
    ok(frame.rflags == expected && stack == pushed, "step of %s", text);
}

static void test_steps(void)
{
    const uint64_t tf = RFLAGS_TF, on = RFLAGS_IF, cf = RFLAGS_CF;

    check_step("55", "push", true, tf | cf, on | cf, tf | cf);
    check_step("55", "push, interrupts off", false, tf | cf, cf, tf | cf);
    check_step("9c", "pushf", true, tf | cf, on | cf, on | cf);
    check_step("9c", "pushf, interrupts off", false, tf | cf, cf, cf);
    check_step("9d", "popf that turns them on", false, on | cf, on | cf, on | cf);
    check_step("9d", "popf that turns them off", true, cf, cf, cf);
    check_step("fa", "cli", true, tf | cf, cf, tf | cf);
}

/* --- runs --- */

static const struct {
    const char *hex, *text;
    unsigned from, end; /* offsets: of the run, of the function */
    uint8_t refusal;
    unsigned count, length;
    uint64_t target; /* an offset that data points to, or 0 */
} runs[] = {
    {"55 48 89 e5 53 c3", "push, mov, push", 0, 6, INSN_PROBE_NONE, 3, 5, 0},
    {"55 48 89 e5 53 c3", "up to the function's end", 1, 6, INSN_PROBE_NONE, 3, 5, 0},
    {"55 48 89 e5 53 c3", "beyond it, in the middle", 2, 6, INSN_PROBE_JUMP_END, 0, 0, 0},
    {"55 48 89 e5 53 c3 90 90", "beyond it, at a boundary", 4, 6, INSN_PROBE_JUMP_END, 0, 0, 0},
    {"b8 01 00 00 00 c3", "one of five bytes", 0, 6, INSN_PROBE_NONE, 1, 5, 0},
    {"53 e8 00 00 00 00 c3", "a call", 0, 7, INSN_PROBE_JUMP_CALL, 0, 0, 0},
    {"53 0f 32 53 53 c3", "one that is stepped", 0, 6, INSN_PROBE_JUMP_STEP, 0, 0, 0},
    {"53 fb 53 53 53 c3", "one that is refused", 0, 6, INSN_PROBE_STI, 0, 0, 0},
    {"53 53 53 53 53 eb fc", "a branch into it", 0, 7, INSN_PROBE_JUMP_TARGET, 0, 0, 0},
    {"53 53 53 53 53 eb f9", "a branch to its beginning", 0, 7, INSN_PROBE_NONE, 5, 5, 0},
    {"53 53 53 75 00 c3", "a branch out of it", 0, 6, INSN_PROBE_NONE, 4, 5, 0},
    {"53 53 75 ff 53 53 c3", "its own branch into it", 0, 7, INSN_PROBE_JUMP_TARGET, 0, 0, 0},
    {"53 53 53 53 53 c3", "a pointer into it", 0, 6, INSN_PROBE_JUMP_TARGET, 0, 0, 3},
    {"53 53 53 53 53 c3", "a pointer behind it", 0, 6, INSN_PROBE_NONE, 5, 5, 5},
    {"53 53 53 53 53 48 8d 05 f6 ff ff ff", "lea of an address in it", 0, 12,
     INSN_PROBE_JUMP_TARGET, 0, 0, 0},
    {"53 53 53 53 53 48 c7 c0 01 10 10 80", "its address as an immediate", 0, 12,
     INSN_PROBE_JUMP_TARGET, 0, 0, 0},
};

static void make_map(struct text_map *map, const uint8_t *text, size_t size, uint64_t pointer)
{
    *map = (struct text_map){
        .start = FROM, .size = size, .starts = calloc(1, 8), .targets = calloc(1, 8)};
    text_map_sweep(map, text, 0, size);
    if (pointer) {
        uint64_t words[] = {0, 0, FROM + size, FROM - 1};
        pointer += FROM;
        memcpy((uint8_t *)words + 3, &pointer, sizeof pointer); /* not aligned */
        text_map_add_data(map, (const uint8_t *)words, sizeof words);
    }
}

static void free_map(struct text_map *map)
{
    free(map->starts);
    free(map->targets);
}

static void test_runs(void)
{
    for (unsigned i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        unsigned size;
        uint8_t *text = bytes_of(runs[i].hex, &size);
        struct text_map map;
        struct insn_probe_run run;

        make_map(&map, text, size, runs[i].target);
        enum insn_probe_refusal refusal = insn_probe_find_run(
            &map, text + runs[i].from, FROM + runs[i].from, FROM + runs[i].end, &run);
        ok(refusal == runs[i].refusal &&
               (refusal != INSN_PROBE_NONE ||
                (run.count == runs[i].count && run.length == runs[i].length)),
           "run: %s: %s", runs[i].text, insn_probe_refusal_text(refusal));
        free_map(&map);
        free(text);
    }
}

static void test_run_copy(void)
{
    unsigned size;
    uint8_t *text = bytes_of("55 75 10 48 89 e5 c3", &size), copy[64];
    uint8_t *expected = bytes_of("55 0f 85 cc 0f f8 ff 48 89 e5 e9 b7 0f f8 ff", &size);
    struct text_map map;
    struct insn_probe_run run;
    int64_t rsp;

    make_map(&map, text, 7, 0);
    is_u64(insn_probe_find_run(&map, text, FROM, FROM + 7, &run), INSN_PROBE_NONE, "a run");
    is_u64(insn_probe_copy_run(&run, TO, copy, sizeof copy), INSN_PROBE_NONE, "and its copy");
    ok(run.copy_length == 15 && !memcmp(copy, expected, 15), "byte by byte");
    is_u64(insn_probe_resolve_run(&run, 0, &rsp), FROM, "at its first copy");
    is_u64(insn_probe_resolve_run(&run, 1, &rsp), FROM + 1, "at its second");
    is_u64(insn_probe_resolve_run(&run, 7, &rsp), FROM + 3, "at its third");
    is_u64(insn_probe_resolve_run(&run, 10, &rsp), FROM + 6, "at the jump back");
    is_u64(insn_probe_copy_run(&run, TO, copy, 30), INSN_PROBE_JUMP_SIZE, "no room for it");
    is_u64(insn_probe_copy_run(&run, FROM + (1ull << 32), copy, sizeof copy), INSN_PROBE_REACH,
           "out of reach");
    ok(text_map_is_start(&map, FROM + 3) && !text_map_is_start(&map, FROM + 2), "boundaries");
    ok(!text_map_is_start(&map, FROM - 1) && !text_map_is_target(&map, FROM + 7),
       "outside of the text");
    free_map(&map);
    free(text);
    free(expected);
}

int main(void)
{
    test_kinds();
    test_copies();
    test_reach();
    test_resolve();
    test_emulation();
    test_steps();
    test_runs();
    test_run_copy();
    return done();
}
