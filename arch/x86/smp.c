/* SPDX-License-Identifier: MIT */
/* Starting the other CPUs, one at a time.
 *
 * A starting CPU finds its parameters in the trampoline's page, behind a ticket that it takes by an
 * atomic exchange. So a CPU that comes after its time is over halts there; or, should it
 * come while the next one is awaited, takes that one's place, and is known by its own APIC ID. The
 * page is never given back.
 *
 * Context: smp_start_all() on the boot CPU; smp_cpu_entry() on each other one, interrupts off.
 */
#include "arch/x86/smp.h"

#include <stdbool.h>
#include <stddef.h>
#include "arch/x86/apic.h"
#include "arch/x86/context.h"
#include "arch/x86/cpu.h"
#include "arch/x86/cpu_features.h"
#include "arch/x86/gdt.h"
#include "arch/x86/idt.h"
#include "arch/x86/layout.h"
#include "arch/x86/paging.h"
#include "arch/x86/timer.h"
#include "boot/boot_info.h"
#include "kernel/panic.h"
#include "kernel/printf.h"
#include "kernel/string.h"
#include "kernel/upcalls.h"

/* Long, since the host of an emulator can be busy. A CPU that took its ticket gets the second one:
 * its stack and parameters cannot be used for another CPU. */
#define START_LIMIT_NS 5000000000ull
#define RUN_LIMIT_NS 60000000000ull

extern const uint8_t trampoline_start[], trampoline_end[]; /* boot/trampoline.asm */
extern const uint8_t trampoline_long_mode[];
extern struct cpu cpu_storage[MAX_CPUS]; /* cpu.c */

enum start_result {
    START_DONE,      /* it is online */
    START_NO_ANSWER, /* it never came */
    START_STUCK,     /* it came and did not get through */
};

/* What a CPU on its way writes, for the report when it gets stuck; one at a time. */
static const char *volatile start_refused;

_Noreturn void smp_cpu_entry(struct cpu *cpu);

static struct trampoline *trampoline_install(uint32_t page)
{
    struct trampoline *head = PHYS_TO_VIRT(page);
    size_t size = (uint64_t)trampoline_end - (uint64_t)trampoline_start;

    kassert(size <= PAGE_SIZE);
    memcpy(head, trampoline_start, size);
    head->ticket = 0;
    head->efer = cpu_control_efer();
    head->root = (uint32_t)paging_trampoline_root();
    head->far_base = page + (uint32_t)((uint64_t)trampoline_long_mode - (uint64_t)trampoline_start);
    head->far_selector = SELECTOR_KERNEL_CODE;
    head->gdt_limit = sizeof(head->gdt) - 1;
    head->gdt_base = page + (uint32_t)offsetof(struct trampoline, gdt);
    head->entry = (uint64_t)smp_cpu_entry;
    return head;
}

static bool wait_online(const struct cpu *cpu, uint64_t limit_ns)
{
    uint64_t end = timer_now_ns() + limit_ns;

    while (!__atomic_load_n(&cpu->online, __ATOMIC_ACQUIRE)) {
        if (start_refused || timer_now_ns() > end)
            return false;
        cpu_pause();
    }
    return true;
}

static enum start_result start_cpu(struct trampoline *head, uint32_t page, struct cpu *cpu,
                                   uint32_t apic_id)
{
    start_refused = NULL;
    head->stack_top = cpu->kernel_stack_top;
    head->cpu = (uint64_t)cpu;
    __atomic_store_n(&head->ticket, 1, __ATOMIC_SEQ_CST);
    apic_start_cpu(apic_id, page);
    if (wait_online(cpu, START_LIMIT_NS))
        return START_DONE;
    if (__atomic_exchange_n(&head->ticket, 0, __ATOMIC_SEQ_CST) == 1)
        return START_NO_ANSWER;
    return wait_online(cpu, RUN_LIMIT_NS) ? START_DONE : START_STUCK;
}

/* The next free struct cpu, with stacks. False when memory has run out. */
static bool prepare_cpu(struct cpu *cpu, uint32_t index, const struct acpi_cpu *listed)
{
    cpu->index = index;
    cpu->apic_id = listed->apic_id;
    cpu->acpi_id = listed->acpi_id;
    if (cpu->kernel_stack_top) /* made for a CPU that did not come */
        return true;
    void *stack = paging_alloc_stack(KERNEL_STACK_SIZE);
    if (stack == NULL)
        return false;
    cpu->self = cpu;
    cpu->kernel_stack_top = (uint64_t)stack + KERNEL_STACK_SIZE;
    if (!gdt_prepare_cpu(cpu)) {
        cpu->kernel_stack_top = 0;
        paging_free_stack(stack, KERNEL_STACK_SIZE);
        return false;
    }
    cpus[index] = cpu;
    return true;
}

/* False when no further CPU can be started. */
static bool start_listed(struct trampoline *head, uint32_t page, const struct acpi_cpu *listed)
{
    uint32_t index = __atomic_load_n(&cpu_count, __ATOMIC_ACQUIRE);
    struct cpu *cpu = &cpu_storage[index];

    if (!prepare_cpu(cpu, index, listed)) {
        printk("smp: error: out of memory for CPU %u; no more CPUs\n", index);
        return false;
    }
    switch (start_cpu(head, page, cpu, listed->apic_id)) {
    case START_DONE:
        if (cpu->apic_id != listed->apic_id)
            printk("smp: warning: APIC ID %u came late, in place of APIC ID %u\n", cpu->apic_id,
                   listed->apic_id);
        return true;
    case START_NO_ANSWER:
        printk("smp: warning: the CPU with APIC ID %u did not start within %u s; left out\n",
               listed->apic_id, (unsigned)(START_LIMIT_NS / 1000000000));
        return true;
    case START_STUCK:
        printk("smp: error: the CPU with APIC ID %u started and got stuck (%s%s); no more CPUs\n",
               listed->apic_id,
               start_refused ? "differs from the boot CPU in: " : "no reason known",
               start_refused ? start_refused : "");
        return false;
    }
    return false;
}

void smp_start_all(void)
{
    uint32_t page = boot_info.low_page;
    uint32_t boot_id = apic_read_id();

    cpu_storage[0].apic_id = boot_id;
    if (acpi_info.cpu_count <= 1)
        return;
    if (page == 0) {
        printk("smp: warning: no free page below 1 MiB to start CPUs in; one CPU is used\n");
        return;
    }
    struct trampoline *head = trampoline_install(page);
    for (uint32_t i = 0; i < acpi_info.cpu_count && cpu_count < MAX_CPUS; i++) {
        const struct acpi_cpu *listed = &acpi_info.cpus[i];
        if (listed->apic_id == boot_id)
            cpu_storage[0].acpi_id = listed->acpi_id;
        else if (!start_listed(head, page, listed))
            break;
    }
    paging_trampoline_done();
}

/* A CPU unlike the boot CPU cannot run threads that may move between them. */
static void refuse_if_different(void)
{
    start_refused = cpu_features_compare();
    while (start_refused)
        __asm__ volatile("cli; hlt");
}

/* From the trampoline, on the CPU's own stack, GS.base already right. */
_Noreturn void smp_cpu_entry(struct cpu *cpu)
{
    paging_use_kernel_root();
    gdt_load(cpu);
    idt_load();
    refuse_if_different();
    cpu_control_setup();
    fpu_setup();
    apic_setup_cpu();
    cpu->apic_id = apic_read_id();
    timer_setup_cpu();
    __atomic_store_n(&cpu_count, cpu->index + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&cpu->online, true, __ATOMIC_RELEASE);
    upcall_cpu_main();
}
