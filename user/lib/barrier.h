/* SPDX-License-Identifier: MIT */
/* A barrier for a fixed number of threads, usable any number of times. */
#ifndef USER_LIB_BARRIER_H
#define USER_LIB_BARRIER_H

#include <stdint.h>

struct barrier {
    uint32_t total;
    uint32_t arrived;
    uint32_t generation; /* counts the barrier's openings; the futex word */
};

#define BARRIER_INIT(count)                                                                        \
    {                                                                                              \
        .total = (count)                                                                           \
    }

/* Sleeps until all have arrived. */
void barrier_wait(struct barrier *barrier);

#endif
