/* SPDX-License-Identifier: MIT */
/* Instruction decoder: what is the instruction at RIP, how long is it, where is its operand.
 *
 * Used by the single-step tick source (is it a conditional branch? must it be handled specially?),
 * by emulation of trapped instructions, by the loader's scan and by dynamic probes.
 * Pure: no state, no allocation, any context; also compiled for the host.
 *
 * Known: the one-byte map, 0F, 0F 38, 0F 3A, 3DNow!, VEX, EVEX and XOP. What an opcode requires
 * (LOCK allowed?, CPL, features) is not checked; an opcode that no manual defines is taken
 * to be "ModRM, no immediate". Source: Intel SDM vol. 2, chapter 2 and appendix A.
 */
#ifndef ARCH_X86_INSN_H
#define ARCH_X86_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INSN_MAX_LENGTH 15
#define INSN_NO_REGISTER (-1)

enum insn_mode {
    INSN_MODE_16 = 16, /* code segment with D = 0 */
    INSN_MODE_32 = 32,
    INSN_MODE_64 = 64,
};

/* What insn_decode returns other than 0. */
#define INSN_TRUNCATED (-1) /* the instruction goes on after `available` */
#define INSN_INVALID (-2)   /* the CPU raises #UD, or #GP for more than 15 bytes */

enum insn_class {
    INSN_OTHER,
    INSN_COND_BRANCH, /* Jcc, JCXZ/JECXZ/JRCXZ, LOOP, LOOPE, LOOPNE: one tick when it retires */
    INSN_JMP,         /* near, direct or indirect */
    INSN_CALL,        /* near, direct or indirect */
    INSN_RET,         /* near */
    INSN_FAR,         /* far JMP, CALL, RET; INT n, INT3, INTO, INT1, IRET; SYSCALL and its kin */
};

/* K(NAME, text, untrappable): instructions that someone has to treat specially. Untrappable: a user
 * program can get a nondeterministic value from it, and (CPUID: on many CPUs) nothing traps it. */
#define INSN_KIND_TABLE(K)                                                                         \
    K(PLAIN, "-", false)                                                                           \
    K(JCC, "jcc", false)                                                                           \
    K(JCXZ, "jcxz", false) /* by address size: CX, ECX or RCX */                                   \
    K(LOOP, "loop", false)                                                                         \
    K(LOOPE, "loope", false)                                                                       \
    K(LOOPNE, "loopne", false)                                                                     \
    K(PUSHF, "pushf", false)                                                                       \
    K(POPF, "popf", false)                                                                         \
    K(MOV_SS, "mov ss", false) /* blocks #DB until after the next instruction */                   \
    K(POP_SS, "pop ss", false) /* the same; not in 64-bit mode */                                  \
    K(FAR_JMP, "jmp far", false)                                                                   \
    K(FAR_CALL, "call far", false)                                                                 \
    K(FAR_RET, "ret far", false)                                                                   \
    K(IRET, "iret", false)                                                                         \
    K(INT, "int", false)                                                                           \
    K(INT3, "int3", false) /* CC, and CD 03 */                                                     \
    K(INTO, "into", false)                                                                         \
    K(ICEBP, "int1", false)                                                                        \
    K(SYSCALL, "syscall", false)                                                                   \
    K(SYSRET, "sysret", false)                                                                     \
    K(SYSENTER, "sysenter", false)                                                                 \
    K(SYSEXIT, "sysexit", false)                                                                   \
    K(REP_STRING, "rep string", false) /* with F2 or F3; resumable, traps after each iteration */  \
    K(RDTSC, "rdtsc", false)                                                                       \
    K(RDTSCP, "rdtscp", false)                                                                     \
    K(RDPMC, "rdpmc", false)                                                                       \
    K(RDPRU, "rdpru", false)                              /* obeys CR4.TSD */                      \
    K(DESCRIPTOR, "sgdt, sidt, sldt, str or smsw", false) /* trapped by UMIP */                    \
    K(CPUID, "cpuid", true)                                                                        \
    K(RDRAND, "rdrand", true)                                                                      \
    K(RDSEED, "rdseed", true)                                                                      \
    K(RDPID, "rdpid", true)                                                                        \
    K(XBEGIN, "xbegin", true)                                                                      \
    K(UMONITOR, "umonitor", true)                                                                  \
    K(UMWAIT, "umwait", true)                                                                      \
    K(TPAUSE, "tpause", true)                                                                      \
    K(MONITORX, "monitorx", true)                                                                  \
    K(MWAITX, "mwaitx", true)

enum insn_kind {
#define K(name, text, untrappable) INSN_##name,
    INSN_KIND_TABLE(K)
#undef K
        INSN_KIND_COUNT,
};

