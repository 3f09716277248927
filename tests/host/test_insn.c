/* SPDX-License-Identifier: MIT */
/* The instruction decoder: a table of what must be recognised in which mode, each entry also cut
 * at every length; prefixes; fields; random bytes. test_insn_objdump.c checks lengths at large.
 */
#include "arch/x86/insn.h"
#include "tests/host/insn_hex.h"
#include "tests/host/random.h"
#include "tests/host/tap.h"

#define INVALID 0 /* as an expected length */

struct entry {
    const char *hex;
    uint8_t mode, length, class, kind;
};

#define OTHER(mode, hex, length)                                                                   \
    {                                                                                              \
        hex, mode, length, INSN_OTHER, INSN_PLAIN                                                  \
    }
#define KIND(mode, hex, length, kind)                                                              \
    {                                                                                              \
        hex, mode, length, INSN_OTHER, kind                                                        \
    }
#define COND(mode, hex, length, kind)                                                              \
    {                                                                                              \
        hex, mode, length, INSN_COND_BRANCH, kind                                                  \
    }
#define NEAR(mode, hex, length, class)                                                             \
    {                                                                                              \
        hex, mode, length, class, INSN_PLAIN                                                       \
    }
#define FAR(mode, hex, length, kind)                                                               \
    {                                                                                              \
        hex, mode, length, INSN_FAR, kind                                                          \
    }
#define UD(mode, hex)                                                                              \
    {                                                                                              \
        hex, mode, INVALID, 0, 0                                                                   \
    }

/* Jcc with all conditions is tested by test_all_jcc. */
static const struct entry branches[] = {
    COND(64, "74 10", 2, INSN_JCC),
    COND(64, "2e 74 10", 3, INSN_JCC), /* branch hints */
    COND(64, "3e 75 10", 3, INSN_JCC),
    COND(64, "f2 75 10", 3, INSN_JCC), /* BND */
    COND(64, "66 74 10", 3, INSN_JCC),
    COND(64, "48 74 10", 3, INSN_JCC),
    COND(64, "66 66 2e 2e 67 f3 4f 7f 80", 9, INSN_JCC),
    COND(64, "0f 84 01 02 03 04", 6, INSN_JCC),
    COND(64, "66 0f 84 01 02 03 04", 7, INSN_JCC), /* Intel: 66 is ignored */
    COND(64, "66 48 0f 84 01 02 03 04", 8, INSN_JCC),
    COND(32, "0f 84 01 02 03 04", 6, INSN_JCC),
    COND(32, "66 0f 84 01 02", 5, INSN_JCC),
    COND(32, "66 66 2e 0f 8f 01 02", 7, INSN_JCC),
    COND(16, "0f 84 01 02", 4, INSN_JCC),
    COND(16, "66 0f 84 01 02 03 04", 7, INSN_JCC),
    COND(32, "72 fe", 2, INSN_JCC),
    COND(16, "72 fe", 2, INSN_JCC),
    COND(64, "e3 00", 2, INSN_JCXZ),
    COND(64, "67 e3 00", 3, INSN_JCXZ),
    COND(32, "67 e3 00", 3, INSN_JCXZ),
    COND(16, "67 e3 00", 3, INSN_JCXZ),
    COND(64, "48 e3 00", 3, INSN_JCXZ),
    COND(64, "e2 fe", 2, INSN_LOOP),
    COND(64, "67 e2 fe", 3, INSN_LOOP),
    COND(64, "e1 fe", 2, INSN_LOOPE),
    COND(32, "66 e0 fe", 3, INSN_LOOPNE),
    NEAR(64, "eb 00", 2, INSN_JMP),
    NEAR(64, "e9 01 02 03 04", 5, INSN_JMP),
    NEAR(64, "66 e9 01 02 03 04", 6, INSN_JMP),
    NEAR(32, "66 e9 01 02", 4, INSN_JMP),
    NEAR(16, "e9 01 02", 3, INSN_JMP),
    NEAR(64, "ff e0", 2, INSN_JMP),
    NEAR(64, "3e ff e0", 3, INSN_JMP), /* NOTRACK */
    NEAR(64, "41 ff 24 c5 01 02 03 04", 8, INSN_JMP),
    NEAR(64, "e8 01 02 03 04", 5, INSN_CALL),
    NEAR(64, "66 66 48 e8 01 02 03 04", 8, INSN_CALL), /* as the TLS code of compilers has it */
    NEAR(64, "ff 15 01 02 03 04", 6, INSN_CALL),
    NEAR(64, "ff d0", 2, INSN_CALL),
    NEAR(64, "c3", 1, INSN_RET),
    NEAR(64, "f3 c3", 2, INSN_RET),
    NEAR(64, "c2 08 00", 3, INSN_RET),
    NEAR(32, "66 c3", 2, INSN_RET),
    FAR(64, "ff 18", 2, INSN_FAR_CALL),
    FAR(64, "48 ff 2c 24", 4, INSN_FAR_JMP),
    FAR(32, "9a 01 02 03 04 08 00", 7, INSN_FAR_CALL),
    FAR(32, "66 9a 01 02 08 00", 6, INSN_FAR_CALL),
    FAR(16, "ea 01 02 08 00", 5, INSN_FAR_JMP),
    FAR(64, "cb", 1, INSN_FAR_RET),
    FAR(64, "48 cb", 2, INSN_FAR_RET),
    FAR(64, "ca 08 00", 3, INSN_FAR_RET),
    FAR(64, "48 cf", 2, INSN_IRET),
    FAR(32, "cf", 1, INSN_IRET),
    FAR(64, "cd 80", 2, INSN_INT),
    FAR(64, "cd 03", 2, INSN_INT3),
    FAR(64, "cc", 1, INSN_INT3),
    FAR(64, "f1", 1, INSN_ICEBP),
    FAR(32, "ce", 1, INSN_INTO),
    FAR(64, "0f 05", 2, INSN_SYSCALL),
    FAR(64, "48 0f 07", 3, INSN_SYSRET),
    FAR(64, "0f 34", 2, INSN_SYSENTER),
    FAR(64, "48 0f 35", 3, INSN_SYSEXIT),
    UD(64, "9a 01 02 03 04 08 00"),
    UD(64, "ea 01 02 03 04 08 00"),
    UD(64, "ce"),
    UD(64, "ff d8"), /* far call with a register */
    UD(64, "ff f8"), /* FF /7 */
};

