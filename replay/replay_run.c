/* SPDX-License-Identifier: MIT */
/* One replay of a recording, from checkpoint to the comparison of end states. */
#include "arch/x86/timer.h"
#include "kernel/commands.h"
#include "kernel/err.h"
#include "kernel/marker.h"
#include "kernel/printf.h"
#include "kernel/process.h"
#include "kernel/string.h"
#include "mm/heap.h"
#include "replay/checkpoint.h"
#include "replay/replay_session.h"

/* Slots are given in ascending order, so those of the checkpoint are the first ones. */
static int attach(struct session *session, struct thread **threads)
{
    for (uint32_t slot = 0; slot < LOG_MAX_SLOTS && threads[slot]; slot++) {
        struct rec_thread *rec = session_add_thread(session, threads[slot]);
        if (!rec)
            return ERR_NO_MEMORY;
        replay_open(rec);
    }
    return 0;
}

static void drop_threads(struct process *process, struct thread **threads)
{
    for (uint32_t slot = 0; slot < LOG_MAX_SLOTS; slot++)
        if (threads[slot])
            process_drop_thread(process, threads[slot]);
}

static struct session *prepare(struct recording *recording, int *error)
{
    struct thread **threads = kzalloc(LOG_MAX_SLOTS * sizeof(*threads));
    struct process *process = NULL;
    struct session *session = NULL;
    *error = ERR_NO_MEMORY;
    if (threads)
        process = checkpoint_restore(recording, threads, error);
    if (process) {
        process->quiet = true;
        session = session_create(process, recording, true, error);
        if (session)
            *error = attach(session, threads);
    }
    if (process && *error) {
        drop_threads(process, threads);
        if (session)
            session_free(session);
        session = NULL;
        process_destroy(process);
    }
    kfree(threads);
    return session;
}

/* The first thing in which the end differs from the recorded one; NULL when nothing does. */
static const char *compare_end(struct session *session)
{
    const struct recording *recording = session->recording;
    if (session->slots != recording->slots)
        return "number of threads";
    for (uint32_t i = 0; i < session->slots; i++)
        if (session->threads[i]->ticks.ticks != recording->end.threads[i].ticks)
            return "ticks of a thread";
    for (uint32_t i = 0; i < session->slots; i++)
        if (session->threads[i]->done != recording->end.threads[i].events)
            return "events of a thread";
    if (memcmp(session->end_hash, recording->end.hash, STATE_HASH_BYTES) != 0)
        return "memory, registers or output";
    return NULL;
}

static void print_end(struct session *session, bool match, uint32_t n, uint64_t elapsed)
{
    char text[33];
    const struct recording *recording = session->recording;
    printk("@replay prog=%s log=%u n=%u source=%s match=%s hash=%s exact=%llu slack=%llu "
           "steps=%llu ns=%llu\n",
           recording->program, recording->number, n, session->source->name, match ? "yes" : "no",
           hash_text(text, session->end_hash), (unsigned long long)session->exact,
           (unsigned long long)session->slack, (unsigned long long)session->steps,
           (unsigned long long)elapsed);
}

static bool judge(struct session *session)
{
    end_state_hash(session, session->end_hash);
    if (replay_diverged(session))
        return false;
    const char *difference = compare_end(session);
    if (difference)
        printk("replay of log %u DIVERGED: the end state differs: %s\n"
               "@diverged log=%u thread=0 event=0 kind=end-state msg=\"%s\"\n",
               session->recording->number, difference, session->recording->number, difference);
    return difference == NULL;
}

static int replay_held(struct recording *recording, uint32_t n)
{
    int error;
    struct session *session = prepare(recording, &error);
    if (!session)
        return error;
    struct process *process = session->process;
    process->session = session;
    uint64_t started = timer_now_ns();
    MARKER(replay_begin, MARKER_ARG(pid, process->pid), MARKER_ARG(log, recording->number),
           MARKER_ARG(program, (const char *)process->name), MARKER_ARG(threads, session->slots));
    process_start(process);
    process_wait(process);
    uint64_t elapsed = timer_now_ns() - started;
    bool match = judge(session);
    MARKER(replay_end, MARKER_ARG(pid, process->pid), MARKER_ARG(log, recording->number),
           MARKER_ARG(match, match), MARKER_ARG(exact, session->exact),
           MARKER_ARG(slack, session->slack), MARKER_ARG(steps, session->steps));
    print_end(session, match, n, elapsed);
    process->session = NULL;
    session_free(session);
    process_destroy(process);
    return match ? 0 : ERR_DIVERGED;
}

int replay_run(struct recording *recording, uint32_t n)
{
    int error = recorder_hold();
    if (error)
        return error;
    error = replay_held(recording, n);
    recorder_release();
    return error;
}
