/* SPDX-License-Identifier: MIT */
/* Bringing up the boot CPU.
 */
#include "arch/x86/arch.h"

#include <stddef.h>
#include "arch/x86/context.h"
#include "arch/x86/cpu.h"
#include "arch/x86/gdt.h"
#include "arch/x86/idt.h"
#include "arch/x86/paging.h"
#include "kernel/panic.h"
#include "kernel/string.h"

extern char boot_stack_guard[], boot_stack_top[];                  /* boot/entry.asm */
extern uint8_t *const clac_sites_start[], *const clac_sites_end[]; /* linker.ld */

/* Text is still writable, and no other CPU runs. */
static void patch_clac_sites(void)
{
    static const uint8_t nop[3] = {0x0f, 0x1f, 0x00}, clac[3] = {0x0f, 0x01, 0xca};
    uint32_t ignored[4];

    if (!cpu_features.smap)
        return;
    for (uint8_t *const *site = clac_sites_start; (uint64_t)site < (uint64_t)clac_sites_end;
         site++) {
        kassert(memcmp(*site, nop, sizeof(nop)) == 0);
        memcpy(*site, clac, sizeof(clac));
    }
    cpu_cpuid(0, 0, ignored); /* serialises */
}

void arch_early_init(void)
{
    struct cpu *cpu = this_cpu();

    cpu->kernel_stack_top = (uint64_t)boot_stack_top;
    gdt_prepare_boot_cpu(cpu);
    gdt_load(cpu);
    idt_init();
    idt_load();
    cpu_features_detect();
    patch_clac_sites();
    cpu_control_setup();
}

void arch_late_init(void)
{
    if (!gdt_prepare_cpu(this_cpu()))
        panic("out of memory for the boot CPU's interrupt stacks");
    paging_unmap(paging_kernel_root(), (uint64_t)boot_stack_guard);
    cpu_invlpg((uint64_t)boot_stack_guard);
    fpu_setup();
}
