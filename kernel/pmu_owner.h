/* SPDX-License-Identifier: MIT */
/* Who uses which performance counter: the one place that hands them out.
 *
 * A reservation is for the same counter on every CPU. Its user programs it there by itself, on the
 * CPU concerned with interrupts off; overflows come back through its callback, in NMI context.
 *
 * Locks: own (LOCK_COMMAND) for reserving; the NMI side reads without.
 */
#ifndef KERNEL_PMU_OWNER_H
#define KERNEL_PMU_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/x86/frame.h"
#include "arch/x86/pmu.h"

struct pmu_user {
    const char *name;
    /* NMI context. The overflow is acknowledged after it returns. NULL: the user wants none. */
    void (*overflow)(struct trap_frame *frame);
    uint32_t counter; /* set by pmu_reserve */
    bool reserved;
    uint64_t overflows; /* atomic */
};

/* ERR_BUSY: all counters are taken; ERR_NOT_FOUND: the machine has none that can be used. */
int pmu_reserve(struct pmu_user *user);
void pmu_release(struct pmu_user *user); /* stopped on all CPUs before */

/* The boot self-test found the PMU unusable: nobody gets a counter any more, for this reason. */
void pmu_refuse(const char *reason);
const char *pmu_refusal(void); /* NULL: it can be used */

/* Between these the overflow of the user's counter on this CPU is looked for. */
void pmu_user_armed(const struct pmu_user *user, bool armed);

void pmu_owner_init(void);      /* boot CPU: detects, registers the NMI handler and the command */
void pmu_owner_setup_cpu(void); /* every CPU */
void pmu_print_users(void);

#endif
