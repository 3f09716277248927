/* SPDX-License-Identifier: MIT */
/* One call at a time: a slot that every CPU reads, and a count of those still to answer. */
#include "kernel/ipi_call.h"

#include <stdbool.h>
#include <stdint.h>

#include "arch/x86/apic.h"
#include "arch/x86/cpu.h"
#include "kernel/marker.h"
#include "kernel/panic.h"
#include "kernel/upcalls.h"
#include "kernel/wait.h"

static bool slot_busy; /* atomic: whoever sets it owns the slot */
static struct {
    ipi_function *function;
    void *argument;
    uint32_t waiting;       /* atomic: CPUs that have not run it yet */
    bool pending[MAX_CPUS]; /* atomic; an IPI without this is a spurious one */
} slot;

static bool slot_take(void)
{
    return !__atomic_exchange_n(&slot_busy, true, __ATOMIC_ACQUIRE);
}

void ipi_call_all(ipi_function *function, void *argument, const char *what)
{
    kassert(irq_enabled());
    wait_until(slot_take(), what);
    slot.function = function;
    slot.argument = argument;
    uint32_t self = this_cpu()->index;
    __atomic_store_n(&slot.waiting, cpu_count - 1, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < cpu_count; i++)
        if (i != self) {
            __atomic_store_n(&slot.pending[i], true, __ATOMIC_RELEASE);
            apic_send_ipi(i, VECTOR_IPI_CALL);
        }
    irq_disable();
    function(argument);
    irq_enable();
    wait_until(__atomic_load_n(&slot.waiting, __ATOMIC_ACQUIRE) == 0, what);
    __atomic_store_n(&slot_busy, false, __ATOMIC_RELEASE);
}

void upcall_call_all_cpus(void (*function)(void *), void *argument, const char *what)
{
    ipi_call_all(function, argument, what);
}

void upcall_ipi_call(void)
{
    if (!__atomic_exchange_n(&slot.pending[this_cpu()->index], false, __ATOMIC_ACQ_REL))
        return;
    MARKER(ipi_receive, MARKER_ARG(vector, VECTOR_IPI_CALL));
    slot.function(slot.argument);
    __atomic_sub_fetch(&slot.waiting, 1, __ATOMIC_ACQ_REL);
}