static const struct entry specials[] = {
    KIND(64, "9c", 1, INSN_PUSHF),
    KIND(64, "66 9c", 2, INSN_PUSHF),
    KIND(64, "9d", 1, INSN_POPF),
    KIND(64, "8e d0", 2, INSN_MOV_SS),
    KIND(64, "8e 54 24 08", 4, INSN_MOV_SS),
    KIND(64, "44 8e d0", 3, INSN_MOV_SS), /* REX.R means nothing there */
    KIND(32, "17", 1, INSN_POP_SS),
    OTHER(64, "8e d8", 2), /* DS */
    OTHER(64, "8c d0", 2),
    UD(64, "17"),
    KIND(64, "f3 a4", 2, INSN_REP_STRING),
    KIND(64, "f3 48 ab", 3, INSN_REP_STRING),
    KIND(64, "48 f3 ab", 3, INSN_REP_STRING), /* that REX does not count */
    KIND(64, "f2 ae", 2, INSN_REP_STRING),
    KIND(64, "f3 6e", 2, INSN_REP_STRING),
    OTHER(64, "a4", 1),
    OTHER(64, "f3 90", 2),
    OTHER(64, "f3 a8 01", 3), /* TEST stands amid the string instructions */
    KIND(64, "0f 31", 2, INSN_RDTSC),
    KIND(64, "0f 01 f9", 3, INSN_RDTSCP),
    KIND(64, "0f 33", 2, INSN_RDPMC),
    KIND(64, "0f 01 fd", 3, INSN_RDPRU),
    KIND(64, "0f a2", 2, INSN_CPUID),
    KIND(64, "0f c7 f0", 3, INSN_RDRAND),
    KIND(64, "49 0f c7 f7", 4, INSN_RDRAND),
    KIND(64, "66 0f c7 f0", 4, INSN_RDRAND),
    KIND(64, "48 0f c7 f8", 4, INSN_RDSEED),
    KIND(64, "f3 0f c7 f8", 4, INSN_RDPID),
    OTHER(64, "f3 0f c7 f0", 4), /* SENDUIPI */
    OTHER(64, "0f c7 0e", 3),    /* CMPXCHG8B */
    OTHER(64, "0f c7 36", 3),    /* VMPTRLD */
    KIND(64, "c7 f8 01 02 03 04", 6, INSN_XBEGIN),
    KIND(64, "66 c7 f8 01 02", 5, INSN_XBEGIN),
    OTHER(64, "c6 f8 01", 3), /* XABORT */
    OTHER(64, "c7 c0 01 02 03 04", 6),
    OTHER(64, "c7 38 01 02 03 04", 6),
    KIND(64, "f2 0f ae f1", 4, INSN_UMWAIT),
    KIND(64, "66 0f ae f1", 4, INSN_TPAUSE),
    KIND(64, "f3 0f ae f1", 4, INSN_UMONITOR),
    OTHER(64, "0f ae f0", 3),    /* MFENCE */
    OTHER(64, "66 0f ae 30", 4), /* CLWB */
    KIND(64, "0f 01 fa", 3, INSN_MONITORX),
    KIND(64, "0f 01 fb", 3, INSN_MWAITX),
    KIND(64, "0f 01 00", 3, INSN_DESCRIPTOR),
    KIND(64, "0f 01 08", 3, INSN_DESCRIPTOR),
    KIND(64, "0f 01 e0", 3, INSN_DESCRIPTOR),
    KIND(64, "0f 00 c8", 3, INSN_DESCRIPTOR),
    OTHER(64, "0f 01 d0", 3), /* XGETBV */
    OTHER(64, "0f 01 10", 3), /* LGDT */
};

