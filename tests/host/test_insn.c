/* SPDX-License-Identifier: MIT */
/* The instruction decoder: a table of what must be recognised in which mode, each entry also cut
 * at every length; prefixes; operands; conditions against this CPU; the loader's scan.
 */
#include <stdlib.h>
#include "arch/x86/insn.h"
#include "tests/host/random.h"
#include "tests/host/tap.h"

#define INVALID 0 /* as an expected length */

struct entry {
    const char *hex;
    uint8_t mode, length, class, kind;
};

#define OTHER(mode, hex, length) {hex, mode, length, INSN_OTHER, INSN_PLAIN}
#define KIND(mode, hex, length, kind) {hex, mode, length, INSN_OTHER, kind}
#define COND(mode, hex, length, kind) {hex, mode, length, INSN_COND_BRANCH, kind}
#define NEAR(mode, hex, length, class) {hex, mode, length, class, INSN_PLAIN}
#define FAR(mode, hex, length, kind) {hex, mode, length, INSN_FAR, kind}
#define UD(mode, hex) {hex, mode, INVALID, 0, 0}

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
    UD(64, "62 f1 7c 48 28 00" + 18), /* "" : nothing to decode is not UD, see test_limits */
};

/* Hexadecimal text as bytes in a block of exactly their number. */
static uint8_t *bytes_of(const char *hex, unsigned *size)
{
    uint8_t *bytes = malloc(32);
    char *end;

    for (*size = 0;; hex = end) {
        unsigned long byte = strtoul(hex, &end, 16);

        if (end == hex)
            break;
        bytes[(*size)++] = byte;
    }
    return realloc(bytes, *size ? *size : 1);
}
