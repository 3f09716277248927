/* SPDX-License-Identifier: MIT */
/* Where a recording begins and ends: checkpoint, views for all threads, end state; and back to the
 * shared page tables.
 *
 * The threads of the process are stopped (process_stop_others), have not started yet, or are gone.
 */
#include "replay/record_session.h"

#include "arch/x86/paging.h"
#include "kernel/cmdline.h"
#include "kernel/err.h"
#include "kernel/ipi_call.h"
#include "kernel/marker.h"
#include "kernel/panic.h"
#include "kernel/printf.h"
#include "kernel/recorder.h"
#include "kernel/string.h"
#include "mm/heap.h"
#include "replay/checkpoint.h"
#include "replay/crew.h"
#include "replay/log_disk.h"
#include "replay/record.h"
#include "replay/spool.h"

#define DEFAULT_LIMIT_MIB 64

static struct recording *describe(struct process *process)
{
    struct recording *recording = recording_create();
    if (!recording)
        return NULL;
    record_describe(&recording->header, process);
    recording_set_command(recording);
    recording->limit = cmdline_number("log_limit_mib", DEFAULT_LIMIT_MIB) << 20;
    recording->started_ns = timer_now_ns();
    return recording;
}

/* --- begin --- */

static void reset_page(struct user_page *page, void *argument)
{
    (void)argument;
    crew_reset(page);
}

struct thread_collector {
    struct thread *threads[PROCESS_MAX_THREADS];
    uint32_t count;
};

static void collect(struct thread *thread, void *argument)
{
    struct thread_collector *collector = argument;
    collector->threads[collector->count++] = thread;
}

static void forget_order(struct process *process)
{
    process->map.last = process->thread_table.last = process->output.last = (struct stamp){0};
    for (unsigned i = 0; i < FUTEX_BUCKETS; i++)
        process->futexes[i].object.last = (struct stamp){0};
}

static void detach_thread(struct thread *thread, void *argument)
{
    (void)argument;
    thread->rec = NULL;
    thread->no_yield = false;
    thread->root = thread->process->space->root;
}

static int attach_threads(struct session *session)
{
    struct thread_collector *collector = kzalloc(sizeof(*collector));
    int error = collector ? 0 : ERR_NO_MEMORY;
    if (collector)
        process_for_each_thread(session->process, collect, collector);
    if (!error && collector->count > LOG_MAX_SLOTS)
        error = ERR_TOO_MANY_THREADS;
    for (uint32_t i = 0; !error && i < collector->count; i++) {
        error =
            checkpoint_capture_thread(&session->recording->checkpoint, i, collector->threads[i]);
        if (!error && !session_add_thread(session, collector->threads[i]))
            error = ERR_NO_MEMORY;
    }
    kfree(collector);
    return error;
}

static void reload_root(void *argument)
{
    (void)argument;
    if (current_thread()->process)
        cpu_write_cr3(current_thread()->root);
}

/* The threads' page tables were exchanged. A thread that is stopped need not have left its CPU yet,
 * and would go on with the old ones. */
static void reload_all_roots(void)
{
    ipi_call_all(reload_root, NULL, "page tables of a recording");
}

static int begin(struct process *process, struct recording *recording, struct session **session)
{
    int error = checkpoint_capture_process(recording, process);
    if (error)
        return error;
    *session = session_create(process, recording, false, &error);
    if (error)
        return error;
    record_describe_source(&recording->header, (*session)->source);
    space_for_each_page(process->space, 0, USER_END, reset_page, NULL);
    forget_order(process);
    error = attach_threads(*session);
    if (!error)
        return 0;
    process_for_each_thread(process, detach_thread, NULL);
    session_free(*session);
    return error;
}

/* Without the disk the recording is made all the same. */
static void open_spool(struct session *session)
{
    int error = spool_begin(session, &session->spool);
    if (error)
        printk("disk: %s; the recording stays in memory\n", err_text(error));
}

