/* SPDX-License-Identifier: MIT */
/* What the two files of probes on instructions share: the state of one, and where its code is.
 *
 * A block: [0, 32) the copy that is stepped if interrupts were on, or the one that runs by itself;
 * [32, 64) the copy that is stepped if they were off; from 64 what the jump leads to.
 */
#ifndef ARCH_X86_TEXT_PROBE_INTERNAL_H
#define ARCH_X86_TEXT_PROBE_INTERNAL_H

#include "arch/x86/text_probe.h"

#define STEP_COPIES 2
#define STEP_COPY_SIZE 32
#define JUMP_OFFSET (STEP_COPIES * STEP_COPY_SIZE)

enum evacuation {
    STAY,
    TO_JUMP_COPY, /* from the run and from the copy of its first instruction */
    TO_ORIGINAL,  /* from the block */
};

struct text_probe {
    struct text_probe *next; /* atomic; of the bucket */
    uint64_t address;        /* 0: free */
    void *owner;
    struct insn_probe probe;
    uint8_t way;     /* enum insn_probe_way: which is used */
    uint8_t length;  /* of the copy without its jump back */
    bool jumps;      /* a jump stands in the text */
    uint64_t detour; /* atomic; where hits go on, instead of at the copy; 0: nowhere else */
    struct insn_probe_run run;
};

/* The bytes of probe_template (probe_entry.asm). */
enum template_offset {
    SS_PUSHED,
    RSP_PUSHED,
    FLAGS_PUSHED,
    RIP_HOLE,
    PROBE_HOLE,
    CALL_HOLE,
    UNMASKED,
    TEMPLATE_END,
};
extern const uint8_t probe_template[], probe_template_offsets[];
extern uint8_t probe_blocks[TEXT_PROBES_MAX][TEXT_PROBE_BLOCK]; /* in text: not to be written */

extern struct text_probe text_probes[TEXT_PROBES_MAX];

uint64_t text_probe_block(const struct text_probe *probe);
uint64_t text_probe_jump_copy(const struct text_probe *probe); /* of the run, in the block */
void text_probe_jumped(struct trap_frame *frame, struct text_probe *probe); /* by the template */

/* Where hits look for it. */
struct text_probe **text_probe_bucket(uint64_t address);

/* All CPUs leave what `where` says. */
void text_probe_move_contexts(const struct text_probe *probe, enum evacuation where);

#endif
