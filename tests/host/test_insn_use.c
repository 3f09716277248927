/* SPDX-License-Identifier: MIT */
/* What is done with a decoded instruction: addresses and conditions, both also against the CPU that
 * the test runs on; targets; the loader's scan.
 */
#include <sys/mman.h>
#include "arch/x86/insn.h"
#include "tests/host/insn_hex.h"
#include "tests/host/random.h"
#include "tests/host/tap.h"

/* --- addresses and targets --- */

static const uint64_t registers[16] = {
    0x1111111100000010, 0x2000, 0x3000, 0x4000,     0x7fff0000, 0x5000,     0x60000000, 0x70000000,
    0x800000008,        0x9000, 0xa000, 0xffffffff, 0xc000,     0xd0000000, 0xe000,     0xf000};

static void check_address(const char *hex, enum insn_mode mode, uint64_t expected)
{
    struct insn insn;

    decode_hex(hex, mode, &insn);
    ok(insn.operand.address_known, "mode %d: %s has a known address", mode, hex);
    is_u64(insn_effective_address(&insn, registers, 0x400000, 0xf50000000000, 0x650000000000),
           expected, "which is right");
}

static void test_addresses(void)
{
    struct insn insn;

    check_address("8b 00", INSN_MODE_64, 0x1111111100000010);
    check_address("67 8b 00", INSN_MODE_64, 0x10);
    check_address("8b 40 f0", INSN_MODE_64, 0x1111111100000000);
    check_address("8b 05 00 ff ff ff", INSN_MODE_64, 0x3fff00);
    check_address("67 8b 05 00 00 c0 ff", INSN_MODE_64, 0);
    check_address("8b 04 24", INSN_MODE_64, 0x7fff0000);
    check_address("8b 44 cc 08", INSN_MODE_64, 0x80000008);
    check_address("42 8b 04 64", INSN_MODE_64, 0x80008000);
    check_address("41 8b 45 00", INSN_MODE_64, 0xd0000000);
    check_address("41 8b 04 24", INSN_MODE_64, 0xc000);
    check_address("8b 04 25 00 00 00 80", INSN_MODE_64, 0xffffffff80000000);
    check_address("8b 04 2d 01 00 00 00", INSN_MODE_64, 0x5001);
    check_address("64 8b 04 25 28 00 00 00", INSN_MODE_64, 0xf50000000028);
    check_address("65 67 8b 03", INSN_MODE_64, 0x650000004000);
    check_address("a0 01 02 03 04 05 06 07 88", INSN_MODE_64, 0x8807060504030201);
    check_address("67 a0 01 02 03 84", INSN_MODE_64, 0x84030201);
    check_address("8b 06", INSN_MODE_32, 0x60000000);
    check_address("8b 84 36 00 00 00 70", INSN_MODE_32, 0x30000000);
    check_address("8b 05 04 03 02 01", INSN_MODE_32, 0x01020304);
    check_address("8b 02", INSN_MODE_16, 0x5000);
    check_address("8b 41 ff", INSN_MODE_16, 0x3fff);
    check_address("8b 06 34 12", INSN_MODE_16, 0x1234);
    check_address("8b 87 00 f0", INSN_MODE_16, 0x3000);
    check_address("c5 f8 28 40 10", INSN_MODE_64, 0x1111111100000020);
    check_address("62 f1 7c 48 28 80 10 00 00 00", INSN_MODE_64, 0x1111111100000020);
    decode_hex("62 f1 7c 48 28 40 01", INSN_MODE_64, &insn);
    ok(insn.length && !insn.operand.address_known, "EVEX' scaled displacement is not known");
    decode_hex("c4 e2 71 92 04 10", INSN_MODE_64, &insn);
    ok(insn.length && !insn.operand.address_known, "nor is a gather's vector of addresses");
}

/* LEA with every kind of operand, run on this CPU. Code: save what the ABI wants saved, give out
 * RSP, load all other registers, LEA into RAX, store RAX, restore. */

