/* SPDX-License-Identifier: MIT */
/* tf [int3|icebp|settf]: a program never sees that it is single-stepped.
 *
 * Runs every instruction by which ring 3 reads or loads EFLAGS and checks what it sees: TF clear,
 * the flags it loaded itself intact, IF and IOPL out of its reach. The result is the same stepped
 * or not, here or on Linux. With an argument it raises what must kill it: int3, icebp (#DB by
 * opcode F1) and settf (a TF of its own).
 */
#include <stdint.h>

#include "user/lib/check.h"
#include "user/lib/print.h"
#include "user/lib/string.h"
#include "user/lib/syscall.h"
#include "user/lib/thread.h"

#define FLAG_ONE 0x002ul
#define FLAG_TF 0x100ul
#define FLAG_IF 0x200ul
#define FLAG_IOPL 0x3000ul
#define FLAG_AC 0x40000ul
#define FLAGS_STATUS 0x8d5ul /* CF PF AF ZF SF OF */
#define FLAG_DF 0x400ul
#define FLAG_NT 0x4000ul
#define FLAG_ID 0x200000ul

/* The pages that a stack or an instruction is to cross. */
static unsigned char crossing[2 * PAGE_SIZE] __attribute__((aligned(4096)));
#define BOUNDARY (crossing + PAGE_SIZE)

typedef uint64_t tf_reader(void);
typedef uint64_t tf_loader(uint64_t flags);

tf_reader tf_pushf, tf_pushf_16, tf_pushf_rex, tf_pushf_16_rex, tf_pushf_segment, tf_pushf_16_twice,
    tf_pushf_rep, tf_pushf_dead_rex, tf_mov_ss_pushf, tf_mov_ss_memory_pushf, tf_mov_ss_pushf_16,
    tf_mov_ss_twice_pushf, tf_mov_ss_syscall, tf_raise_int3, tf_raise_icebp, tf_raise_settf;
tf_loader tf_popf, tf_popf_16, tf_mov_ss_popf, tf_iretq, tf_mov_ss_iretq, tf_iretd;
uint64_t tf_pushf_at(void *top);
uint64_t tf_dead_rex_is_dead(void);
uint64_t tf_pushf_16_at(void *top);
uint64_t tf_popf_at(uint64_t flags, void *bottom);
uint64_t tf_popf_16_at(uint64_t flags, void *bottom);
uint64_t tf_syscall(uint64_t flags, uint64_t seen[2]);

static const struct {
    const char *name;
    tf_reader *read;
} readers[] = {
    {"pushfq", tf_pushf},
    {"pushfw", tf_pushf_16},
    {"rex.w pushf", tf_pushf_rex},
    {"66 rex.w pushf", tf_pushf_16_rex},
    {"cs pushf", tf_pushf_segment},
    {"66 66 pushf", tf_pushf_16_twice},
    {"rep pushf", tf_pushf_rep},
    {"rex.w 66 pushf", tf_pushf_dead_rex},
    {"mov ss, pushfq", tf_mov_ss_pushf},
    {"mov ss from memory, pushfq", tf_mov_ss_memory_pushf},
    {"mov ss, pushfw", tf_mov_ss_pushf_16},
    {"mov ss twice, pushfq", tf_mov_ss_twice_pushf},
    {"mov ss, syscall: r11", tf_mov_ss_syscall},
};

static const struct {
    const char *name;
    tf_loader *load;
} loaders[] = {
    {"popfq", tf_popf},
    {"popfw", tf_popf_16},
    {"mov ss, popfq", tf_mov_ss_popf},
    {"iretq", tf_iretq},
    {"mov ss, iretq", tf_mov_ss_iretq},
    {"iretd", tf_iretd},
};

static const uint64_t loadable[] = {0, FLAGS_STATUS, FLAG_DF, 0x8c5, 0x011, FLAG_NT | 0x040};
static const uint64_t loadable_wide[] = {FLAG_AC, FLAG_ID | FLAG_DF};

/* Whatever arithmetic has left in the status flags is not looked at. */
static void check_plain(const char *what, uint64_t flags)
{
    check_equal(what, (long)(flags & ~FLAGS_STATUS), FLAG_ONE | FLAG_IF);
}