static const struct entry lengths[] = {
    OTHER(64, "90", 1),
    OTHER(64, "48 89 e5", 3),
    OTHER(64, "48 b8 01 02 03 04 05 06 07 08", 10),
    OTHER(64, "48 66 b8 01 02", 5), /* 66 cancels the REX before it */
    OTHER(64, "66 48 b8 01 02 03 04 05 06 07 08", 11),
    OTHER(64, "b8 01 02 03 04", 5),
    OTHER(32, "66 b8 01 02", 4),
    OTHER(16, "b8 01 02", 3),
    OTHER(32, "48", 1), /* DEC */
    OTHER(64, "a0 01 02 03 04 05 06 07 08", 9),
    OTHER(64, "67 a0 01 02 03 04", 6),
    OTHER(32, "a3 01 02 03 04", 5),
    OTHER(16, "67 a3 01 02 03 04", 6),
    OTHER(64, "c8 10 00 01", 4), /* ENTER */
    OTHER(64, "f6 00 01", 3),
    OTHER(64, "f6 10", 2),
    OTHER(64, "66 f7 00 01 02", 5),
    OTHER(64, "48 f7 00 01 02 03 04", 7),
    OTHER(64, "f7 d8", 2),
    OTHER(64, "81 84 88 01 02 03 04 05 06 07 08", 11),
    OTHER(64, "8b 04 25 01 02 03 04", 7),
    OTHER(64, "0f 1f 44 00 00", 5),
    OTHER(64, "66 2e 0f 1f 84 00 00 00 00 00", 10),
    OTHER(64, "0f 0b", 2),
    OTHER(64, "0f 20 00", 3), /* MOV from CR0 knows no memory form */
    OTHER(64, "0f 70 c0 01", 4),
    OTHER(64, "66 0f 78 c0 01 02", 6),
    OTHER(64, "0f 0f c1 ae", 4), /* 3DNow! */
    OTHER(64, "66 0f 38 00 c1", 5),
    OTHER(64, "66 0f 3a 0f c1 08", 6),
    OTHER(64, "c5 f8 77", 3),
    OTHER(64, "c5 f9 70 c0 01", 5),
    OTHER(64, "c4 e2 7d 18 05 01 02 03 04", 9),
    OTHER(64, "c4 e3 7d 19 c1 01", 6),
    OTHER(64, "62 f1 7c 48 28 00", 6),
    OTHER(64, "62 f1 7d 48 70 c0 01", 7),
    OTHER(64, "62 f3 7d 48 1f 44 24 01 05", 9),
    OTHER(64, "8f e8 78 c0 c1 01", 6), /* XOP VPROTB */
    OTHER(64, "8f 00", 2),
    OTHER(32, "c5 00", 2), /* LDS */
    OTHER(32, "c4 45 01", 3),
    OTHER(32, "c5 f8 77", 3),
    OTHER(32, "62 00", 2), /* BOUND */
    OTHER(16, "8b 86 01 02", 4),
    OTHER(16, "8b 06 01 02", 4),
    OTHER(16, "8b 46 01", 3),
    OTHER(16, "67 8b 05 01 02 03 04", 7),
    OTHER(32, "67 8b 06 01 02", 5),
    UD(64, "06"),
    UD(64, "27"),
    UD(64, "60"),
    UD(64, "d5 00 90"),    /* REX2, which needs APX */
    UD(64, "66 c5 f8 77"), /* VEX after a prefix that it contains */
    UD(64, "48 c5 f8 77"),
    UD(64, "f0 62 f1 7c 48 28 00"),
};

