/* SPDX-License-Identifier: MIT */
/* Last-branch records: what this machine has, and the history of each exception.
 *
 * While it is on, every CPU uses an IDT of its own. Each exception's entry there is a stub,
 * generated for the records that were found, which copies them all before any other branch and then
 * jumps to the usual entry (arch/x86/lbr_stub.h). Off, the shared IDT is used, which is never
 * changed. docs/lbr.md has the whole argument.
 *
 * Context: lbr_detect() at boot; building and switching by one thread at a time, on and off on the
 * CPU concerned with interrupts off; finding in any context.
 */
#ifndef ARCH_X86_LBR_H
#define ARCH_X86_LBR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/x86/frame.h"

#define LBR_MAX_DEPTH 32

enum lbr_kind {
    LBR_NONE,
    LBR_LEGACY,    /* Intel, a ring with a top-of-stack register */
    LBR_ARCH,      /* Intel, architectural: entry 0 is the newest */
    LBR_AMD_STACK, /* AMD LbrExtV2 */
    LBR_AMD_PAIR,  /* AMD before: the last branch, and the last before an exception */
};

/* Where flags and cycles stand; the first values are those of PERF_CAPABILITIES (Intel SDM vol. 3,
 * "Last branch records", LBR format). */
enum lbr_format {
    LBR_FORMAT_32,
    LBR_FORMAT_LIP,
    LBR_FORMAT_EIP,
    LBR_FORMAT_FLAGS,     /* FROM bit 63 */
    LBR_FORMAT_FLAGS_TSX, /* FROM bits 63:61 */
    LBR_FORMAT_INFO,      /* INFO registers */
    LBR_FORMAT_TIME,      /* FROM bit 63, cycles in TO bits 63:48 */
    LBR_FORMAT_INFO2,     /* INFO registers, no TSX */
    LBR_FORMAT_ARCH,
    LBR_FORMAT_AMD,
    LBR_FORMAT_PLAIN, /* addresses only */
};

/* The records as the stubs and the reports see them. */
struct lbr_machine {
    enum lbr_kind kind;
    const char *name;   /* of the row in the table, for people */
    const char *reason; /* LBR_NONE: why */
    enum lbr_format format;
    uint32_t depth;
    uint32_t from, to, info; /* MSRs of entry 0; info 0: there are none */
    uint32_t stride;         /* from one entry's MSR to the next one's */
    uint32_t top;            /* MSR with the newest entry's number; 0: it is entry 0 */
    uint32_t control;        /* MSR that turns recording on … */
    uint32_t control_on;     /* … by these bits */
    uint32_t select;         /* MSR that filters; 0: none */
    bool tsx;                /* the flags of transactions mean something */
};
extern struct lbr_machine lbr_machine;

/* --- what machines have (lbr_models.c, pure) --- */

struct lbr_probe {
    bool intel, amd, emulated, tsx;
    uint32_t family, model;
    bool has_capabilities;       /* CPUID.01H ECX.PDCM */
    uint64_t capabilities;       /* PERF_CAPABILITIES */
    bool architectural;          /* CPUID.07H EDX bit 19 */
    uint32_t leaf_1c;            /* CPUID.1CH EAX */
    uint32_t leaf_22a, leaf_22b; /* CPUID.8000_0022H EAX, EBX */
    bool (*readable)(uint32_t msr);
};

void lbr_models_find(const struct lbr_probe *probe, struct lbr_machine *out);

#define LBR_FILTER_USER 1u
#define LBR_FILTER_KERNEL 2u
#define LBR_FILTER_CALLS 4u
#define LBR_FILTER_RETURNS 8u
#define LBR_FILTER_JUMPS 16u
#define LBR_FILTER_RINGS (LBR_FILTER_USER | LBR_FILTER_KERNEL)
#define LBR_FILTER_KINDS (LBR_FILTER_CALLS | LBR_FILTER_RETURNS | LBR_FILTER_JUMPS)

/* Bits of the machine's filter register that let through what `filter` names: no ring or no kind in
 * it means all of them. Far transfers always pass. */
uint64_t lbr_models_select(const struct lbr_machine *machine, uint32_t filter);

/* --- histories --- */

#define LBR_MISPREDICTED 1u
#define LBR_IN_TX 2u
#define LBR_ABORT 4u
#define LBR_HAS_CYCLES 8u

struct lbr_record {
    uint64_t from, to;
    uint32_t flags;
    uint32_t cycles; /* since the record before */
};

struct lbr_history {
    const char *missing; /* why there is none; else NULL */
    uint32_t cpu, vector;
    bool inside;  /* the exception came in a handler of its own vector (lbr_find_outer) */
    uint64_t rip; /* what was interrupted */
    uint64_t arrivals, nested; /* of the vector on that CPU since LBR was turned on */
    uint32_t count;
    struct lbr_record records[LBR_MAX_DEPTH]; /* newest first, without the exception's own */
};

struct lbr_slot;
/* Brings a slot's records into order and drops the exception's own (lbr_records.c, pure). */
void lbr_records_decode(const struct lbr_machine *machine, const struct lbr_slot *slot,
                        struct lbr_history *out);

/* --- this machine (lbr.c) --- */

void lbr_detect(void); /* boot CPU, once */

/* What a CPU needs: memory for its data (LBR_DATA_SIZE bytes) and code (LBR_CODE_SIZE bytes,
 * physically contiguous), given once and kept. False when the kernel's address space or memory has
 * run out. */
#define LBR_DATA_ORDER 5
#define LBR_CODE_ORDER 4
bool lbr_build_cpu(uint32_t cpu, uint64_t data_frames, uint64_t code_frames);
bool lbr_cpu_is_built(uint32_t cpu);

bool lbr_start_here(uint64_t select); /* false: the CPU refuses to record; all is as before */
void lbr_stop_here(void);
bool lbr_is_on_here(void);

/* Stops recording on this CPU: first thing in a panic that no exception has brought, so that its
 * own branches do not take the place of those that led there. lbr_read_live() gives these. Any
 * context. */
void lbr_freeze(void);
void lbr_read_live(struct lbr_history *out);

/* The history that a stub saved for this frame. */
void lbr_find(const struct trap_frame *frame, struct lbr_history *out);
/* That of the exception in whose handler the one of *inner came. */
void lbr_find_outer(const struct lbr_history *inner, struct lbr_history *out);
/* The newest one of a vector on a CPU; false: there has been none. Histories that were damaged by
 * an NMI are given with a reason in `missing`. `back`: how many before the newest. */
bool lbr_newest(uint32_t cpu, uint32_t vector, uint32_t back, struct lbr_history *out);

#define LBR_VECTORS 18
extern const uint8_t lbr_vectors[LBR_VECTORS];

/* For an address in a stub: the vector's mnemonic ("#PF"), and where in the stub; else NULL. */
const char *lbr_stub_at(uint64_t address, uint64_t *offset);

#endif