#define CODE_SIZE 4096

struct emitter {
    uint8_t *at;
};

static void emit(struct emitter *e, const void *bytes, unsigned size)
{
    memcpy(e->at, bytes, size);
    e->at += size;
}

#define EMIT(e, ...) emit(e, (const uint8_t[]){__VA_ARGS__}, sizeof(const uint8_t[]){__VA_ARGS__})

/* void code(uint64_t gpr[16]); returns where LEA ends. */
static uint8_t *emit_function(uint8_t *code, const uint8_t *lea, unsigned lea_size,
                              uint64_t *result)
{
    struct emitter e = {code};
    uint8_t *end_of_lea;

    EMIT(&e, 0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57); /* push rbx rbp r12…15 */
    EMIT(&e, 0x48, 0x89, 0x67, 4 * 8);                                    /* gpr[4] = rsp */
    for (unsigned i = 0; i < 16; i++)
        if (i != 4 && i != 7)
            EMIT(&e, i < 8 ? 0x48 : 0x4c, 0x8b, 0x47 | (i & 7) << 3, 8 * i);
    EMIT(&e, 0x48, 0x8b, 0x7f, 7 * 8);
    emit(&e, lea, lea_size);
    end_of_lea = e.at;
    EMIT(&e, 0x48, 0xa3); /* *result = rax */
    emit(&e, &result, sizeof result);
    EMIT(&e, 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3);
    return end_of_lea;
}

static unsigned random_lea(uint8_t *lea, uint64_t *seed)
{
    unsigned mod = random_below(seed, 3), size = 0;

    if (random_below(seed, 3) == 0)
        lea[size++] = 0x67;
    lea[size++] = 0x48 | random_below(seed, 4); /* REX.W with X and B at random */
    lea[size++] = 0x8d;
    lea[size++] = mod << 6 | (random_below(seed, 2) ? 4 : random_below(seed, 8));
    for (unsigned i = 0; i < 6; i++)
        lea[size++] = random_u64(seed) >> 32;
    return size;
}

static bool lea_fits(uint8_t *code, uint64_t *seed)
{
    static uint64_t result;
    uint64_t gpr[16];
    uint8_t lea[16], *end;
    struct insn insn;
    void (*function)(uint64_t *);

    if (insn_decode(lea, random_lea(lea, seed), INSN_MODE_64, &insn))
        return false;
    for (unsigned i = 0; i < 16; i++)
        gpr[i] = random_u64(seed) >> random_below(seed, 64);
    end = emit_function(code, lea, insn.length, &result);
    memcpy(&function, &code, sizeof function);
    function(gpr);
    return insn_effective_address(&insn, gpr, (uintptr_t)end, 0, 0) == result;
}

