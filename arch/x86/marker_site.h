/* SPDX-License-Identifier: MIT */
/* The instructions of a marker's place, for each kind, and what .markers says about it.
 *
 * For kernel/marker.h only, whose macros hand in `site`, a `struct marker_site` of static storage.
 * Each kind's off state is what the compiler leaves; BOOT_CALL alone is off only after boot.
 */
#ifndef ARCH_X86_MARKER_SITE_H
#define ARCH_X86_MARKER_SITE_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/x86/frame.h"

/* MK(NAME, "text"); what is patched into what: docs/markers.md */
#define MARKER_KIND_TABLE(MK)                                                                      \
    MK(NOP_JMP, "nop-jmp")                                                                         \
    MK(IMMEDIATE, "immediate")                                                                     \
    MK(FRAME_JUMP, "frame-jump")                                                                   \
    MK(CALL_STUB, "call-stub")                                                                     \
    MK(BOOT_CALL, "boot-call")                                                                     \
    MK(INT3, "int3")

enum marker_kind {
#define MK(name, text) MARKER_##name,
    MARKER_KIND_TABLE(MK)
#undef MK
        MARKER_KINDS
};

struct marker_site;

/* One place in the text, in .markers. */
struct marker_place {
    uint64_t address;
    uint64_t target; /* where it jumps or what it calls; 0: the kind does neither */
    const struct marker_site *site;
    const char *operands; /* "%rdi $5 ": where each argument is at the place; NULL: the kind's code
                             evaluates them itself */
    uint8_t length;
    uint8_t kind;
    uint8_t reserved[6];
};
_Static_assert(sizeof(struct marker_place) == 40, "MARKER_PLACE writes it");

/* Two addresses that may be stepped through as arrays (linker.ld). */
extern const struct marker_place marker_places_start[], marker_places_end[];

/* The place is from label 771 to 772 in the code, and at label 774 in .markers. */
#define MARKER_PLACE(target, operands)                                                             \
    "\n\t.pushsection .markers.places,\"a\"\n\t.balign 8\n"                                        \
    "774:\t.quad 771b, " target ", %c[site], " operands "\n\t.byte 772b - 771b, %c[kind]\n"        \
    "\t.balign 8\n\t.popsection\n"

/* The operands' text in the assembler's own words: what `values` below names. */
#define MARKER_OPERANDS(text)                                                                      \
    "\n\t.pushsection .rodata.markers,\"a\"\n775:\t.asciz \"" text "\"\n\t.popsection"
#define MARKER_OPERANDS_0 ""
#define MARKER_OPERANDS_1 "%[a0] "
#define MARKER_OPERANDS_2 MARKER_OPERANDS_1 "%[a1] "
#define MARKER_OPERANDS_3 MARKER_OPERANDS_2 "%[a2] "
#define MARKER_OPERANDS_4 MARKER_OPERANDS_3 "%[a3] "
#define MARKER_OPERANDS_5 MARKER_OPERANDS_4 "%[a4] "
#define MARKER_OPERANDS_6 MARKER_OPERANDS_5 "%[a5] "

/* --- code out of line --- */

/* marker_hit(site, values) by way of a stub that changes no register, so that the code around the
 * marker is compiled as if there were no call. The kernel has no red zone: what is below RSP is
 * free, and no operand may be relative to it. */
#define MARKER_PUSH_0 ""
#define MARKER_PUSH_1 "pushq %[a0]\n\t"
#define MARKER_PUSH_2 "pushq %[a1]\n\t" MARKER_PUSH_1
#define MARKER_PUSH_3 "pushq %[a2]\n\t" MARKER_PUSH_2
#define MARKER_PUSH_4 "pushq %[a3]\n\t" MARKER_PUSH_3
#define MARKER_PUSH_5 "pushq %[a4]\n\t" MARKER_PUSH_4
#define MARKER_PUSH_6 "pushq %[a5]\n\t" MARKER_PUSH_5

/* count: a digit; the rest: `, [a0] "r"(value) …`. */
#define MARKER_CALL_OUT_OF_LINE(site_, count, ...)                                                 \
    __asm__ volatile(MARKER_PUSH_##count "pushq %[site]\n\tcall marker_quiet_entry\n\t"            \
                                         "addq $8 * (1 + " #count "), %%rsp"                       \
                     :                                                                             \
                     : [site] "i"(site_)__VA_ARGS__                                                \
                     : "memory", "cc")

