/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of QEMU's x86 CPUs, and instructions on them.
 *
 * CPUState is followed by CPUX86State; current_cpu is the thread's vCPU. The layout of CPUX86State
 * is not taken on trust but checked against an instruction that is being carried out
 * (pmu_qemu_learn).
 */
#include <string.h>

#include "tools/qemu-pmu/pmu_classify.h"
#include "tools/qemu-pmu/pmu_qemu_internal.h"

#define EXCEPTION_GP 13

#define EFLAGS_ALWAYS (1u << 1)
#define EFLAGS_TF (1u << 8)
#define EFLAGS_RF (1u << 16)

static const uint8_t opcode_0f[PMU_INSTRUCTIONS] = {0x32, 0x30, 0xa2, 0x33};

struct pmu_layout pmu_layout;
__thread struct pmu_self pmu_self;

/* --- vCPUs ----------------------------------------------------------------------------------- */

void pmu_qemu_adopt_vcpu(unsigned index)
{
    struct cpu **current_cpu;
    int *use_icount;

    if (pmu_symbol_find("use_icount", &use_icount) && *use_icount)
        pmu_fatal("-icount is not supported");
    if (pmu_self.cpu)
        pmu_fatal("several vCPUs in one thread are not supported: "
                  "use -accel tcg,thread=multi, or -smp 1");
    pmu_symbol_find("current_cpu", &current_cpu); /* of this thread */
    if (!*current_cpu)
        pmu_fatal("current_cpu is not set when vCPU %u starts", index);
    pmu_self.cpu = *current_cpu;
    pmu_self.index = index;
    if (!pmu_layout.interrupt_request)
        pmu_find_interrupt_request();
}

unsigned pmu_qemu_vcpu(void)
{
    return pmu_self.index;
}

static unsigned code_bits(const struct env_state *state)
{
    if (state->hflags & HFLAGS_CS64)
        return 64;
    return state->hflags & HFLAGS_CS32 ? 32 : 16;
}

/* The length of `instruction` at state's CS:EIP, 0 if another one is there. */
static unsigned length_at_eip(const struct env_state *state, enum pmu_instruction instruction)
{
    uint64_t address = state->segment[SEGMENT_CS].base + state->eip;
    uint8_t bytes[15];
    unsigned count = 0;

    if (code_bits(state) != 64)
        address = (uint32_t)address;
    if (!qemu.cpu_memory_rw_debug(pmu_self.cpu, address, bytes, sizeof(bytes), false))
        count = sizeof(bytes);
    while (count < sizeof(bytes) && /* up to a page that is not there */
           !qemu.cpu_memory_rw_debug(pmu_self.cpu, address + count, &bytes[count], 1, false))
        count++;
    return pmu_match_0f(bytes, count, code_bits(state), opcode_0f[instruction]);
}

/* Is this where the state is? EIP must point to the instruction, and what must be so is so. */
static bool is_plausible(const struct env_state *state, enum pmu_instruction instruction)
{
    bool protected = state->hflags & HFLAGS_PE;

    if ((state->df != 1 && state->df != -1) || !(state->eflags & EFLAGS_ALWAYS))
        return false;
    return protected == (state->cr[0] & 1) && length_at_eip(state, instruction) != 0;
}

bool pmu_qemu_learn(struct cpu_env *env, enum pmu_instruction instruction)
{
    static const unsigned general_registers[] = {16, 32};
    static unsigned failures;
    enum { MOST_FAILURES = 1000 };

    if (__atomic_load_n(&pmu_layout.state, __ATOMIC_ACQUIRE))
        return true;
    for (unsigned i = 0; i < ARRAY_LENGTH(general_registers); i++) {
        size_t offset = general_registers[i] * sizeof(uint64_t);

        if (!is_plausible((struct env_state *)((char *)env + offset), instruction))
            continue;
        pmu_layout.env = (size_t)((char *)env - (char *)pmu_self.cpu);
        __atomic_store_n(&pmu_layout.state, offset, __ATOMIC_RELEASE);
        return true;
    }
    if (++failures > MOST_FAILURES)
        pmu_fatal("the layout of CPUX86State in this QEMU is not known");
    return false;
}