static void check_readers(void)
{
    bool dead_rex = tf_dead_rex_is_dead();

    if (!dead_rex)
        printf("tf: SKIP rex.w 66 pushf: this CPU obeys a REX prefix before another prefix\n");
    for (unsigned i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
        if (dead_rex || readers[i].read != tf_pushf_dead_rex)
            check_plain(readers[i].name, readers[i].read());
    for (unsigned bytes = 0; bytes <= 8; bytes++)
        check_plain("pushfq on a crossing stack", tf_pushf_at(BOUNDARY + bytes));
    for (unsigned bytes = 0; bytes <= 2; bytes++)
        check_plain("pushfw on a crossing stack", tf_pushf_16_at(BOUNDARY + bytes));
}

/* IF stays set and IOPL zero whatever ring 3 loads. */
static void check_loader(const char *what, tf_loader *load, uint64_t flags)
{
    long expected = (long)(flags | FLAG_ONE | FLAG_IF);

    check_equal(what, (long)load(flags | FLAG_ONE | FLAG_IF), expected);
    check_equal(what, (long)load(flags | FLAG_ONE), expected);
    check_equal(what, (long)load(flags | FLAG_ONE | FLAG_IOPL), expected);
}

static void check_loaders(void)
{
    for (unsigned i = 0; i < sizeof(loaders) / sizeof(loaders[0]); i++) {
        for (unsigned f = 0; f < sizeof(loadable) / sizeof(loadable[0]); f++)
            check_loader(loaders[i].name, loaders[i].load, loadable[f]);
        for (unsigned f = 0; f < sizeof(loadable_wide) / sizeof(loadable_wide[0]); f++) {
            if (loaders[i].load != tf_popf_16)
                check_loader(loaders[i].name, loaders[i].load, loadable_wide[f]);
        }
    }
}

static void check_crossing_loads(void)
{
    uint64_t flags = FLAG_ONE | FLAG_IF | FLAGS_STATUS;

    for (unsigned bytes = 0; bytes <= 8; bytes++)
        check_equal("popfq on a crossing stack", (long)tf_popf_at(flags, BOUNDARY - bytes),
                    (long)flags);
    for (unsigned bytes = 0; bytes <= 2; bytes++)
        check_equal("popfw on a crossing stack", (long)tf_popf_16_at(flags, BOUNDARY - bytes),
                    (long)flags);
}

/* R11 receives the flags at the call, and they are there again after it. */
static void check_syscall(void)
{
    static const uint64_t patterns[] = {0, FLAGS_STATUS, FLAG_DF, FLAG_NT, FLAG_AC, FLAG_ID | 1};

    for (unsigned i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        uint64_t seen[2];
        long flags = (long)(patterns[i] | FLAG_ONE | FLAG_IF);
        check_equal("flags after syscall", (long)tf_syscall((uint64_t)flags, seen), flags);
        check_equal("r11 after syscall", (long)seen[0], flags);
        check_equal("rcx after syscall, less the return address", (long)seen[1], 0);
    }
}

/* Runs code of which `before` bytes stand in one page and the rest in the next. */
static void check_text_at(const unsigned char *code, size_t size, size_t before)
{
    long area = sys_mmap(NULL, 2 * PAGE_SIZE, ABI_PROT_READ | ABI_PROT_WRITE,
                         ABI_MAP_PRIVATE | ABI_MAP_ANONYMOUS);

    if (area < 0) {
        check_equal("mmap for text", area, 0);
        return;
    }
    uintptr_t text = (uintptr_t)area + PAGE_SIZE - before;
    memcpy((void *)text, code, size);
    check_equal("mprotect of text",
                sys_mprotect((void *)area, 2 * PAGE_SIZE, ABI_PROT_READ | ABI_PROT_EXEC), 0);
    check_plain("pushfw or popfw across a page", ((tf_reader *)text)());
    sys_munmap((void *)area, 2 * PAGE_SIZE);
}

/* The instruction itself may cross a page: pushfw with its prefix on the first, and popfw. */
static void check_crossing_text(void)
{
    static const unsigned char code[] = {0x31, 0xc0, /* xor eax, eax */
                                         0x66, 0x9c, /* pushfw */
                                         0x66, 0x58, /* pop ax */
                                         0x66, 0x50, /* push ax */
                                         0x66, 0x9d, /* popfw */
                                         0xc3};      /* ret */
    static const unsigned char split_at[] = {3, 9};

    for (unsigned i = 0; i < sizeof(split_at); i++)
        check_text_at(code, sizeof(code), split_at[i]);
}

static int raise_fatal(const char *kind)
{
    if (strcmp(kind, "int3") == 0) {
        tf_raise_int3();
    } else if (strcmp(kind, "icebp") == 0) {
        tf_raise_icebp();
    } else if (strcmp(kind, "settf") == 0) {
        tf_raise_settf();
    } else {
        printf("tf: the argument must be int3, icebp or settf, not \"%s\"\n", kind);
        return 2;
    }
    printf("tf: %s did not end the program\n", kind);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return raise_fatal(argv[1]);
    check_begin("tf");
    check_readers();
    check_loaders();
    check_crossing_loads();
    check_syscall();
    check_crossing_text();
    return check_end();
}
