/* SPDX-License-Identifier: MIT */
/* Ordered kernel objects: a mutex and, for recorded threads, the recorder's two hooks. */
#include "kernel/object.h"

#include "kernel/recorder.h"
#include "kernel/thread.h"

void object_init(struct object *object, enum object_id id)
{
    mutex_init(&object->mutex, object_name(id));
    object->id = id;
    object->last = (struct stamp){0};
}

bool object_order_again(struct object *object)
{
    struct thread *self = current_thread();
    return !self->rec || recorder_current()->order_wait(self, object);
}

bool object_enter_uncommitted(struct object *object)
{
    bool in_turn = object_order_again(object);
    mutex_lock(&object->mutex);
    return in_turn;
}

void object_commit(struct object *object)
{
    struct thread *self = current_thread();
    if (self->rec)
        recorder_current()->order_done(self, object);
}

bool object_enter(struct object *object)
{
    bool in_turn = object_enter_uncommitted(object);
    object_commit(object);
    return in_turn;
}

void object_leave(struct object *object)
{
    mutex_unlock(&object->mutex);
}
