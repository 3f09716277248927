/* SPDX-License-Identifier: MIT */
/* Running a function on every CPU and waiting until all have done so.
 *
 * Context: interrupts on (two callers must be able to serve each other), no spinlock held. The
 * function runs in interrupt context on the others and with interrupts off here. Waiting is
 * bounded and panics by name.
 */
#ifndef KERNEL_IPI_CALL_H
#define KERNEL_IPI_CALL_H

typedef void ipi_function(void *argument);

void ipi_call_all(ipi_function *function, void *argument, const char *what);

#endif
