/* SPDX-License-Identifier: MIT */
/* The chain of breakpoint handlers: a list that only grows at its head. Part of the entry of #BP.
 */
#include "kernel/breakpoint.h"

#include <stddef.h>

#include "arch/x86/layout.h"
#include "kernel/upcalls.h"

static struct breakpoint_handler *chain; /* atomic */

void breakpoint_register(struct breakpoint_handler *handler)
{
    handler->next = chain;
    __atomic_store_n(&chain, handler, __ATOMIC_RELEASE);
}

NOPROBE bool upcall_breakpoint(struct trap_frame *frame)
{
    struct breakpoint_handler *at = __atomic_load_n(&chain, __ATOMIC_ACQUIRE);
    for (; at; at = at->next)
        if (at->handle(frame))
            return true;
    return false;
}
