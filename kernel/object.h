/* SPDX-License-Identifier: MIT */
/* Kernel objects of a process whose order of use a recording must keep: its futex buckets, its map,
 * its thread table, its output.
 *
 * A system call holds an object's mutex while it works with it. When the thread is recorded,
 * entering logs ORDER with the event of whoever used it last; in replay entering waits for that
 * event first. So a replayed call finds the object as the recorded one did.
 *
 * Locks: mutex (sleeping) → page lock. An object is entered before a page of the same call is
 * touched, and only one at a time.
 */
#ifndef KERNEL_OBJECT_H
#define KERNEL_OBJECT_H

#include <stdint.h>

#include "kernel/names.h"
#include "kernel/waitqueue.h"
#include "mm/space.h"

struct object {
    struct mutex mutex;
    enum object_id id; /* fixed */
    struct stamp last; /* mutex; OBJECT_MAP: space lock. The last use by a recorded thread */
};

void object_init(struct object *object, enum object_id id);
/* Takes the mutex in any case. False: a replayed thread whose recording goes no further is not in
 * its turn; it must change nothing that others can see, and leave. */
bool object_enter(struct object *object);
void object_leave(struct object *object);

/* Entering in two steps, for the map: its ORDER event must be logged in one step with the change,
 * under the space lock, since page faults read both. In replay the wait comes first and the
 * event counts as done with the commit. */
bool object_enter_uncommitted(struct object *object);
void object_commit(struct object *object);
bool object_order_again(struct object *object); /* held: a further change, a further commit */

#endif
