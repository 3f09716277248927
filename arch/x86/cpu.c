/* SPDX-License-Identifier: MIT */
/* Where the per-CPU data lives.
 *
 * The boot CPU's is usable from the first instruction of C: entry.asm loads GS with it.
 */
#include "arch/x86/cpu.h"

#include "arch/x86/msr.h"

/* [0] is the boot CPU's, as entry.asm knows; smp.c hands out the others in order. */
struct cpu cpu_storage[MAX_CPUS] __attribute__((aligned(64))) = {
    [0] = {.self = &cpu_storage[0], .online = true},
};

struct cpu *cpus[MAX_CPUS] = {&cpu_storage[0]};
uint32_t cpu_count = 1;

void cpu_set_fs_base(uint64_t base)
{
    msr_write(MSR_FS_BASE, base);
}
