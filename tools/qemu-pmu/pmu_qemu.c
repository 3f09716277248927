/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QEMU's symbols, the state of its x86 CPUs, interrupts.
 *
 * Debian's and other QEMUs with plugins export all their symbols. What was found out about them and
 * is relied on: helper_info_NAME is an object whose first member is the function that translated
 * code calls; CPUState is followed by CPUX86State; current_cpu is the thread's vCPU. The layout of
 * CPUX86State is not taken on trust but checked against an instruction that is being carried out
 * (pmu_qemu_learn), and interrupt_request is found by setting a bit of it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/qemu-pmu/pmu_bits.h"
#include "tools/qemu-pmu/pmu_classify.h"
#include "tools/qemu-pmu/pmu_qemu.h"
#include "tools/qemu-pmu/qemu_abi.h"

#define ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#define EXCEPTION_GP 13
#define CPU_INTERRUPT_NMI 0x200
#define CPU_INTERRUPT_UNUSED 0x40000000 /* no meaning to an x86 CPU */

#define EFLAGS_ALWAYS (1u << 1)
#define EFLAGS_TF (1u << 8)
#define EFLAGS_RF (1u << 16)
#define HFLAGS_CPL 3u
#define HFLAGS_INHIBIT_IRQ (1u << 3)
#define HFLAGS_CS32 (1u << 4)
#define HFLAGS_PE (1u << 7)
#define HFLAGS_CS64 (1u << 15)
#define HFLAGS2_NMI_BLOCKED (1u << 2)

struct cpu; /* QEMU's CPUState */

struct helper_info {
    pmu_helper *function;
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
enum { SEGMENT_CS = 1 };

static struct {
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
} qemu;

static pmu_helper *original[PMU_INSTRUCTIONS];
static const uint8_t opcode_0f[PMU_INSTRUCTIONS] = {0x32, 0x30, 0xa2, 0x33};

/* Written once each, the same value whoever writes it. */
static size_t env_offset;   /* of CPUX86State in CPUState's object */
static size_t state_offset; /* of struct env_state in CPUX86State; 0: not known yet */
static size_t interrupt_request_offset;

static __thread struct {
    struct cpu *cpu;
    unsigned index;
} self;

/* --- messages -------------------------------------------------------------------------------- */

static void print(const char *kind, const char *format, va_list arguments)
{
    char text[400];

    vsnprintf(text, sizeof(text), format, arguments);
    fprintf(stderr, "qemu-pmu: %s%s\n", kind, text);
}

void pmu_message(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print("", format, arguments);
    va_end(arguments);
}

void pmu_fatal(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print("error: ", format, arguments);
    va_end(arguments);
    exit(1);
}

/* --- symbols --------------------------------------------------------------------------------- */

static bool find(const char *name, void *into)
{
    void *address = dlsym(RTLD_DEFAULT, name);

    memcpy(into, &address, sizeof(address));
    return address;
}

static const char *find_alternatives(void)
{
    if (!find("tb_flush", &qemu.tb_flush) && !find("queue_tb_flush", &qemu.tb_flush))
        return "tb_flush or queue_tb_flush";
    if (find("cpu_physical_memory_rw", &qemu.cpu_physical_memory_rw))
        return NULL;
    if (find("physical_memory_read", &qemu.physical_memory_read) &&
        find("physical_memory_write", &qemu.physical_memory_write))
        return NULL;
    return "cpu_physical_memory_rw or physical_memory_read, physical_memory_write";
}

const char *pmu_qemu_find_symbols(void)
{
    void *current_cpu;
    const struct {
        const char *name;
        void *into;
    } needed[] = {
        {"current_cpu", &current_cpu},
        {"helper_info_rdmsr", &qemu.helper[PMU_RDMSR]},
        {"helper_info_wrmsr", &qemu.helper[PMU_WRMSR]},
        {"helper_info_cpuid", &qemu.helper[PMU_CPUID]},
        {"helper_info_rdpmc", &qemu.helper[PMU_RDPMC]},
        {"cpu_interrupt", &qemu.cpu_interrupt},
        {"cpu_reset_interrupt", &qemu.cpu_reset_interrupt},
        {"bql_lock_impl", &qemu.bql_lock_impl},
        {"bql_unlock", &qemu.bql_unlock},
        {"bql_locked", &qemu.bql_locked},
        {"raise_exception_err_ra", &qemu.raise_exception_err_ra},
        {"helper_single_step", &qemu.helper_single_step},
        {"helper_read_eflags", &qemu.helper_read_eflags},
        {"cpu_loop_exit_noexc", &qemu.cpu_loop_exit_noexc},
        {"cpu_loop_exit_restore", &qemu.cpu_loop_exit_restore},
        {"cpu_restore_state", &qemu.cpu_restore_state},
        {"cpu_memory_rw_debug", &qemu.cpu_memory_rw_debug},
        {"qemu_register_reset", &qemu.qemu_register_reset},
    };

    for (unsigned i = 0; i < ARRAY_LENGTH(needed); i++)
        if (!find(needed[i].name, needed[i].into))
            return needed[i].name;
    return find_alternatives();
}

int pmu_qemu_plugin_api(void)
{
    struct {
        struct {
            int64_t major, minor, micro;
        } * version;
    } * (*query)(void *error);
    bool user_data = find("qmp_query_version", &query) && query(NULL)->version->major >= 11;

    return user_data ? QEMU_PLUGIN_API_USER_DATA : QEMU_PLUGIN_API_OLDEST;
}

void pmu_qemu_replace(enum pmu_instruction instruction, pmu_helper *helper)
{
    original[instruction] = qemu.helper[instruction]->function;
    qemu.helper[instruction]->function = helper;
}

pmu_helper *pmu_qemu_original(enum pmu_instruction instruction)
{
    return original[instruction];
}

void pmu_qemu_on_reset(void (*callback)(void *))
{
    qemu.qemu_register_reset(callback, NULL);
}

/* --- vCPUs ----------------------------------------------------------------------------------- */

static bool lock(void)
{
    bool was_locked = qemu.bql_locked();

    if (!was_locked)
        qemu.bql_lock_impl(__FILE__, __LINE__);
    return was_locked;
}

static void unlock(bool was_locked)
{
    if (!was_locked)
        qemu.bql_unlock();
}

/* Sets a bit that means nothing and looks which word has got it. */
static void find_interrupt_request(void)
{
    static uint32_t before[4096]; /* CPUState and its CPUX86State are together larger */
    volatile uint32_t *words = (volatile uint32_t *)self.cpu;
    bool was_locked = lock();

    memcpy(before, self.cpu, sizeof(before));
    qemu.cpu_interrupt(self.cpu, CPU_INTERRUPT_UNUSED);
    for (size_t i = 0; i < ARRAY_LENGTH(before) && !interrupt_request_offset; i++)
        if ((words[i] ^ before[i]) == CPU_INTERRUPT_UNUSED)
            interrupt_request_offset = i * sizeof(*words);
    qemu.cpu_reset_interrupt(self.cpu, CPU_INTERRUPT_UNUSED);
    unlock(was_locked);
    if (!interrupt_request_offset)
        pmu_fatal("CPUState.interrupt_request cannot be found in this QEMU");
}

void pmu_qemu_adopt_vcpu(unsigned index)
{
    struct cpu **current_cpu;
    int *use_icount;

    if (find("use_icount", &use_icount) && *use_icount)
        pmu_fatal("-icount is not supported");
    if (self.cpu)
        pmu_fatal("several vCPUs in one thread are not supported: "
                  "use -accel tcg,thread=multi, or -smp 1");
    find("current_cpu", &current_cpu); /* of this thread */
    if (!*current_cpu)
        pmu_fatal("current_cpu is not set when vCPU %u starts", index);
    self.cpu = *current_cpu;
    self.index = index;
    if (!interrupt_request_offset)
        find_interrupt_request();
}

unsigned pmu_qemu_vcpu(void)
{
    return self.index;
}

static struct cpu_env *env_of_self(void)
{
    return (struct cpu_env *)((char *)self.cpu + env_offset);
}

static struct env_state *state_of(struct cpu_env *env)
{
    return (struct env_state *)((char *)env + state_offset);
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
    if (!qemu.cpu_memory_rw_debug(self.cpu, address, bytes, sizeof(bytes), false))
        count = sizeof(bytes);
    while (count < sizeof(bytes) && /* up to a page that is not there */
           !qemu.cpu_memory_rw_debug(self.cpu, address + count, &bytes[count], 1, false))
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

