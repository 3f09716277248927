/* SPDX-License-Identifier: MIT */
/* The chain of NMI handlers.
 *
 * Each is asked in turn, all of them at every NMI: several sources can be behind one. A handler
 * runs on the NMI stack or on the interrupted thread's kernel stack, with whatever locks the
 * interrupted code holds: it takes none, sleeps not, faults not.
 */
#ifndef KERNEL_NMI_H
#define KERNEL_NMI_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/x86/frame.h"

struct nmi_handler {
    const char *name;
    bool (*handle)(struct trap_frame *frame); /* true: it was mine */
    uint64_t claimed;                         /* atomic; how often */
    struct nmi_handler *next;                 /* the chain's */
};

void nmi_register(struct nmi_handler *handler); /* static storage; at boot, never taken away */

uint64_t nmi_unclaimed_count(void);
void nmi_for_each(void (*function)(const struct nmi_handler *, void *), void *argument);

#endif