static void test_lea(void)
{
    uint8_t *code = mmap(NULL, CODE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned wrong = 0;
    uint64_t seed = 9;

    if (code == MAP_FAILED) {
        skip("addresses as LEA gives them", "no memory that is writable and executable");
        return;
    }
    for (unsigned i = 0; i < 50000; i++)
        wrong += !lea_fits(code, &seed);
    is_u64(wrong, 0, "addresses as LEA gives them on this CPU (50000)");
    munmap(code, CODE_SIZE);
}

static void test_targets(void)
{
    struct insn insn;
    uint64_t target = 0;

    decode_hex("74 fe", INSN_MODE_64, &insn);
    ok(insn_branch_target(&insn, 0x1002, &target) && target == 0x1000, "target of a short jump");
    decode_hex("66 e9 fc ff", INSN_MODE_32, &insn);
    ok(insn_branch_target(&insn, 0x10002, &target) && target == 0xfffe, "16-bit target");
    decode_hex("c7 f8 10 00 00 00", INSN_MODE_64, &insn);
    ok(insn_branch_target(&insn, 0x1000, &target) && target == 0x1010, "XBEGIN's fallback");
    decode_hex("ff e0", INSN_MODE_64, &insn);
    ok(!insn_branch_target(&insn, 0x1000, &target), "an indirect jump has none");
    decode_hex("c3", INSN_MODE_64, &insn);
    ok(!insn_branch_target(&insn, 0x1000, &target), "nor has RET");
}

/* --- conditions, against this CPU --- */

/* clang-format off */
#define CONDITIONS(C)                                                                              \
    C(0, "o")  C(1, "no")  C(2, "b")   C(3, "ae")  C(4, "e")   C(5, "ne")  C(6, "be")  C(7, "a")   \
    C(8, "s")  C(9, "ns")  C(10, "p")  C(11, "np") C(12, "l")  C(13, "ge") C(14, "le") C(15, "g")
/* clang-format on */

/* Steps over the red zone, for the asm pushes. */
#define WITH_FLAGS(instruction)                                                                    \
    "lea -128(%%rsp), %%rsp; push %2; popfq; " instruction "; lea 128(%%rsp), %%rsp"

static bool cpu_condition(unsigned condition, uint64_t flags)
{
    bool taken = false;

    switch (condition) {
#define C(number, suffix)                                                                          \
    case number:                                                                                   \
        __asm__ volatile(WITH_FLAGS("set" suffix " %0")                                            \
                         : "=q"(taken)                                                             \
                         : "0"(taken), "r"(flags)                                                  \
                         : "cc", "memory");                                                        \
        break;
        CONDITIONS(C)
#undef C
    }
    return taken;
}

static bool cpu_counted(enum insn_kind kind, bool narrow, uint64_t flags, uint64_t rcx)
{
    uint64_t taken = 1;

#define RUN(instruction)                                                                           \
    __asm__ volatile(WITH_FLAGS(instruction " 1f; mov $0, %k0; 1: ")                               \
                     : "+r"(taken), "+c"(rcx)                                                      \
                     : "r"(flags)                                                                  \
                     : "cc", "memory")
    switch (kind) {
    case INSN_JCXZ:
        if (narrow)
            RUN("jecxz");
        else
            RUN("jrcxz");
        break;
    case INSN_LOOP:
        if (narrow)
            RUN("addr32 loop");
        else
            RUN("loop");
        break;
    case INSN_LOOPE:
        if (narrow)
            RUN("addr32 loope");
        else
            RUN("loope");
        break;
    default:
        if (narrow)
            RUN("addr32 loopne");
        else
            RUN("loopne");
        break;
    }
#undef RUN
    return taken;
}

/* CF, PF, ZF, SF, OF from the five low bits; bit 1 is always set. */
static uint64_t spread_flags(unsigned bits)
{
    return 2 | (bits & 1) | (bits & 2) << 1 | (bits & 4) << 4 | (bits & 8) << 4 | (bits & 16) << 7;
}

static void test_conditions(void)
{
    static const uint64_t counts[] = {0, 1, 2, 1ull << 32, (1ull << 32) + 1, -1ull, 0xffffffff};
    static const uint8_t opcodes[] = {0xe0, 0xe1, 0xe2, 0xe3};
    unsigned wrong = 0, tested = 0;
    struct insn insn;

    for (unsigned bits = 0; bits < 32; bits++)
        for (unsigned condition = 0; condition < 16; condition++, tested++) {
            uint8_t code[2] = {0x70 | condition, 0};

            insn_decode(code, 2, INSN_MODE_64, &insn);
            wrong += insn_condition(&insn, spread_flags(bits), 0) !=
                     cpu_condition(condition, spread_flags(bits));
        }
    for (unsigned i = 0; i < 7 * 4 * 2 * 2; i++, tested++) {
        uint8_t code[3] = {0x67, opcodes[i / 7 % 4], 0};
        bool narrow = i / 28 % 2;
        uint64_t flags = spread_flags(i / 56 ? 4 : 0), rcx = counts[i % 7];

        insn_decode(code + !narrow, 2 + narrow, INSN_MODE_64, &insn);
        wrong += insn_condition(&insn, flags, rcx) != cpu_counted(insn.kind, narrow, flags, rcx);
    }
    is_u64(wrong, 0, "conditions as this CPU takes them (%u)", tested);
    insn_decode((const uint8_t[]){0x67, 0xe3, 0}, 3, INSN_MODE_32, &insn);
    ok(insn_condition(&insn, 0, 0x10000) && !insn_condition(&insn, 0, 1), "JCXZ looks at CX only");
}

/* --- the loader's scan --- */

struct found {
    unsigned count;
    size_t offsets[8];
    uint8_t kinds[8];
};

static void note(void *context, size_t offset, const struct insn *insn)
{
    struct found *found = context;

    if (found->count < 8) {
        found->offsets[found->count] = offset;
        found->kinds[found->count] = insn->kind;
    }
    found->count++;
}

static void test_scan(void)
{
    static const uint8_t code[] = {
        0x0f, 0xa2,                                     /* 0: CPUID */
        0x48, 0xb8, 0x0f, 0xa2, 0x0f, 0xa2, 0, 0, 0, 0, /* a constant that looks like it */
        0x06,                                           /* no instruction */
        0x48, 0x0f, 0xc7, 0xf0,                         /* 13: RDRAND */
        0x0f, 0x31,                                     /* RDTSC can be trapped */
        0xf3, 0x0f, 0xc7, 0xf8,                         /* 19: RDPID */
        0x0f, 0xc7,                                     /* cut off */
    };
    struct found found = {0};

    is_u64(insn_scan(code, sizeof code, note, &found), 3, "the scan finds three");
    ok(found.count == 3 && found.offsets[0] == 0 && found.offsets[1] == 13 &&
           found.offsets[2] == 19,
       "at the right places");
    ok(found.kinds[0] == INSN_CPUID && found.kinds[1] == INSN_RDRAND &&
           found.kinds[2] == INSN_RDPID,
       "and what they are");
    is_u64(insn_scan(code, 0, NULL, NULL), 0, "the scan of nothing");
    is_string(insn_kind_name(INSN_RDRAND), "rdrand", "a kind's name");
    is_string(insn_kind_name(INSN_KIND_COUNT), "?", "no kind's name");
    ok(!insn_is_untrappable(INSN_RDTSC) && insn_is_untrappable(INSN_XBEGIN), "which are trappable");
}

static void check_writes(const char *hex, bool expected)
{
    struct insn insn;
    decode_hex(hex, INSN_MODE_64, &insn);
    ok(insn_writes_operand(&insn) == expected, "%s %s its memory operand", hex,
       expected ? "writes" : "does not (always) write");
}

static void test_writes(void)
{
    static const char *const writing[] = {"01 08",
                                          "80 00 01",
                                          "48 81 28 01 00 00 00",
                                          "83 30 01",
                                          "87 03",
                                          "86 03",
                                          "d1 20",
                                          "c0 08 03",
                                          "f7 18",
                                          "f6 10",
                                          "ff 00",
                                          "fe 08",
                                          "0f ab 08",
                                          "0f ba 28 03",
                                          "0f b1 0b",
                                          "0f c1 03",
                                          "48 0f c7 0b",
                                          "0f a4 08 04",
                                          "f0 48 83 05 22 5e 00 00 01"};
    static const char *const others[] = {
        "03 08",          "39 08",       "80 38 01", "83 3b 01", "f7 03 01 00 00 00",
        "f7 20",          "ff 20",       "ff 30",    "8b 00",    "89 00",
        "01 c8",          "0f ba 20 03", "0f a3 08", "0f c7 33", "0f c2 00 01",
        "c5 f8 c2 00 01", "8f 00"};
    for (unsigned i = 0; i < sizeof(writing) / sizeof(writing[0]); i++)
        check_writes(writing[i], true);
    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        check_writes(others[i], false);
}

int main(void)
{
    test_writes();
    test_addresses();
    test_lea();
    test_targets();
    test_conditions();
    test_scan();
    return done();
}
