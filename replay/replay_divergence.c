/* SPDX-License-Identifier: MIT */
/* Replay: saying where it left the recording. */
#include "kernel/marker.h"
#include "kernel/panic.h"
#include "kernel/printf.h"
#include "kernel/programs.h"
#include "kernel/syscall.h"
#include "replay/event_text.h"
#include "replay/replay_session.h"

static void print_recent(const struct rec_thread *rec)
{
    char text[256];
    uint64_t first = rec->done > RECENT_EVENTS ? rec->done - RECENT_EVENTS : 0;
    printk("  the last events of thread %u:\n", rec->slot);
    for (uint64_t i = first; i < rec->done; i++) {
        event_format(text, sizeof(text), i + 1, &rec->recent[i % RECENT_EVENTS]);
        printk("    %s\n", text);
    }
}

static void print_report(const struct rec_thread *rec, const char *kind, const char *details)
{
    char text[256], point[96], symbol[80];
    printk("replay of log %u DIVERGED: thread %u, event %llu: %s: %s\n",
           rec->session->recording->number, rec->slot, (unsigned long long)rec->done + 1, kind,
           details);
    if (rec->has_next)
        event_format(text, sizeof(text), rec->done + 1, &rec->next);
    printk("  expected  %s\n", rec->has_next       ? text
                               : rec->cursor.error ? rec->cursor.error
                                                   : "nothing: the stream has ended");
    point_format(point, sizeof(point), &rec->point);
    programs_symbol(symbol, sizeof(symbol), rec->session->recording->header.program,
                    rec->point.rip);
    printk("  actual    thread at %s%s%s\n", point, symbol[0] ? " in " : "", symbol);
    if (rec->thread)
        report_registers(thread_user_frame(rec->thread));
    print_recent(rec);
    printk("@diverged log=%u thread=%u event=%llu kind=%s ticks=%llu rip=0x%llx "
           "expected=%s msg=\"%s\"\n",
           rec->session->recording->number, rec->slot, (unsigned long long)rec->done + 1, kind,
           (unsigned long long)rec->point.ticks, (unsigned long long)rec->point.rip,
           rec->has_next ? log_kind_name(rec->next.kind) : "end", details);
}

void replay_wake_all(struct session *session)
{
    uint32_t slots = __atomic_load_n(&session->slots, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < slots; i++)
        wait_queue_wake_all(&session_slot(session, i)->progress_made);
    wait_queue_wake_all(&session->process->changed);
}

void replay_diverge(struct rec_thread *rec, const char *kind, const char *format, ...)
{
    struct session *session = rec->session;
    char details[160];
    va_list arguments;
    MARKER(replay_diverge, MARKER_ARG(thread, rec->slot), MARKER_ARG(event, rec->done + 1),
           MARKER_ARG(kind, kind), MARKER_ARG(ticks, rec->point.ticks),
           MARKER_ARG(rip, (void *)rec->point.rip));
    spin_lock(&session->lock);
    bool first = !session->diverged.happened;
    if (first) {
        session->diverged.slot = rec->slot;
        session->diverged.event = rec->done + 1;
        session->diverged.kind = kind;
        __atomic_store_n(&session->diverged.happened, true, __ATOMIC_RELEASE);
    }
    spin_unlock(&session->lock);
    if (!first)
        return;
    va_start(arguments, format);
    format_text_va(details, sizeof(details), format, arguments);
    va_end(arguments);
    print_report(rec, kind, details);
    process_note_killed(session->process, "the replay diverged");
    process_end_all(session->process);
    replay_wake_all(session);
}