bool pmu_qemu_is_learnt(void)
{
    return __atomic_load_n(&pmu_layout.state, __ATOMIC_ACQUIRE) != 0;
}

unsigned pmu_qemu_cpl(void)
{
    return state_of_self()->hflags & HFLAGS_CPL;
}

unsigned pmu_qemu_code_bits(void)
{
    return code_bits(state_of_self());
}

uint64_t pmu_qemu_cr4(void)
{
    return state_of_self()->cr[4];
}

bool pmu_qemu_protected(void)
{
    return state_of_self()->hflags & HFLAGS_PE;
}

/* --- instructions ---------------------------------------------------------------------------- */

void pmu_carry_out(enum pmu_instruction instruction, uint64_t registers[4])
{
    struct cpu_env *env = env_of_self();
    uint64_t saved[4];

    memcpy(saved, env, sizeof(saved));
    memcpy(env, registers, sizeof(saved));
    pmu_original[instruction](env);
    memcpy(registers, env, sizeof(saved));
    memcpy(env, saved, sizeof(saved));
}

void pmu_qemu_cpuid(uint32_t leaf, uint32_t subleaf, uint32_t registers[4])
{
    uint64_t all[4] = {[ENV_RAX] = leaf, [ENV_RCX] = subleaf};

    pmu_carry_out(PMU_CPUID, all);
    registers[0] = (uint32_t)all[ENV_RAX];
    registers[1] = (uint32_t)all[ENV_RBX];
    registers[2] = (uint32_t)all[ENV_RCX];
    registers[3] = (uint32_t)all[ENV_RDX];
}

uint64_t pmu_qemu_read_msr(uint32_t msr)
{
    uint64_t registers[4] = {[ENV_RCX] = msr};

    pmu_carry_out(PMU_RDMSR, registers);
    return (uint32_t)registers[ENV_RAX] | registers[ENV_RDX] << 32;
}

void pmu_qemu_read_stack(void *bytes, size_t length)
{
    uint64_t address = env_registers(env_of_self())[ENV_RSP];

    if (qemu.cpu_memory_rw_debug(pmu_self.cpu, address, bytes, length, false))
        memset(bytes, 0, length);
}

uint64_t pmu_qemu_flags(uintptr_t host_pc, uint64_t *rcx)
{
    struct cpu_env *env = env_of_self();
    struct env_state *state = state_of_self();
    uint64_t eip = state->eip, flags;
    uint32_t cc_op = state->cc_op;

    /* Which operation set the flags is known to the translator only, until it is told. */
    qemu.cpu_restore_state(pmu_self.cpu, host_pc);
    flags = qemu.helper_read_eflags(env);
    *rcx = env_registers(env)[ENV_RCX];
    state->eip = eip;
    state->cc_op = cc_op;
    return flags;
}

void pmu_qemu_raise_gp(struct cpu_env *env, uintptr_t host_pc)
{
    qemu.raise_exception_err_ra(env, EXCEPTION_GP, 0, host_pc);
    __builtin_unreachable();
}

void pmu_qemu_finish(enum pmu_instruction instruction)
{
    struct cpu_env *env = env_of_self();
    struct env_state *state = state_of_self();

    state->eip += length_at_eip(state, instruction);
    if (code_bits(state) != 64)
        state->eip = (uint32_t)state->eip;
    state->eflags &= ~(uint64_t)EFLAGS_RF;
    state->hflags &= ~HFLAGS_INHIBIT_IRQ;
    if (state->eflags & EFLAGS_TF)
        qemu.helper_single_step(env);
    qemu.cpu_loop_exit_noexc(pmu_self.cpu);
    __builtin_unreachable();
}

void pmu_qemu_flush(void)
{
    qemu.tb_flush(pmu_self.cpu);
}
