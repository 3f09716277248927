/* SPDX-License-Identifier: MIT */
/* TLB shootdown: after entries of shared page tables were taken away.
 *
 * Context: thread, interrupts on, no spinlock held. Returns when no CPU can use the old entries any
 * more. Views of recorded threads do not need it: they are flushed on the way to ring 3.
 */
#ifndef MM_TLB_H
#define MM_TLB_H

void tlb_flush_all_cpus(void);

#endif
