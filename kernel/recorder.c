/* SPDX-License-Identifier: MIT */
/* Registration of the recorder. Locks: its own (LOCK_COMMAND), and atomics for the readers. */
#include "kernel/recorder.h"

#include "kernel/err.h"
#include "kernel/panic.h"
#include "kernel/spinlock.h"

static struct spinlock recorder_lock = SPINLOCK_INIT(LOCK_COMMAND, "recorder");
static const struct recorder *current_recorder; /* recorder_lock to write */
static uint32_t users;                          /* recorder_lock */

int recorder_register(const struct recorder *recorder)
{
    int error = 0;
    spin_lock(&recorder_lock);
    if (current_recorder)
        error = ERR_BUSY;
    else
        __atomic_store_n(&current_recorder, recorder, __ATOMIC_RELEASE);
    spin_unlock(&recorder_lock);
    return error;
}

int recorder_unregister(void)
{
    int error = 0;
    spin_lock(&recorder_lock);
    if (!current_recorder)
        error = ERR_NO_RECORDER;
    else if (users > 0)
        error = ERR_BUSY;
    else
        __atomic_store_n(&current_recorder, NULL, __ATOMIC_RELEASE);
    spin_unlock(&recorder_lock);
    return error;
}

const struct recorder *recorder_current(void)
{
    return __atomic_load_n(&current_recorder, __ATOMIC_ACQUIRE);
}

int recorder_hold(void)
{
    int error = 0;
    spin_lock(&recorder_lock);
    if (current_recorder)
        users++;
    else
        error = ERR_NO_RECORDER;
    spin_unlock(&recorder_lock);
    return error;
}

void recorder_release(void)
{
    spin_lock(&recorder_lock);
    kassert(users > 0);
    users--;
    spin_unlock(&recorder_lock);
}