static bool entry_fits(const struct entry *entry, const uint8_t *bytes, unsigned size)
{
    struct insn insn;
    int error = insn_decode(bytes, size, entry->mode, &insn);

    if (entry->length == INVALID)
        return error == INSN_INVALID;
    return !error && insn.length == entry->length && insn.class == entry->class &&
           insn.kind == entry->kind && insn.mode == entry->mode;
}

/* Every shorter piece is truncated; bytes behind the instruction change nothing. */
static bool cuts_fit(const struct entry *entry, const uint8_t *bytes)
{
    for (unsigned size = 0; size < entry->length; size++) {
        uint8_t *piece = malloc(size ? size : 1);
        struct insn insn;
        int error;

        memcpy(piece, bytes, size);
        error = insn_decode(piece, size, entry->mode, &insn);
        free(piece);
        if (error != INSN_TRUNCATED)
            return false;
    }
    return true;
}

static void test_table(const struct entry *entries, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const struct entry *entry = &entries[i];
        unsigned size;
        uint8_t *bytes = bytes_of(entry->hex, &size), longer[64];

        memset(longer, 0xcc, sizeof longer);
        memcpy(longer, bytes, size);
        ok(entry_fits(entry, bytes, size) && entry_fits(entry, longer, sizeof longer) &&
               cuts_fit(entry, bytes),
           "mode %d: %s", entry->mode, entry->hex);
        free(bytes);
    }
}

/* Every Jcc, short and near, in each mode, behind each prefix, and how long it is. */
static void test_all_jcc(void)
{
    static const uint8_t prefixes[] = {0, 0x66, 0x67, 0x2e, 0x3e, 0x64, 0xf2, 0xf3, 0xf0};
    static const enum insn_mode modes[] = {INSN_MODE_16, INSN_MODE_32, INSN_MODE_64};
    unsigned wrong = 0, tested = 0;

    for (unsigned i = 0; i < 3 * sizeof prefixes * 16; i++) {
        uint8_t prefix = prefixes[i / 48], code[16] = {prefix}, *at = code + (prefix != 0);
        enum insn_mode mode = modes[i % 3];
        bool word = mode != INSN_MODE_64 && (mode == INSN_MODE_16) != (prefix == 0x66);
        struct insn insn;
        unsigned start = at - code, condition = i / 3 % 16;

        at[0] = 0x70 | condition;
        wrong += insn_decode(code, sizeof code, mode, &insn) || insn.length != start + 2 ||
                 insn.kind != INSN_JCC || insn.condition != condition;
        at[0] = 0x0f;
        at[1] = 0x80 | condition;
        wrong += insn_decode(code, sizeof code, mode, &insn) ||
                 insn.length != start + (word ? 4 : 6) || insn.kind != INSN_JCC ||
                 insn.class != INSN_COND_BRANCH || insn.condition != condition;
        wrong += insn.length_varies != (mode == INSN_MODE_64 && prefix == 0x66);
        tested += 2;
    }
    is_u64(wrong, 0, "all Jcc in all modes behind all prefixes (%u)", tested);
}

static void test_limits(void)
{
    uint8_t code[32];
    struct insn insn;

    memset(code, 0x66, sizeof code);
    code[14] = 0x90;
    is_u64(insn_decode(code, 32, INSN_MODE_64, &insn) ? 0 : insn.length, 15, "15 bytes are valid");
    is_u64(insn.prefixes.count, 14, "14 of them prefixes");
    code[14] = 0x66;
    code[15] = 0x90;
    ok(insn_decode(code, 32, INSN_MODE_64, &insn) == INSN_INVALID, "16 bytes are not");
    ok(insn_decode(code, 15, INSN_MODE_64, &insn) == INSN_INVALID, "which 15 prefixes tell");
    ok(insn_decode(code, 14, INSN_MODE_64, &insn) == INSN_TRUNCATED, "14 may still become one");
    code[10] = 0xe9;
    is_u64(insn_decode(code, 32, INSN_MODE_64, &insn) ? 0 : insn.length, 15,
           "an immediate up to byte 15");
    code[10] = 0x66;
    code[11] = 0xe9;
    ok(insn_decode(code, 32, INSN_MODE_64, &insn) == INSN_INVALID, "an immediate across byte 15");
    ok(insn_decode(NULL, 0, INSN_MODE_64, &insn) == INSN_TRUNCATED, "nothing at all");
}

