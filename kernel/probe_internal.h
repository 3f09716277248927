/* SPDX-License-Identifier: MIT */
/* What the files of the probe manager share. "held": the manager's mutex. */
#ifndef KERNEL_PROBE_INTERNAL_H
#define KERNEL_PROBE_INTERNAL_H

#include "kernel/probe.h"

void probe_manager_init(void);
void probe_lock(void);
void probe_unlock(void);

struct probe_chain *probe_chain_lookup(const char *name);     /* held; NULL */
int probe_link(struct probe *probe, const char *marker_name); /* held */
int probe_unlink(struct probe *probe);                        /* held; waits for the grace period */

void probe_commands_register(void);

#endif
