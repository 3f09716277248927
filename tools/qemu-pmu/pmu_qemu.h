/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Thin access to what QEMU has inside: its exported symbols and the layout of a CPU's state.
 *
 * Nothing behind it knows what a PMU does. Calls about "this vCPU" come from its own thread,
 * without QEMU's big lock. Whatever this QEMU does not have is refused by name.
 */
#ifndef TOOLS_QEMU_PMU_PMU_QEMU_H
#define TOOLS_QEMU_PMU_PMU_QEMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/qemu-pmu/pmu_place.h"

/* The instructions whose implementation can be taken over, and their opcodes after 0F. */
enum pmu_instruction {
    PMU_RDMSR,
    PMU_WRMSR,
    PMU_CPUID,
    PMU_RDPMC,
    PMU_INSTRUCTIONS,
};

struct cpu_env; /* QEMU's CPUX86State. It begins with the general registers: */
enum { ENV_RAX, ENV_RCX, ENV_RDX, ENV_RBX, ENV_RSP };
typedef void (*pmu_helper)(struct cpu_env *env);

static inline uint64_t *env_registers(struct cpu_env *env)
{
    return (uint64_t *)env;
}

#define PMU_CR4_PCE (1u << 8)

/* Prints why and ends QEMU. */
_Noreturn void pmu_fatal(const char *format, ...) __attribute__((format(printf, 1, 2)));
void pmu_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* --- while the plugin is loaded --------------------------------------------------------------- */

/* NULL, or the name of a symbol that this QEMU does not export. */
const char *pmu_qemu_find_symbols(void);
int pmu_qemu_plugin_api(void); /* the version of the plugin interface to ask this QEMU for */
void pmu_qemu_replace(enum pmu_instruction instruction, pmu_helper helper);
pmu_helper pmu_qemu_original(enum pmu_instruction instruction);
void pmu_qemu_on_reset(void (*callback)(void *)); /* called while all vCPUs are stopped */

/* --- this vCPU -------------------------------------------------------------------------------- */

/* At its start. Ends QEMU if its vCPUs share a thread or instructions are counted. */
void pmu_qemu_adopt_vcpu(unsigned index);
unsigned pmu_qemu_vcpu(void);

/* Learns the layout of the state from an instruction that is being carried out. False: not yet. */
bool pmu_qemu_learn(struct cpu_env *env, enum pmu_instruction instruction);

bool pmu_qemu_is_learnt(void);

/* Once it has been learnt: */
unsigned pmu_qemu_cpl(void);
unsigned pmu_qemu_code_bits(void); /* 16, 32 or 64 */
uint64_t pmu_qemu_cr4(void);
bool pmu_qemu_protected(void); /* CR0.PE */
void pmu_qemu_cpuid(uint32_t leaf, uint32_t subleaf, uint32_t registers[4]);
uint64_t pmu_qemu_read_msr(uint32_t msr); /* of QEMU's own */

/* What RSP points to, in a callback with R_REGS; zero where there is nothing. */
void pmu_qemu_read_stack(void *bytes, size_t length);

/* Flags and RCX at the start of the instruction that a callback with R_REGS was called from.
 * host_pc: the callback's return address. */
uint64_t pmu_qemu_flags(uintptr_t host_pc, uint64_t *rcx);

/* From an instruction: raises #GP(0). host_pc: the helper's return address. */
_Noreturn void pmu_qemu_raise_gp(struct cpu_env *env, uintptr_t host_pc);

/* Ends an instruction of QEMU's that never returns, as carried out (RDPMC). */
_Noreturn void pmu_qemu_finish(enum pmu_instruction instruction);

/* Raises the interrupt that LVTPC says and masks LVTPC, as Intel CPUs do. True: it is an NMI. */
bool pmu_qemu_raise_lvtpc(void);

/* QEMU can overlook a requested NMI and run on. False: none is pending. True: the NMI is pending
 * though blocked; else, not blocked, asks again and leaves the block of code at host_pc. */
bool pmu_qemu_insist_on_nmi(uintptr_t host_pc);

/* From now on called, on the vCPU's thread, around each interrupt and exception that is delivered
 * in protected or long mode. before() says whether after() is wanted; it can be called without an
 * after(), too. debug: it was #DB. Once only. */
struct pmu_delivery_callbacks {
    bool (*before)(unsigned index, struct pmu_place from);
    void (*after)(unsigned index, struct pmu_place from, struct pmu_place to, bool debug);
};
void pmu_qemu_watch_deliveries(const struct pmu_delivery_callbacks *callbacks);

/* Throws all translated code away before this vCPU's next instruction. */
void pmu_qemu_flush(void);

#endif