static void test_prefixes(void)
{
    struct insn insn;

    decode_hex("64 66 67 f2 f3 f0 4d 89 08", INSN_MODE_64, &insn);
    ok(insn.prefixes.operand_size && insn.prefixes.address_size && insn.prefixes.lock,
       "66, 67 and F0 are seen");
    is_u64(insn.prefixes.repeat, 0xf3, "the last of F2 and F3 counts");
    is_u64(insn.prefixes.rex, 0x4d, "REX");
    is_u64(insn.prefixes.count, 7, "how many there are");
    is_u64(insn.operand_size, 8, "REX.W beats 66");
    is_u64(insn.address_size, 4, "address size with 67");
    ok(insn.reg == 9 && insn.operand.base == 8, "REX.R and REX.B extend the registers");
    decode_hex("49 64 89 08", INSN_MODE_64, &insn);
    ok(!insn.prefixes.rex && insn.operand.base == 0 && insn.operand_size == 4,
       "a REX before another prefix is void");
    decode_hex("40 4f 89 08", INSN_MODE_64, &insn);
    is_u64(insn.prefixes.rex, 0x4f, "of two REX the last counts");
    decode_hex("64 3e 89 08", INSN_MODE_64, &insn);
    is_u64(insn.prefixes.segment, INSN_SEGMENT_FS, "64-bit: DS does not replace FS");
    decode_hex("64 3e 89 08", INSN_MODE_32, &insn);
    is_u64(insn.prefixes.segment, INSN_SEGMENT_DS, "32-bit: the last override counts");
    decode_hex("66 0f 84 01 02", INSN_MODE_32, &insn);
    is_u64(insn.operand_size, 2, "operand size of a 16-bit branch");
    decode_hex("66 9c", INSN_MODE_64, &insn);
    is_u64(insn.operand_size, 2, "66 PUSHF pushes 2 bytes");
    decode_hex("9c", INSN_MODE_64, &insn);
    is_u64(insn.operand_size, 8, "PUSHF pushes 8 bytes");
    decode_hex("66 ff d0", INSN_MODE_64, &insn);
    is_u64(insn.operand_size, 8, "near branches have 64-bit targets");
}

static void test_fields(void)
{
    struct insn insn;

    decode_hex("48 c7 84 88 44 33 22 11 88 77 66 85", INSN_MODE_64, &insn);
    ok(insn.opcode_offset == 1 && insn.displacement_offset == 4 && insn.displacement_size == 4 &&
           insn.immediate_offset == 8 && insn.immediate_size == 4,
       "offsets and sizes of displacement and immediate");
    ok(insn.operand.displacement == 0x11223344 && insn.immediate == (int32_t)0x85667788,
       "and their values");
    decode_hex("c8 34 12 02", INSN_MODE_64, &insn);
    ok(insn.immediate == 0x1234 && insn.immediate_size == 3, "ENTER's two immediates");
    decode_hex("cd f0", INSN_MODE_64, &insn);
    is_u64(insn.immediate, 0xf0, "INT's vector is unsigned");
    decode_hex("62 61 7c 40 28 f7", INSN_MODE_64, &insn);
    ok(insn.reg == 30 && insn.operand.is_register && insn.operand.rm == 7, "EVEX registers");
}

/* Random bytes: never reads too far (the sanitizer looks), never longer than it may be, and each
 * result is independent of what follows. */
static void test_random_bytes(void)
{
    unsigned wrong = 0, valid = 0;
    uint64_t seed = 7;

    for (unsigned i = 0; i < 300000; i++) {
        static const enum insn_mode modes[] = {INSN_MODE_16, INSN_MODE_32, INSN_MODE_64};
        unsigned size = random_below(&seed, 18);
        uint8_t *bytes = malloc(size ? size : 1);
        enum insn_mode mode = modes[i % 3];
        struct insn insn, again;

        for (unsigned j = 0; j < size; j++)
            bytes[j] = random_below(&seed, 4) ? random_u64(&seed) >> 40 : 0x66;
        if (!insn_decode(bytes, size, mode, &insn)) {
            valid++;
            wrong += !insn.length || insn.length > INSN_MAX_LENGTH || insn.length > size ||
                     insn_decode(bytes, insn.length, mode, &again) || again.length != insn.length ||
                     insn_decode(bytes, insn.length - 1, mode, &again) != INSN_TRUNCATED;
        }
        free(bytes);
    }
    ok(!wrong && valid > 100000, "random bytes: %u valid instructions", valid);
}

#define TEST_TABLE(entries) test_table(entries, sizeof entries / sizeof entries[0])

int main(void)
{
    TEST_TABLE(branches);
    TEST_TABLE(specials);
    TEST_TABLE(lengths);
    test_all_jcc();
    test_limits();
    test_prefixes();
    test_fields();
    test_random_bytes();
    return done();
}
