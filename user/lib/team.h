/* SPDX-License-Identifier: MIT */
/* A team: a number of threads, the caller among them, that do the same work at the same time. */
#ifndef USER_LIB_TEAM_H
#define USER_LIB_TEAM_H

#include <stdint.h>

#define TEAM_MAX 64

/* count threads with the indices 0 (the caller) to count - 1. */
struct team_member {
    unsigned index;
    unsigned count;
};

typedef uint64_t team_work(const struct team_member *member);

/* Runs work in count (1 to TEAM_MAX) threads that start together; returns the hash of their
 * results in the order of their indices. Ends the process if threads cannot be had. */
uint64_t team_run(unsigned count, team_work *work);

#endif
