/* SPDX-License-Identifier: MIT */
/* What mm/space*.c need of the machine, in host tests: spinlocks that are only counted, and page
 * tables that are a list of what is mapped.
 *
 * All locks are held at all times as far as spin_held() goes: the tests have one thread.
 */
#ifndef TESTS_HOST_HOST_SPACE_H
#define TESTS_HOST_HOST_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/x86/paging.h"
#include "kernel/spinlock.h"

#define HOST_ROOT 0x5000ull
#define HOST_ENTRIES 4096

struct host_entry {
    uint64_t address, physical, flags;
};

static struct host_entry host_entries[HOST_ENTRIES];
static unsigned host_entry_count;
static int host_locks; /* taken and not released */

void spin_init(struct spinlock *lock, enum lock_rank rank, const char *name)
{
    *lock = (struct spinlock)SPINLOCK_INIT(rank, name);
}

void spin_lock(struct spinlock *lock)
{
    lock->word++;
    host_locks++;
}

void spin_unlock(struct spinlock *lock)
{
    lock->word--;
    host_locks--;
}

bool spin_held(const struct spinlock *lock)
{
    (void)lock;
    return true;
}

uint64_t paging_create_root(void)
{
    host_entry_count = 0;
    return HOST_ROOT;
}

void paging_destroy_root(uint64_t root)
{
    (void)root;
    host_entry_count = 0;
}

static inline struct host_entry *host_entry_at(uint64_t address)
{
    for (unsigned i = 0; i < host_entry_count; i++)
        if (host_entries[i].address == address)
            return &host_entries[i];
    return NULL;
}

bool paging_map(uint64_t root, uint64_t address, uint64_t physical, uint64_t flags)
{
    struct host_entry *entry = host_entry_at(address);

    (void)root;
    if (!entry && host_entry_count == HOST_ENTRIES)
        return false;
    if (!entry)
        entry = &host_entries[host_entry_count++];
    *entry = (struct host_entry){address, physical, flags};
    return true;
}

void paging_unmap(uint64_t root, uint64_t address)
{
    struct host_entry *entry = host_entry_at(address);

    (void)root;
    if (entry)
        *entry = host_entries[--host_entry_count];
}

#endif
