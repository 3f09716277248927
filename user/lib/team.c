/* SPDX-License-Identifier: MIT */
/* Running a team. One at a time: its state is static, written before the threads start. */
#include "user/lib/team.h"

#include "user/lib/hash.h"
#include "user/lib/print.h"
#include "user/lib/rendezvous.h"
#include "user/lib/syscall.h"
#include "user/lib/thread.h"

static team_work *team_current;
static struct rendezvous team_start;
static struct team_member team_members[TEAM_MAX];
static struct thread *team_threads[TEAM_MAX];

static uint64_t team_enter(void *argument)
{
    rendezvous_meet(&team_start);
    return team_current(argument);
}

uint64_t team_run(unsigned count, team_work *work)
{
    team_current = work;
    team_start = (struct rendezvous){.barrier = BARRIER_INIT(count)};
    for (unsigned i = 0; i < count; i++) {
        team_members[i] = (struct team_member){.index = i, .count = count};
        long error = i > 0 ? thread_create(&team_threads[i], team_enter, &team_members[i]) : 0;
        if (error < 0) {
            printf("team: thread %u of %u refused, error %ld\n", i, count, error);
            sys_exit_group(1);
        }
    }
    uint64_t hash = hash_mix(0, team_enter(&team_members[0]));
    for (unsigned i = 1; i < count; i++)
        hash = hash_mix(hash, thread_join(team_threads[i]));
    return hash;
}