/* --- the kinds --- */

#define MARKER_CODE_NOP_JMP(site_, label)                                                          \
    __asm__ goto("771:\t.byte 0x0f, 0x1f, 0x44, 0, 0\n772:" MARKER_PLACE("%l[" #label "]", "0")    \
                 :                                                                                 \
                 : [site] "i"(site_), [kind] "i"(MARKER_NOP_JMP)                                   \
                 :                                                                                 \
                 : label)

#define MARKER_CODE_IMMEDIATE(site_, result)                                                       \
    __asm__ volatile("771:\tmovl $0, %[on]\n772:" MARKER_PLACE("0", "0")                           \
                     : [on] "=r"(result)                                                           \
                     : [site] "i"(site_), [kind] "i"(MARKER_IMMEDIATE))

#define MARKER_CODE_FRAME_JUMP(site_, count, ...)                                                  \
    __asm__ volatile(                                                                              \
        "771:\t.byte 0x66, 0x0f, 0x1f, 0x44, 0, 0\n772:" MARKER_OPERANDS(MARKER_OPERANDS_##count)  \
            MARKER_PLACE("773f",                                                                   \
                         "775b") "\t.pushsection .text.markers,\"ax\"\n"                           \
                                 "773:\tpushq $774b\n\tjmp marker_frame_entry\n\t.popsection"      \
        :                                                                                          \
        : [site] "i"(site_), [kind] "i"(MARKER_FRAME_JUMP)__VA_ARGS__                              \
        : "memory")

#define MARKER_CODE_CALL_STUB(site_, count, ...)                                                   \
    __asm__ volatile("771:\t.byte 0x0f, 0x1f, 0x44, 0, 0\n772:" MARKER_OPERANDS(                   \
                         MARKER_OPERANDS_##count) MARKER_PLACE("marker_call_entry", "775b")        \
                     :                                                                             \
                     : [site] "i"(site_), [kind] "i"(MARKER_CALL_STUB)__VA_ARGS__                  \
                     : "memory", "cc")

#define MARKER_CODE_BOOT_CALL(site_, values)                                                       \
    do {                                                                                           \
        const void *marker_rdi_ = (site_), *marker_rsi_ = (values);                                \
        __asm__ volatile(                                                                          \
            "771:\tcall marker_boot_entry\n772:" MARKER_PLACE("marker_boot_entry", "0")            \
            : "+D"(marker_rdi_), "+S"(marker_rsi_)                                                 \
            : [site] "i"(site_), [kind] "i"(MARKER_BOOT_CALL)                                      \
            : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc");                      \
    } while (0)

#define MARKER_CODE_INT3(site_, count, ...)                                                        \
    __asm__ volatile("771:\tnop\n772:" MARKER_OPERANDS(MARKER_OPERANDS_##count)                    \
                         MARKER_PLACE("0", "775b")                                                 \
                     :                                                                             \
                     : [site] "i"(site_), [kind] "i"(MARKER_INT3)__VA_ARGS__                       \
                     : "memory")

/* --- what the entries in marker_entry.asm call; kernel/marker.c has them --- */

/* NOP_JMP, IMMEDIATE, BOOT_CALL: the code has evaluated the arguments. */
void marker_hit(const struct marker_site *site, const uint64_t *args);
/* FRAME_JUMP. Changes of the frame take effect: all registers, flags and rip, but for rsp. */
void marker_hit_frame(struct trap_frame *frame, const struct marker_place *place);
/* CALL_STUB; of the frame only the general registers are there. */
void marker_hit_call(uint64_t address, const struct trap_frame *registers);

/* --- patching --- */

struct text_patch;

/* What turns the place on, or off. */
void marker_place_patch(const struct marker_place *place, bool on, struct text_patch *patch);

/* The value of argument `index` at a place with operands, from the registers there. */
uint64_t marker_place_operand(const struct marker_place *place, unsigned index,
                              const struct trap_frame *registers);

#endif
