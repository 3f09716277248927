/* SPDX-License-Identifier: MIT */
/* What can be done with an instruction that a dynamic probe replaces: the pure part.
 *
 * The probed instruction has to take effect without standing where it stood. Ways, the cheapest
 * first: emulated  its effect on the trap frame is computed: near branches with a fixed target,
 * NOP, CLI boosted   a copy runs elsewhere, changed so that it has the effect of the original, and
 * a jump leads back; nobody is told when it has run stepped   a copy runs elsewhere under
 * RFLAGS.TF, interrupts off; the debug trap leads back Whole runs of instructions are copied in the
 * same way to replace them by one jump.
 *
 * Text, "from": where the instruction stands. "to": where its copy will run. Both lie in the kernel
 * image, so that 32 bits reach from one to the other.
 *
 * Pure, any context, also compiled for the host.
 */
#ifndef ARCH_X86_INSN_PROBE_H
#define ARCH_X86_INSN_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "arch/x86/frame.h"
#include "arch/x86/insn.h"

enum insn_probe_way {
    INSN_PROBE_REFUSED,
    INSN_PROBE_EMULATED,
    INSN_PROBE_BOOSTED,
    INSN_PROBE_STEPPED,
};

/* R(NAME, text): why there can be no probe, or no jump. */
#define INSN_PROBE_REFUSALS(R)                                                                     \
    R(NONE, "it can be probed")                                                                    \
    R(NOT_TEXT, "outside of the kernel's text")                                                    \
    R(NOT_BOUNDARY, "not the first byte of an instruction")                                        \
    R(NOPROBE, "on the path of probes themselves")                                                 \
    R(SITE, "a marker's place")                                                                    \
    R(JUMPED, "among the bytes of another probe's jump")                                           \
    R(UNDECODABLE, "not an instruction that is known")                                             \
    R(FAR, "a far transfer or software interrupt")                                                 \
    R(STI, "STI holds interrupts off for one instruction more, which would not be the next one")   \
    R(SS, "loads SS, which holds traps off for the next instruction")                              \
    R(HALT, "halts; an interrupt after STI could come before it")                                  \
    R(SWAPGS, "exchanges GS, which the probe itself needs")                                        \
    R(XBEGIN, "begins a transaction")                                                              \
    R(LENGTH, "its length depends on the CPU")                                                     \
    R(RSP, "a call through RSP")                                                                   \
    R(ADDRESS_SIZE, "an address of 32 bits relative to RIP")                                       \
    R(REACH, "its operand cannot be reached from the copy")                                        \
    R(NO_STEP, "transfers control, so it cannot be stepped")                                       \
    R(JUMP_CALL, "a call among the bytes of the jump")                                             \
    R(JUMP_TARGET, "a branch leads into the bytes of the jump")                                    \
    R(JUMP_END, "the bytes of the jump go beyond the function")                                    \
    R(JUMP_STEP, "an instruction among the bytes of the jump that has to be stepped")              \
    R(JUMP_SIZE, "the copy of the bytes of the jump is too long")

enum insn_probe_refusal {
#define R(name, text) INSN_PROBE_##name,
    INSN_PROBE_REFUSALS(R)
#undef R
};

const char *insn_probe_refusal_text(enum insn_probe_refusal refusal);

struct insn_probe {
    struct insn insn;
    uint8_t bytes[INSN_MAX_LENGTH];
    uint8_t way;     /* enum insn_probe_way: the best one */
    uint8_t refusal; /* enum insn_probe_refusal, for INSN_PROBE_REFUSED */
    bool can_step;
};

void insn_probe_classify(const uint8_t *bytes, unsigned available, struct insn_probe *out);

#define INSN_PROBE_COPY_MAX 20 /* the longest copy of one instruction */

/* The copy, without a jump back: its length, or 0 if its operand or target is out of reach. After
 * its last byte execution goes on for what falls through. */
unsigned insn_probe_relocate(const struct insn_probe *probe, uint64_t from, uint64_t to,
                             uint8_t out[INSN_PROBE_COPY_MAX]);

/* A near jump with 32 bits: 5 bytes; false if out of reach. */
#define INSN_PROBE_JUMP_LENGTH 5
bool insn_probe_make_jump(uint64_t from, uint64_t target, uint8_t out[INSN_PROBE_JUMP_LENGTH]);

/* Execution stands at `offset` of the copy: at which address of the original is that the same, if
 * *rsp is added to RSP? For offsets at which an instruction of the copy begins. */
uint64_t insn_probe_resolve(const struct insn_probe *probe, uint64_t from, unsigned offset,
                            int64_t *rsp);

/* INSN_PROBE_EMULATED: what the instruction at frame->rip does. */
void insn_probe_emulate(const struct insn_probe *probe, struct trap_frame *frame);

/* INSN_PROBE_STEPPED: after the copy's debug trap, what the step did to flags; `enabled`: whether
 * interrupts were on before. RIP is the caller's. stack: the image that PUSHF left at RSP. */
void insn_probe_finish_step(const struct insn_probe *probe, struct trap_frame *frame,
                            uint64_t *stack, bool enabled);

/* --- where instructions begin and branches lead --- */

/* One bit for each byte of text. The caller provides the (zeroed) bitmaps. */
struct text_map {
    uint64_t start;
    size_t size;
    uint8_t *starts;  /* an instruction begins */
    uint8_t *targets; /* something leads there, or may */
};

/* Decodes text from `offset` to `end`, both offsets and the bounds of one function or symbol. What
 * does not decode ends the sweep. Direct branches, immediates and addresses relative to RIP mark
 * targets. */
void text_map_sweep(struct text_map *map, const uint8_t *text, size_t offset, size_t end);

/* Each 8 bytes that are an address of text, aligned or not, are a target: tables of switch
 * statements, fixups, pointers. */
void text_map_add_data(struct text_map *map, const uint8_t *data, size_t size);

bool text_map_is_start(const struct text_map *map, uint64_t address);
bool text_map_is_target(const struct text_map *map, uint64_t address);

/* --- runs of instructions that one jump replaces --- */

#define INSN_PROBE_RUN_MAX INSN_PROBE_JUMP_LENGTH

struct insn_probe_run {
    uint64_t from;
    unsigned count, length; /* of the original */
    struct insn_probe probes[INSN_PROBE_RUN_MAX];
    uint8_t offsets[INSN_PROBE_RUN_MAX]; /* of the copies, from the first one's */
    uint8_t copy_length;                 /* the jump back included */
};

/* The run at `address`, where `bytes` stand: INSN_PROBE_NONE, or why there is none. `end`: of the
 * function; nothing at or behind it is read. */
enum insn_probe_refusal insn_probe_find_run(const struct text_map *map, const uint8_t *bytes,
                                            uint64_t address, uint64_t end,
                                            struct insn_probe_run *out);

/* Its copy, with a jump back at the end, to run at `to`. */
enum insn_probe_refusal insn_probe_copy_run(struct insn_probe_run *run, uint64_t to, uint8_t *out,
                                            size_t size);

/* As insn_probe_resolve(); the jump back stands for the end of the run. */
uint64_t insn_probe_resolve_run(const struct insn_probe_run *run, unsigned offset, int64_t *rsp);

#endif
