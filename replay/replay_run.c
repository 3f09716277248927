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

#define LOOK_NS 20000000ull

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

static uint64_t events_done(const struct session *session)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < session->slots; i++)
        sum += session->threads[i]->done;
    return sum;
}

static void print_partial(const struct session *session)
{
    const struct recording *recording = session->recording;
    printk("replay of log %u: as far as the recording goes: %llu of its %llu events; %s\n",
           recording->number, (unsigned long long)events_done(session),
           (unsigned long long)recording_events(recording), recording->incomplete);
}

static void print_end(struct session *session, bool match, uint32_t n, uint64_t elapsed)
{
    char text[33];
    bool complete = recording_complete(session->recording);
    if (match && !complete)
        print_partial(session);
    const struct recording *recording = session->recording;
    printk("@replay prog=%s log=%u n=%u source=%s match=%s hash=%s exact=%llu slack=%llu "
           "steps=%llu ns=%llu events=%llu\n",
           recording->header.program, recording->number, n, session->source->name,
           !match     ? "no"
           : complete ? "yes"
                      : "partial",
           hash_text(text, session->end_hash), (unsigned long long)session->exact,
           (unsigned long long)session->slack, (unsigned long long)session->steps,
           (unsigned long long)elapsed, (unsigned long long)events_done(session));
}

static bool judge(struct session *session)
{
    end_state_hash(session, session->end_hash);
    if (replay_diverged(session))
        return false;
    if (!recording_complete(session->recording))
        return true; /* its end is not known */
    const char *difference = compare_end(session);
    if (difference)
        printk("replay of log %u DIVERGED: the end state differs: %s\n"
               "@diverged log=%u thread=0 event=0 kind=end-state msg=\"%s\"\n",
               session->recording->number, difference, session->recording->number, difference);
    return difference == NULL;
}

/* All threads sleep, and nobody but themselves could wake them. */
static bool all_blocked(struct session *session)
{
    uint32_t live = 0, blocked = 0;
    spin_lock(&session->lock);
    for (uint32_t i = 0; i < session->slots; i++) {
        const struct rec_thread *rec = session->threads[i];
        const struct thread *thread = rec->thread;
        if (!thread)
            continue;
        live++;
        if (__atomic_load_n(&thread->state, __ATOMIC_RELAXED) == THREAD_BLOCKED)
            blocked += rec->waiting.event != 0 || thread->sleep_until >= WAIT_FOREVER;
    }
    spin_unlock(&session->lock);
    return live > 0 && blocked == live;
}

/* What a sleeper waits for may be behind the end of an incomplete recording. */
static void wait_for_end(struct session *session)
{
    struct process *process = session->process;
    uint64_t mark = 0;
    bool still = false;
    if (recording_complete(session->recording)) {
        process_wait(process);
        return;
    }
    while (!process_wait_until(process, timer_now_ns() + LOOK_NS)) {
        bool blocked = all_blocked(session);
        uint64_t now = replay_progress(session);
        if (blocked && still && now == mark)
            replay_cut_session(session);
        still = blocked;
        mark = now;
    }
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
    wait_for_end(session);
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