int record_begin(struct process *process, struct session **session)
{
    int error = recorder_hold();
    if (error)
        return error;
    struct recording *recording = describe(process);
    error = recording ? begin(process, recording, session) : ERR_NO_MEMORY;
    if (error) {
        if (recording)
            recording_free(recording);
        recorder_release();
        return error;
    }
    open_spool(*session);
    process->session = *session;
    process->recording_lost = NULL;
    MARKER(record_begin, MARKER_ARG(pid, process->pid), MARKER_ARG(log, recording->number),
           MARKER_ARG(program, (const char *)process->name),
           MARKER_ARG(threads, (*session)->slots));
    reload_all_roots();
    return 0;
}

/* --- end --- */

static void note_threads(struct session *session)
{
    struct recording *recording = session->recording;
    recording->slots = session->slots;
    for (uint32_t i = 0; i < session->slots; i++)
        recording->end.threads[i] = (struct end_thread){
            .present = true,
            .ticks = session->threads[i]->ticks.ticks,
            .events = recording->streams[i].events,
        };
}

static void note_end(struct session *session, const char *lost)
{
    struct recording *recording = session->recording;
    struct hash output = session->process->output_hash;
    uint8_t digest[HASH_MAX_DIGEST];
    recording->elapsed_ns = timer_now_ns() - recording->started_ns;
    note_threads(session);
    if (lost) {
        string_copy(recording->incomplete, lost, sizeof(recording->incomplete));
        return;
    }
    hash_final(&output, digest);
    memcpy(recording->end.output_hash, digest, sizeof(recording->end.output_hash));
    recording->end.process = session->process->end;
    end_state_hash(session, recording->end.hash);
}

/* The threads that there still are go back to the shared page tables. */
static void detach(struct session *session)
{
    struct process *process = session->process;
    process_for_each_thread(process, detach_thread, NULL);
    process->session = NULL;
    paging_clear_user(process->space->root);
    reload_all_roots();
    session_free(session);
    recorder_release();
}

/* Ends the file. When that fails a recording that is still whole in memory stays there; else the
 * file is what there is. Returns the recording to publish, or NULL. */
static struct recording *end_file(struct recording *recording, struct spool *spool)
{
    char name[RECORDING_NAME_MAX], reason[RECORDING_REASON_MAX];
    string_copy(name, spool_name(spool), sizeof(name));
    int error = spool_end(spool, recording->incomplete);
    if (!error && recording_complete(recording)) {
        log_disk_adopt(name, recording);
        return recording;
    }
    if (error)
        printk("disk: %s: %s\n", name, err_text(error));
    if (error && recording_in_memory(recording))
        return recording;
    recording_free(recording);
    error = log_disk_load(name, &recording, reason);
    if (error)
        printk("disk: nothing of the recording can be used: %s\n",
               error == ERR_BAD_LOG ? reason : err_text(error));
    return recording;
}

int record_finish(struct session *session, struct recording **out)
{
    struct recording *recording = session->recording;
    struct spool *spool = session->spool;
    const char *lost = __atomic_load_n(&session->abort, __ATOMIC_ACQUIRE);
    note_end(session, lost);
    MARKER(record_end, MARKER_ARG(pid, session->process->pid), MARKER_ARG(log, recording->number),
           MARKER_ARG(threads, session->slots), MARKER_ARG(bytes, recording->bytes));
    if (lost)
        printk("%s: recording given up: %s\n", session->process->name, lost);
    if (spool)
        recording = end_file(recording, spool);
    if (!lost && !(recording && recording_complete(recording)))
        lost = "the disk failed"; /* at the end */
    session->process->recording_lost = lost;
    detach(session);
    if (recording)
        recording_publish(recording);
    *out = recording;
    return lost ? ERR_LOG_FULL : 0;
}

void record_stop_session(struct session *session)
{
    struct thread_collector *collector = kzalloc(sizeof(*collector));
    if (!collector)
        record_abort(session, "out of memory");
    else
        process_for_each_thread(session->process, collect, collector);
    for (uint32_t i = 0; collector && i < collector->count; i++)
        record_stopped(collector->threads[i]->rec);
    kfree(collector);
    struct recording *recording;
    record_finish(session, &recording);
}

void record_give_up(struct session *session)
{
    struct process *process = session->process;
    struct recording *recording;
    if (process_stop_others() != 0)
        return; /* somebody else does it; we stop for that on our way */
    if (process->session == session)
        record_finish(session, &recording);
    process_resume_others();
}
