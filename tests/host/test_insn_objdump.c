/* SPDX-License-Identifier: MIT */
/* The decoder's lengths against objdump's: real programs, and random instructions of all maps.
 *
 * Random instructions stand in slots, padded with NOPs, so that objdump finds each slot's start
 * again whatever it made of the slot before. What it calls bad, or shows as a prefix alone, says
 * nothing about a length and is not compared; how much that was is checked, too.
 */
#include <stdlib.h>
#include <unistd.h>
#include "arch/x86/insn.h"
#include "tests/host/objdump.h"
#include "tests/host/random.h"
#include "tests/host/tap.h"

#define SLOT 32u /* two longest instructions */
#define SLOTS 60000u
#define NOP 0x90
#define REPORTED 20

struct comparison {
    enum insn_mode mode;
    unsigned compared, branches, skipped, differing;
};

/* "rex.W", "data16", "repz fs": prefixes that objdump could not attach to an instruction. */
static bool is_prefix_only(const char *text)
{
    static const char *const prefixes[] = {"data16", "data32", "addr16", "addr32", "repz",
                                           "repnz",  "rep",    "lock",   "cs",     "ds",
                                           "es",     "fs",     "gs",     "ss",     "bnd"};
    size_t length = strcspn(text, " ");

    if (!strncmp(text, "rex", 3) && (text[3] == '.' || text[3] == ' ' || !text[3]))
        return !text[length + strspn(text + length, " ")];
    for (unsigned i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (strlen(prefixes[i]) == length && !strncmp(text, prefixes[i], length)) {
            text += length + strspn(text + length, " ");
            return !*text || is_prefix_only(text);
        }
    return false;
}

/* How many prefix bytes the line begins with; *contained: one that VEX and EVEX contain? */
static unsigned count_prefixes(const struct line *line, bool *contained)
{
    static const char harmless[] = "\x26\x2e\x36\x64\x65\x67";
    static const char others[] = "\x66\xf0\xf2\xf3@ABCDEFGHIJKLMNO";
    unsigned i;

    *contained = false;
    for (i = 0; i < line->length; i++) {
        if (memchr(others, line->bytes[i], sizeof others - 1))
            *contained = true;
        else if (!memchr(harmless, line->bytes[i], sizeof harmless - 1))
            break;
    }
    return i;
}

static uint8_t first_opcode(const struct line *line)
{
    bool contained;
    unsigned prefixes = count_prefixes(line, &contained);

    return prefixes < line->length ? line->bytes[prefixes] : 0;
}

/* objdump joins FWAIT (9B), an instruction of its own, with the x87 instruction behind it. */
static bool is_known(const struct line *line)
{
    return !strstr(line->text, "(bad)") && line->text[0] != '.' && !is_prefix_only(line->text) &&
           first_opcode(line) != 0x9b;
}

/* What objdump shows although every CPU since the Pentium raises #UD: MOV from and to test
 * registers, and VEX, EVEX or XOP after a prefix that they contain. */
static bool is_undefined(const struct line *line)
{
    uint8_t opcode = first_opcode(line);
    bool contained;

    count_prefixes(line, &contained);
    return strstr(line->text, "%tr") || opcode == 0xd5 ||
           (contained && (opcode == 0xc4 || opcode == 0xc5 || opcode == 0x62 || opcode == 0x8f));
}

/* jo … jg, jcxz, loop and the like, behind any prefixes that the line shows. */
static bool is_conditional(const char *text)
{
    for (; *text; text += strcspn(text, " "), text += strspn(text, " "))
        if ((text[0] == 'j' && strncmp(text, "jmp", 3)) || !strncmp(text, "loop", 4))
            return true;
    return false;
}

static void compare_line(struct comparison *comparison, const struct line *line,
                         const uint8_t *bytes, unsigned available)
{
    struct insn insn;
    int error = insn_decode(bytes, available, comparison->mode, &insn);
    bool branch = !error && insn.class == INSN_COND_BRANCH;

    if (error == INSN_INVALID && is_undefined(line)) {
        comparison->skipped++;
        return;
    }
    comparison->compared++;
    comparison->branches += branch;
    if (!error && insn.length == line->length && branch == is_conditional(line->text))
        return;
    if (comparison->differing++ < REPORTED) {
        diag("mode %d: error %d, length %u, conditional %d; objdump: %u, %s", comparison->mode,
             error, error ? 0 : insn.length, branch, line->length, line->text);
        printf("#  ");
        for (unsigned i = 0; i < line->length; i++)
            printf(" %02x", line->bytes[i]);
        putchar('\n');
    }
}

/* Every instruction of an ELF file's .text. False when objdump cannot be run on it. */
static bool compare_program(const char *path, struct comparison *comparison)
{
    char command[300], text[400];
    struct line line;
    FILE *pipe;

    snprintf(command, sizeof command,
             "objdump -d -w -M intel64 --insn-width=16 -j .text '%s' 2>/dev/null", path);
    pipe = popen(command, "r");
    while (pipe && fgets(text, sizeof text, pipe)) {
        if (!parse_line(text, &line))
            continue;
        if (is_known(&line))
            compare_line(comparison, &line, line.bytes, line.length);
        else
            comparison->skipped++;
    }
    return pipe && !pclose(pipe) && comparison->compared;
}

static void test_program(const char *path)
{
    struct comparison comparison = {.mode = INSN_MODE_64};

    if (access(path, R_OK) || !compare_program(path, &comparison)) {
        skip(path, "not here, or no objdump");
        return;
    }
    is_u64(comparison.differing, 0, "%s: %u instructions, %u conditional branches", path,
           comparison.compared, comparison.branches);
}

/* --- random instructions --- */

/* Legacy maps for the most part, then VEX and EVEX. Everything but the map is random. */
static void make_instruction(uint8_t *out, enum insn_mode mode, uint64_t *seed)
{
    static const uint8_t prefixes[] = {0x66, 0x67, 0xf2, 0xf3, 0x2e, 0x36, 0x64, 0x65, 0xf0};
    uint8_t *at = out;
    unsigned map = "0000111123vvee"[random_below(seed, 14)];

    memset(out, NOP, SLOT);
    if (map <= '3') {
        for (unsigned count = random_below(seed, 3); count; count--)
            *at++ = prefixes[random_below(seed, sizeof prefixes)];
        if (mode == INSN_MODE_64 && random_below(seed, 2))
            *at++ = 0x40 | random_below(seed, 16);
    }
    if (map >= '1' && map <= '3')
        *at++ = 0x0f;
    if (map == '2' || map == '3')
        *at++ = map == '2' ? 0x38 : 0x3a;
    if (map == 'v') { /* VEX, with reasonable fields */
        *at++ = 0xc4;
        *at++ = 0xe0 | (1 + random_below(seed, 3));
        *at++ = random_u64(seed);
    }
    if (map == 'e') { /* EVEX */
        *at++ = 0x62;
        *at++ = 0xf0 | (1 + random_below(seed, 3));
        *at++ = random_u64(seed) | 4;
        *at++ = random_u64(seed);
    }
    *at++ = random_u64(seed) >> 16;
    *at++ = random_u64(seed) >> 24;
    for (unsigned i = 0; i < 10; i++)
        *at++ = random_u64(seed) >> 32;
}

static bool disassemble(const char *path, const uint8_t *code, struct comparison *comparison)
{
    static const char *const machines[] = {"i8086", "i386", "i386:x86-64 -M intel64"};
    char command[300], text[400];
    struct line line;
    FILE *pipe;

    snprintf(command, sizeof command,
             "objdump -D -w --insn-width=16 -b binary -m %s '%s' 2>/dev/null",
             machines[comparison->mode / 32], path);
    pipe = popen(command, "r");
    while (pipe && fgets(text, sizeof text, pipe)) {
        if (!parse_line(text, &line) || line.address % SLOT || line.address >= SLOT * SLOTS)
            continue;
        if (is_known(&line))
            compare_line(comparison, &line, code + line.address, SLOT);
        else
            comparison->skipped++;
    }
    return pipe && !pclose(pipe) && comparison->compared;
}

static void test_random(enum insn_mode mode)
{
    struct comparison comparison = {.mode = mode};
    char path[] = "/tmp/test_insn.XXXXXX";
    uint8_t *code = malloc(SLOT * SLOTS);
    uint64_t seed = 1000 + mode;
    int file = mkstemp(path);

    for (unsigned i = 0; i < SLOTS; i++)
        make_instruction(code + i * SLOT, mode, &seed);
    if (file < 0 || write(file, code, SLOT * SLOTS) != SLOT * SLOTS ||
        !disassemble(path, code, &comparison)) {
        skip("random instructions", "no objdump or no temporary file");
    } else {
        is_u64(comparison.differing, 0, "mode %d: %u random instructions, %u not comparable", mode,
               comparison.compared, comparison.skipped);
        ok(comparison.compared > SLOTS / 3 && comparison.branches > 100,
           "mode %d: enough are comparable, and conditional branches are among them", mode);
    }
    close(file);
    unlink(path);
    free(code);
}

int main(void)
{
    test_program("/bin/bash");
    test_program("/lib/x86_64-linux-gnu/libc.so.6");
    test_random(INSN_MODE_64);
    test_random(INSN_MODE_32);
    test_random(INSN_MODE_16);
    return done();
}
