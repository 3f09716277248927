/* SPDX-License-Identifier: MIT */
/* Branch history at every exception: turning it on, and printing it. docs/lbr.md explains it.
 *
 * A kernel built with LBR=0 has kernel/lbr_none.c in place of all that is behind this.
 */
#ifndef KERNEL_LBR_H
#define KERNEL_LBR_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/x86/frame.h"

void lbr_register(void); /* boot CPU: looks for LBR, registers the command */

/* Thread context, interrupts on. ERR_NOT_FOUND: lbr_refusal() says why; ERR_NO_MEMORY; ERR_FAILED:
 * a CPU refused. */
int lbr_turn_on(void);
void lbr_turn_off(void);
bool lbr_is_on(void);
const char *lbr_refusal(void); /* NULL: the machine has LBR */

void lbr_print_info(void);
int lbr_print_dump(void);            /* the newest history of each vector on each CPU */
int lbr_set_filter(uint32_t filter); /* LBR_FILTER_* of arch/x86/lbr.h; kept while off */

/* Prints the history that was saved for this frame, or why there is none; NULL: what this CPU
 * recorded up to lbr_freeze() (arch/x86/lbr.h). Any context; `program` (for symbols of user code,
 * thread context only) may be NULL. */
void lbr_report(const struct trap_frame *frame, const char *program);

int lbr_bench(void); /* instructions of a page fault, on and off, as one line @lbr-bench */

#endif
