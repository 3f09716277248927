/* SPDX-License-Identifier: MIT */
/* The one store of this machine: the recordings on its disk.
 *
 * Buffers of store_read() and store_append() are those of kernel/disk.h: heap, frames or static.
 *
 * Mounted when it is first asked for. A blank disk is formatted then; whatever else is not a store
 * stays as it is (the command `disk format erase` replaces it). Context: thread. Locks: a mutex,
 * held from store_disk_open() to store_disk_release(); the disk's is taken under it.
 */
#ifndef REPLAY_STORE_DISK_H
#define REPLAY_STORE_DISK_H

#include "replay/store.h"

/* 0: *out is mounted and the caller's until it releases it; it may have an unfinished entry
 * (store_unfinished). Else a negative error, and nothing is held: ERR_NO_DISK, or store_mount()'s.
 */
int store_disk_open(struct store **out);
void store_disk_release(void);

void store_disk_init(void); /* boot; registers the command `disk` */

#endif
