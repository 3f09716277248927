/* SPDX-License-Identifier: MIT */
/* A mutual exclusion lock; all zero is unlocked. Not recursive. */
#ifndef USER_LIB_MUTEX_H
#define USER_LIB_MUTEX_H

#include <stdint.h>

struct mutex {
    uint32_t state;
};

void mutex_lock(struct mutex *mutex);
void mutex_unlock(struct mutex *mutex);

#endif