/* The numbers of the segment registers in ModRM.reg and in override prefixes. */
enum insn_segment {
    INSN_SEGMENT_ES,
    INSN_SEGMENT_CS,
    INSN_SEGMENT_SS,
    INSN_SEGMENT_DS,
    INSN_SEGMENT_FS,
    INSN_SEGMENT_GS,
    INSN_SEGMENT_NONE, /* no override. In 64-bit mode ES, CS, SS, DS overrides count as none */
};

struct insn_prefixes {
    bool operand_size; /* 66 */
    bool address_size; /* 67 */
    bool lock;         /* F0 */
    uint8_t repeat;    /* 0, 0xf2 or 0xf3: the last of them */
    uint8_t rex;       /* 0x40…0x4f when it counts, i.e. stands right before the opcode; else 0 */
    uint8_t segment;   /* enum insn_segment: the last override */
    uint8_t count;     /* legacy prefix and REX bytes, redundant ones included */
    uint8_t vector;    /* 0, 0xc5 or 0xc4 (VEX), 0x62 (EVEX), 0x8f (XOP) */
};

/* What ModRM's r/m (or the address of MOV's A0…A3) names. */
struct insn_operand {
    bool present;
    bool is_register;
    bool rip_relative;
    bool address_known;   /* memory, and not a vector of addresses or a scaled EVEX displacement */
    uint8_t rm;           /* is_register: its number 0…15 (31 with EVEX) */
    int8_t base;          /* 0…15 or INSN_NO_REGISTER */
    int8_t index;         /* the same */
    uint8_t scale;        /* 1, 2, 4, 8 */
    int64_t displacement; /* sign-extended; zero-extended for A0…A3 */
};

/* Offsets are from the first byte of the instruction; a size of 0 = there is none. */
struct insn {
    uint8_t class; /* enum insn_class */
    uint8_t kind;  /* enum insn_kind */
    uint8_t mode;  /* enum insn_mode */
    uint8_t length;
    uint8_t operand_size; /* attribute: 2, 4 or 8; 8 for near branches and stack operations in
                             64-bit mode. Byte forms are not told apart: see the opcode */
    uint8_t address_size; /* 2, 4 or 8 */
    uint8_t map;          /* 0 one-byte, 1 0F, 2 0F 38, 3 0F 3A; VEX, EVEX, XOP: their field */
    uint8_t opcode;       /* the byte in that map */
    uint8_t reg;       /* ModRM.reg with its extension: a register, or (& 7) the opcode's group */
    uint8_t condition; /* INSN_JCC: 0…15, the opcode's low nibble */
    bool has_modrm;
    bool length_varies; /* near branch with 66 in 64-bit mode: this is Intel's reading (66 ignored,
                           rel32); AMD takes rel16, two bytes less */
    struct insn_prefixes prefixes;
    struct insn_operand operand;
    uint8_t opcode_offset;
    uint8_t displacement_offset, displacement_size;
    uint8_t immediate_offset, immediate_size; /* immediates and relative displacements; all of them
                                                 together where there are two */
    int64_t immediate; /* sign-extended; INT: vector; ENTER, far pointers: the first of two */
};

/* Decodes the instruction that starts at bytes[0]; reads at most min(available, 15) bytes.
 * 0, INSN_TRUNCATED or INSN_INVALID; *out is defined only for 0. */
int insn_decode(const uint8_t *bytes, unsigned available, enum insn_mode mode, struct insn *out);

/* Linear address of a memory operand (operand.address_known) with address-size truncation.
 * gpr: rax rcx rdx rbx rsp rbp rsi rdi r8…r15. next_rip: of the instruction after this one.
 * Segments other than FS and GS are taken to be flat. POP [rsp…] wants RSP as it is after the pop.
 */
uint64_t insn_effective_address(const struct insn *insn, const uint64_t gpr[16], uint64_t next_rip,
                                uint64_t fs_base, uint64_t gs_base);

/* INSN_COND_BRANCH: will it be taken with these registers (before it runs)? */
bool insn_condition(const struct insn *insn, uint64_t rflags, uint64_t rcx);

/* Direct near branches and XBEGIN: where to. False for indirect ones and all else. */
bool insn_branch_target(const struct insn *insn, uint64_t next_rip, uint64_t *target);

/* It writes its memory operand whatever is in it, so a fault there is one of a write, also where an
 * emulator reads first: LOCK, XCHG, and the plain forms that read, change and write. */
bool insn_writes_operand(const struct insn *insn);

const char *insn_kind_name(enum insn_kind kind); /* "rdrand" */
bool insn_is_untrappable(enum insn_kind kind);

/* Linear sweep over 64-bit code. Calls found() for each untrappable instruction, with its offset,
 * and returns how many there were. Data between code can give false alarms. What does not decode is
 * skipped byte by byte. found may be NULL. */
typedef void insn_scan_function(void *context, size_t offset, const struct insn *insn);
size_t insn_scan(const uint8_t *bytes, size_t length, insn_scan_function *found, void *context);

#endif
