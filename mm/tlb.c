/* SPDX-License-Identifier: MIT */
/* Flushing every CPU's TLB of user entries by reloading CR3 (user entries are never global). */
#include "mm/tlb.h"

#include <stddef.h>

#include "arch/x86/cpu.h"
#include "kernel/ipi_call.h"

static void flush_this_cpu(void *argument)
{
    (void)argument;
    cpu_write_cr3(cpu_read_cr3());
}

void tlb_flush_all_cpus(void)
{
    ipi_call_all(flush_this_cpu, NULL, "TLB shootdown");
}
