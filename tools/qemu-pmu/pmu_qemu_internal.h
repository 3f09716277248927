/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the three files that know QEMU's inside share: symbols, layouts, this thread's vCPU.
 *
 * pmu_symbols.c finds and fills, before any vCPU starts; pmu_qemu.c is about the state of a vCPU
 * and its instructions, pmu_interrupt.c about its interrupts.
 */
#ifndef TOOLS_QEMU_PMU_PMU_QEMU_INTERNAL_H
#define TOOLS_QEMU_PMU_PMU_QEMU_INTERNAL_H

#include "tools/qemu-pmu/pmu_qemu.h"

#define ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#define HFLAGS_CPL 3u
#define HFLAGS_INHIBIT_IRQ (1u << 3)
#define HFLAGS_CS32 (1u << 4)
#define HFLAGS_PE (1u << 7)
#define HFLAGS_LMA (1u << 14)
#define HFLAGS_CS64 (1u << 15)
#define HFLAGS2_NMI_BLOCKED (1u << 2)

struct cpu; /* QEMU's CPUState */

struct helper_info {
    pmu_helper function;
};

/* CPUX86State after the general registers, of which there are 16 or, since QEMU 11.1, 32. */
struct env_state {
    uint64_t eip, eflags, cc_dst, cc_src, cc_src2;
    uint32_t cc_op;
    int32_t df; /* 1 or -1 */
    uint32_t hflags, hflags2;
    struct {
        uint32_t selector;
        uint64_t base;
        uint32_t limit, flags;
    } segment[10];
    uint64_t cr[5];
};
_Static_assert(offsetof(struct env_state, cr) == 40 + 16 + 10 * 24, "QEMU's layout");
enum { SEGMENT_CS = 1, SEGMENT_IDT = 9 };

struct qemu_symbols {
    struct helper_info *helper[PMU_INSTRUCTIONS];
    void (*cpu_interrupt)(struct cpu *cpu, int mask);
    void (*cpu_reset_interrupt)(struct cpu *cpu, int mask);
    void (*bql_lock_impl)(const char *file, int line);
    void (*bql_unlock)(void);
    bool (*bql_locked)(void);
    void (*raise_exception_err_ra)(struct cpu_env *env, int vector, int code, uintptr_t host_pc);
    void (*helper_single_step)(struct cpu_env *env);
    uint64_t (*helper_read_eflags)(struct cpu_env *env);
    void (*cpu_loop_exit_noexc)(struct cpu *cpu);
    void (*cpu_loop_exit_restore)(struct cpu *cpu, uintptr_t host_pc);
    bool (*cpu_restore_state)(struct cpu *cpu, uintptr_t host_pc);
    int (*cpu_memory_rw_debug)(struct cpu *cpu, uint64_t address, void *bytes, size_t length,
                               bool write);
    void (*qemu_register_reset)(void (*callback)(void *), void *context);
    /* of the following pairs one is there */
    void (*tb_flush)(struct cpu *cpu);
    void (*cpu_physical_memory_rw)(uint64_t address, void *bytes, uint64_t length, bool write);
    void (*physical_memory_read)(uint64_t address, void *bytes, uint64_t length);
    void (*physical_memory_write)(uint64_t address, const void *bytes, uint64_t length);
};
extern struct qemu_symbols qemu;
extern pmu_helper pmu_original[PMU_INSTRUCTIONS];

/* NULL in *into when there is no such symbol. */
bool pmu_symbol_find(const char *name, void *into);

/* Set once each, before they are used by anyone. */
struct pmu_layout {
    size_t env;               /* of CPUX86State in CPUState's object */
    size_t state;             /* of struct env_state in CPUX86State; 0: not known yet */
    size_t interrupt_request; /* in CPUState */
};
extern struct pmu_layout pmu_layout;

struct pmu_self {
    struct cpu *cpu;
    unsigned index;
};
extern __thread struct pmu_self pmu_self;

static inline struct cpu_env *env_of_self(void)
{
    return (struct cpu_env *)((char *)pmu_self.cpu + pmu_layout.env);
}

static inline struct env_state *state_of_self(void)
{
    return (struct env_state *)((char *)env_of_self() + pmu_layout.state);
}

/* Carries an instruction of QEMU's own out on registers RAX … RBX, and leaves the vCPU's as they
 * were. The code around may hold them in host registers, which this does not touch. */
void pmu_carry_out(enum pmu_instruction instruction, uint64_t registers[4]);

/* pmu_interrupt.c: finds CPUState.interrupt_request by setting a bit that means nothing. */
void pmu_find_interrupt_request(void);

#endif