    if (state_offset)
        return true;
    for (unsigned i = 0; i < ARRAY_LENGTH(general_registers); i++) {
        size_t offset = general_registers[i] * sizeof(uint64_t);

        if (!is_plausible((struct env_state *)((char *)env + offset), instruction))
            continue;
        env_offset = (size_t)((char *)env - (char *)self.cpu);
        state_offset = offset;
        return true;
    }
    if (++failures > MOST_FAILURES)
        pmu_fatal("the layout of CPUX86State in this QEMU is not known");
    return false;
}

unsigned pmu_qemu_cpl(void)
{
    return state_of(env_of_self())->hflags & HFLAGS_CPL;
}

unsigned pmu_qemu_code_bits(void)
{
    return code_bits(state_of(env_of_self()));
}

uint64_t pmu_qemu_cr4(void)
{
    return state_of(env_of_self())->cr[4];
}

bool pmu_qemu_protected(void)
{
    return state_of(env_of_self())->hflags & HFLAGS_PE;
}

/* --- instructions ---------------------------------------------------------------------------- */

/* Carries an instruction of QEMU's own out, and leaves the registers as they were. The code around
 * may hold them in host registers, which this does not touch. */
static void carry_out(enum pmu_instruction instruction, uint64_t registers[4])
{
    struct cpu_env *env = env_of_self();
    uint64_t saved[4];

    memcpy(saved, env, sizeof(saved));
    memcpy(env, registers, sizeof(saved));
    original[instruction](env);
    memcpy(registers, env, sizeof(saved));
    memcpy(env, saved, sizeof(saved));
}

void pmu_qemu_cpuid(uint32_t leaf, uint32_t registers[4])
{
    uint64_t all[4] = {[ENV_RAX] = leaf};

    carry_out(PMU_CPUID, all);
    registers[0] = (uint32_t)all[ENV_RAX];
    registers[1] = (uint32_t)all[ENV_RBX];
    registers[2] = (uint32_t)all[ENV_RCX];
    registers[3] = (uint32_t)all[ENV_RDX];
}

uint64_t pmu_qemu_read_msr(uint32_t msr)
{
    uint64_t registers[4] = {[ENV_RCX] = msr};

    carry_out(PMU_RDMSR, registers);
    return (uint32_t)registers[ENV_RAX] | registers[ENV_RDX] << 32;
}

static void write_msr(uint32_t msr, uint32_t value)
{
    uint64_t registers[4] = {[ENV_RCX] = msr, [ENV_RAX] = value};

    carry_out(PMU_WRMSR, registers);
}

uint64_t pmu_qemu_flags(uintptr_t host_pc, uint64_t *rcx)
{
    struct cpu_env *env = env_of_self();
    struct env_state *state = state_of(env);
    uint64_t eip = state->eip, flags;
    uint32_t cc_op = state->cc_op;

    /* Which operation set the flags is known to the translator only, until it is told. */
    qemu.cpu_restore_state(self.cpu, host_pc);
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
    struct env_state *state = state_of(env);

    state->eip += length_at_eip(state, instruction);
    if (code_bits(state) != 64)
        state->eip = (uint32_t)state->eip;
    state->eflags &= ~(uint64_t)EFLAGS_RF;
    state->hflags &= ~HFLAGS_INHIBIT_IRQ;
    if (state->eflags & EFLAGS_TF)
        qemu.helper_single_step(env);
    qemu.cpu_loop_exit_noexc(self.cpu);
    __builtin_unreachable();
}

void pmu_qemu_flush(void)
{
    qemu.tb_flush(self.cpu);
}

/* --- interrupts ------------------------------------------------------------------------------ */

static uint32_t read_physical(uint64_t address)
{
    uint32_t value = 0;

    if (qemu.cpu_physical_memory_rw)
        qemu.cpu_physical_memory_rw(address, &value, sizeof(value), false);
    else
        qemu.physical_memory_read(address, &value, sizeof(value));
    return value;
}

static void write_physical(uint64_t address, uint32_t value)
{
    if (qemu.cpu_physical_memory_rw)
        qemu.cpu_physical_memory_rw(address, &value, sizeof(value), true);
    else
        qemu.physical_memory_write(address, &value, sizeof(value));
}

/* In xAPIC mode a message to the own APIC: an IPI would leave its traces in the guest's ICR. QEMU
 * takes messages where its APICs are mapped. */
static void raise_vector(uint64_t apic_base, uint32_t vector)
{
    uint64_t address = apic_base & APIC_BASE_ADDRESS;

    if (apic_base & APIC_BASE_X2APIC)
        write_msr(MSR_X2APIC_SELF_IPI, vector);
    else
        write_physical(address | (read_physical(address + XAPIC_ID) >> 24) << 12, vector);
}

static void request_nmi(void)
{
    bool was_locked = lock();

    qemu.cpu_interrupt(self.cpu, CPU_INTERRUPT_NMI);
    unlock(was_locked);
}

static bool deliver(uint64_t apic_base, uint32_t lvt)
{
    static bool told;

    switch (LVT_MODE(lvt)) {
    case LVT_MODE_NMI:
        request_nmi();
        return true;
    case LVT_MODE_FIXED:
        raise_vector(apic_base, lvt & LVT_VECTOR);
        return false;
    default:
        if (!told)
            pmu_message("LVTPC's delivery mode %u is not emulated", LVT_MODE(lvt));
        told = true;
        return false;
    }
}

bool pmu_qemu_raise_lvtpc(void)
{
    uint64_t base = pmu_qemu_read_msr(MSR_APIC_BASE);
    bool x2apic = base & APIC_BASE_X2APIC;
    uint64_t address = (base & APIC_BASE_ADDRESS) + XAPIC_LVT_PMC;
    uint32_t lvt;

    if (!(base & APIC_BASE_ENABLE))
        return false;
    lvt = x2apic ? (uint32_t)pmu_qemu_read_msr(MSR_X2APIC_LVT_PMC) : read_physical(address);
    if (lvt & LVT_MASKED)
        return false;
    if (x2apic)
        write_msr(MSR_X2APIC_LVT_PMC, lvt | LVT_MASKED);
    else
        write_physical(address, lvt | LVT_MASKED);
    return deliver(base, lvt);
}

bool pmu_qemu_insist_on_nmi(uintptr_t host_pc)
{
    volatile uint32_t *requests =
        (volatile uint32_t *)((char *)self.cpu + interrupt_request_offset);

    if (!(*requests & CPU_INTERRUPT_NMI))
        return false;
    if (state_of(env_of_self())->hflags2 & HFLAGS2_NMI_BLOCKED)
        return true;
    request_nmi();
    qemu.cpu_loop_exit_restore(self.cpu, host_pc);
    __builtin_unreachable();
}
