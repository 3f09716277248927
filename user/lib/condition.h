/* SPDX-License-Identifier: MIT */
/* A condition variable; all zero is its initial state. */
#ifndef USER_LIB_CONDITION_H
#define USER_LIB_CONDITION_H

#include <stdint.h>

#include "user/lib/mutex.h"

struct condition {
    uint32_t sequence;
};

/* Releases mutex while it waits. May return without a signal: test again in a loop. */
void condition_wait(struct condition *condition, struct mutex *mutex);
void condition_signal(struct condition *condition);
void condition_broadcast(struct condition *condition);

#endif
