/* SPDX-License-Identifier: MIT */
/* Per-CPU data reached through GS, and the few instructions that C cannot say.
 *
 * A CPU has an index (0 … cpu_count - 1, dense, boot CPU 0) and an APIC ID (sparse, only for
 * the APIC). Everything is indexed by the former.
 */
#ifndef ARCH_X86_CPU_H
#define ARCH_X86_CPU_H

#include <stdbool.h>
#include <stdint.h>

#define MAX_CPUS 64

struct thread;

/* Owner CPU only, but for `online`. entry.asm uses the first four fields by offset. */
struct cpu {
    struct cpu *self;
    uint64_t kernel_stack_top; /* of the current thread: where SYSCALL and ring-3 entries go */
    uint64_t user_rsp;         /* scratch of the SYSCALL entry */
    struct thread *current;    /* kernel/thread.h; never NULL once the scheduler runs */
    uint32_t index;
    uint32_t apic_id;
    uint32_t acpi_id;
    bool online; /* set once by the CPU itself, read by all */
    void *arch;  /* arch/x86: GDT, TSS and IST stacks of this CPU */
    uint64_t nmi_count;
    uint64_t kick_count;
    /* Interrupts and NMIs that ring 0 is in and that interrupted ring 0; NMIs that it is in,
     * whatever they interrupted. trap.c's. */
    uint32_t context_depth, nmi_depth;
};

extern struct cpu *cpus[MAX_CPUS]; /* [0 … cpu_count) are set */
extern uint32_t cpu_count;         /* CPUs that answered; grows during boot only */

static inline struct cpu *this_cpu(void)
{
    struct cpu *self;
    __asm__ volatile("mov %%gs:0, %0" : "=r"(self));
    return self;
}

static inline struct thread *current_thread(void)
{
    struct thread *thread;
    __asm__ volatile("mov %%gs:24, %0" : "=r"(thread));
    return thread;
}

static inline void cpu_pause(void)
{
    __asm__ volatile("pause" ::: "memory");
}

/* Of a counter that only this CPU changes: one instruction, so no interrupt and no NMI gets in
 * between, and none of them loses a count. */
static inline void cpu_local_increment(uint64_t *counter)
{
    __asm__ volatile("incq %0" : "+m"(*counter));
}

static inline uint64_t cpu_rdtsc(void)
{
    uint64_t low, high; /* 32 bits each: the upper halves become 0 */
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return high << 32 | low;
}

static inline void irq_enable(void)
{
    __asm__ volatile("sti" ::: "memory");
}

static inline void irq_disable(void)
{
    __asm__ volatile("cli" ::: "memory");
}

static inline bool irq_enabled(void)
{
    uint64_t flags;
    __asm__ volatile("pushfq; pop %0" : "=r"(flags)::"memory");
    return flags & (1u << 9);
}

/* Disables interrupts and tells whether they were enabled; irq_restore() takes that. */
static inline bool irq_save(void)
{
    bool enabled = irq_enabled();
    irq_disable();
    return enabled;
}

static inline void irq_restore(bool enabled)
{
    if (enabled)
        irq_enable();
}

/* Enables interrupts and halts, with no window in which one is lost; returns with them enabled. */
static inline void cpu_idle_wait(void)
{
    __asm__ volatile("sti; hlt" ::: "memory");
}

/* An NMI still gets through, and comes back here. */
_Noreturn static inline void cpu_halt_forever(void)
{
    for (;;)
        __asm__ volatile("cli; hlt" ::: "memory");
}

static inline uint64_t cpu_read_cr2(void)
{
    uint64_t value;
    __asm__ volatile("mov %%cr2, %0" : "=r"(value));
    return value;
}

static inline uint64_t cpu_read_cr3(void)
{
    uint64_t value;
    __asm__ volatile("mov %%cr3, %0" : "=r"(value));
    return value;
}

static inline void cpu_write_cr3(uint64_t value)
{
    __asm__ volatile("mov %0, %%cr3" ::"r"(value) : "memory");
}

static inline void cpu_invlpg(uint64_t address)
{
    __asm__ volatile("invlpg (%0)" ::"r"(address) : "memory");
}

/* --- features (cpu_features.c), read once on the boot CPU, checked on the others --- */

struct cpu_features {
    char vendor[13];
    char brand[49];
    uint32_t family, model, stepping;
    bool nx, smep, smap, umip, x2apic, tsc_deadline, invariant_tsc, rdtscp, xsave, fsgsbase;
    bool pat, hypervisor, cpuid_fault_intel, cpuid_fault_amd;
    uint32_t max_leaf, max_extended_leaf;
    uint32_t physical_bits;
};
extern struct cpu_features cpu_features;

void cpu_features_detect(void); /* boot CPU, before anything that asks */

/* On every CPU: EFER (NXE, SCE), CR0.WP, CR4 (SMEP, SMAP, UMIP, OSFXSR, OSXSAVE, TSD; never PCE or
 * FSGSBASE), SYSCALL MSRs, PAT left as it is. */
void cpu_control_setup(void);

void cpu_cpuid(uint32_t leaf, uint32_t subleaf, uint32_t out[4]); /* EAX, EBX, ECX, EDX */

/* The user's FS base of the running thread (MSR 0xC0000100). */
void cpu_set_fs_base(uint64_t base);

/* With SMAP, kernel code never touches user pages through user addresses: it goes through the
 * direct map (mm/user_memory.h). So there is no stac/clac anywhere. */

#endif
