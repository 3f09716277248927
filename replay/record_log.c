/* SPDX-License-Identifier: MIT */
/* Recording: appending events and their dependencies. */
#include "kernel/cmdline.h"
#include "kernel/marker.h"
#include "kernel/panic.h"
#include "replay/record.h"
#include "replay/spool.h"

void record_abort(struct session *session, const char *reason)
{
    const char *none = NULL;
    MARKER(record_give_up, MARKER_ARG(pid, session->process->pid), MARKER_ARG(reason, reason));
    __atomic_compare_exchange_n(&session->abort, &none, reason, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_RELAXED);
}

/* Counts a new block of events. */
static bool too_large(struct session *session)
{
    struct recording *recording = session->recording;
    uint64_t bytes = __atomic_add_fetch(&recording->bytes, LOG_PAGE_SIZE, __ATOMIC_RELAXED);
    return !session->spool && bytes > recording->limit;
}

/* After the session was given up nothing is appended any more, but whoever takes a number gets
 * one. */
uint64_t record_append_locked(struct rec_thread *rec, struct log_event *event)
{
    struct session *session = rec->session;
    struct stream *stream = rec->stream;
    kassert(spin_held(&rec->view_lock) && !rec->ended);
    event->point = rec->point;
    MARKER(record_event, MARKER_ARG(thread, rec->slot), MARKER_ARG(event, stream->events + 1),
           MARKER_ARG(kind, event->kind), MARKER_ARG(page, (void *)event->page),
           MARKER_ARG(ticks, event->point.ticks), MARKER_ARG(rip, (void *)event->point.rip));
    if (session->abort)
        return stream->events + 1;
    uint64_t blocks = stream->blocks, closed = stream_closed(stream);
    if (!stream_append(stream, event)) {
        record_abort(session, "out of memory");
        return stream->events + 1;
    }
    if (stream->blocks != blocks && too_large(session))
        record_abort(session, "the recording reached its size limit");
    if (session->spool && stream_closed(stream) != closed)
        spool_block_closed(session->spool);
    return stream->events;
}

uint64_t record_append(struct rec_thread *rec, struct log_event *event)
{
    spin_lock(&rec->view_lock);
    uint64_t number = record_append_locked(rec, event);
    spin_unlock(&rec->view_lock);
    return number;
}

void dep_add(struct dep_set *deps, struct stamp stamp)
{
    if (stamp.event > deps->event[stamp.slot])
        deps->event[stamp.slot] = stamp.event;
}

void record_add_deps(struct rec_thread *rec, struct log_event *event, const struct dep_set *deps)
{
    event->dep_count = 0;
    for (uint32_t slot = 0; slot < LOG_MAX_SLOTS; slot++) {
        if (slot == rec->slot || deps->event[slot] <= rec->seen[slot])
            continue;
        rec->seen[slot] = deps->event[slot];
        event->deps[event->dep_count++] =
            (struct log_dep){.slot = slot, .event = deps->event[slot]};
    }
}
