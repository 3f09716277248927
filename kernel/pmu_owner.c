/* SPDX-License-Identifier: MIT */
/* Handing out counters, and passing their overflows on. */
#include "kernel/pmu_owner.h"

#include <stddef.h>

#include "arch/x86/cpu.h"
#include "kernel/err.h"
#include "kernel/nmi.h"
#include "kernel/printf.h"
#include "kernel/spinlock.h"

static struct spinlock owner_lock = SPINLOCK_INIT(LOCK_COMMAND, "counters");
static struct pmu_user *users[PMU_MAX_COUNTERS]; /* owner_lock to write, atomic */
static uint32_t armed[MAX_CPUS];                 /* each CPU its own: bits of counters */
static const char *refusal;                      /* atomic */

int pmu_reserve(struct pmu_user *user)
{
    int error = ERR_BUSY;
    if (pmu_capabilities.kind == PMU_NONE || pmu_refusal())
        return ERR_NOT_FOUND;
    spin_lock(&owner_lock);
    for (uint32_t i = 0; i < pmu_capabilities.counters && error; i++)
        if (!users[i]) {
            user->counter = i;
            user->reserved = true;
            __atomic_store_n(&users[i], user, __ATOMIC_RELEASE);
            error = 0;
        }
    spin_unlock(&owner_lock);
    return error;
}

void pmu_release(struct pmu_user *user)
{
    spin_lock(&owner_lock);
    if (user->reserved)
        __atomic_store_n(&users[user->counter], NULL, __ATOMIC_RELEASE);
    user->reserved = false;
    spin_unlock(&owner_lock);
}

void pmu_refuse(const char *reason)
{
    __atomic_store_n(&refusal, reason, __ATOMIC_RELEASE);
}

const char *pmu_refusal(void)
{
    if (pmu_capabilities.kind == PMU_NONE)
        return pmu_capabilities.reason;
    return __atomic_load_n(&refusal, __ATOMIC_ACQUIRE);
}

void pmu_user_armed(const struct pmu_user *user, bool is_armed)
{
    uint32_t *mine = &armed[this_cpu()->index];
    uint32_t bit = 1u << user->counter;
    __atomic_store_n(mine, is_armed ? *mine | bit : *mine & ~bit, __ATOMIC_RELAXED);
}

/* The status bits are cleared before the users are called: a counter that a user writes anew may
 * overflow again at once, and that must not be lost. */
static bool handle_overflow(struct trap_frame *frame)
{
    uint32_t mine = __atomic_load_n(&armed[this_cpu()->index], __ATOMIC_RELAXED);
    uint32_t which = mine ? pmu_overflowed(mine) : 0;
    if (!which)
        return false;
    pmu_acknowledge(which);
    for (uint32_t i = 0; i < pmu_capabilities.counters; i++) {
        struct pmu_user *user = __atomic_load_n(&users[i], __ATOMIC_ACQUIRE);
        if (!(which & 1u << i) || !user)
            continue;
        __atomic_add_fetch(&user->overflows, 1, __ATOMIC_RELAXED);
        if (user->overflow)
            user->overflow(frame);
    }
    return true;
}

static struct nmi_handler overflow_handler = {.name = "counter overflow",
                                              .handle = handle_overflow};

void pmu_owner_init(void)
{
    pmu_detect();
    nmi_register(&overflow_handler);
    pmu_owner_setup_cpu();
}

void pmu_owner_setup_cpu(void)
{
    pmu_setup_cpu();
}

static void print_handler(const struct nmi_handler *handler, void *argument)
{
    (void)argument;
    printk("  NMI handler %-20s claimed %llu\n", handler->name,
           (unsigned long long)handler->claimed);
}

void pmu_print_users(void)
{
    const struct pmu_capabilities *pmu = &pmu_capabilities;
    if (pmu_refusal())
        printk("PMU: not used: %s\n", pmu_refusal());
    if (pmu->kind == PMU_NONE)
        return;
    printk("PMU: %s, %s version %u, %u counters of %u bits, %u fixed, skid bound %u\n",
           pmu->model->name, pmu->kind == PMU_INTEL ? "Intel" : "AMD", pmu->version, pmu->counters,
           pmu->width, pmu->fixed_counters, pmu->model->skid);
    if (pmu->model->errata)
        printk("  errata: %s\n", pmu->model->errata);
    spin_lock(&owner_lock);
    for (uint32_t i = 0; i < pmu->counters; i++)
        printk("  counter %u  %-16s overflows %llu\n", i, users[i] ? users[i]->name : "free",
               users[i] ? (unsigned long long)users[i]->overflows : 0ull);
    spin_unlock(&owner_lock);
    nmi_for_each(print_handler, NULL);
    printk("  NMIs that nobody claimed: %llu\n", (unsigned long long)nmi_unclaimed_count());
}
