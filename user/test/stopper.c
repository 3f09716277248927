/* SPDX-License-Identifier: MIT */
/* stopper [threads=4]: one thread starts a recording, and then all stop it at once.
 *
 * One of them does; for the others the call is wound back and made again, unrecorded.
 */
#include "user/lib/argument.h"
#include "user/lib/atomic.h"
#include "user/lib/print.h"
#include "user/lib/recorder.h"
#include "user/lib/team.h"

static uint32_t go;

static uint64_t stopper_work(const struct team_member *member)
{
    if (member->index == 0) {
        recorder_start();
        atomic_store(&go, 1);
    }
    while (atomic_load(&go) == 0)
        ;
    recorder_stop();
    return member->index;
}

int main(int argc, char **argv)
{
    unsigned threads =
        (unsigned)argument_number(argc, argv, &(struct argument){1, "threads", 4, 2, TEAM_MAX});

    return print_signature("stopper", team_run(threads, stopper_work));
}
