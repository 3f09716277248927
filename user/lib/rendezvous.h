/* SPDX-License-Identifier: MIT */
/* A start line: threads leave it as nearly at one moment as they can. */
#ifndef USER_LIB_RENDEZVOUS_H
#define USER_LIB_RENDEZVOUS_H

#include "user/lib/barrier.h"

/* For one use. */
struct rendezvous {
    struct barrier barrier;
    uint32_t awake;
};

void rendezvous_meet(struct rendezvous *rendezvous);

#endif
