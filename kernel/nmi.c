/* SPDX-License-Identifier: MIT */
/* The chain of NMI handlers: a list that only grows at its head, so that an NMI in the middle of
 * that sees the old or the new one.
 */
#include "kernel/nmi.h"

#include <stddef.h>

#include "kernel/marker.h"
#include "kernel/panic.h"
#include "kernel/upcalls.h"

static struct nmi_handler *chain; /* atomic */
static uint64_t unclaimed;        /* atomic; late ones of a counter that was stopped, mostly */

void nmi_register(struct nmi_handler *handler)
{
    handler->next = chain;
    __atomic_store_n(&chain, handler, __ATOMIC_RELEASE);
}

bool upcall_nmi(struct trap_frame *frame)
{
    bool mine = false;
    if (panic_in_progress())
        panic_stop_this_cpu(frame);
    MARKER(nmi_enter, MARKER_ARG(rip, (void *)frame->rip),
           MARKER_ARG(user, frame_from_user(frame)));
    for (struct nmi_handler *at = __atomic_load_n(&chain, __ATOMIC_ACQUIRE); at; at = at->next)
        if (at->handle(frame)) {
            __atomic_add_fetch(&at->claimed, 1, __ATOMIC_RELAXED);
            mine = true;
        }
    if (!mine)
        __atomic_add_fetch(&unclaimed, 1, __ATOMIC_RELAXED);
    MARKER(nmi_exit, MARKER_ARG(claimed, mine));
    return mine;
}

uint64_t nmi_unclaimed_count(void)
{
    return __atomic_load_n(&unclaimed, __ATOMIC_RELAXED);
}

void nmi_for_each(void (*function)(const struct nmi_handler *, void *), void *argument)
{
    for (struct nmi_handler *at = __atomic_load_n(&chain, __ATOMIC_ACQUIRE); at; at = at->next)
        function(at, argument);
}
