/* SPDX-License-Identifier: MIT */
/* Recording, CREW: "kick and edit".
 *
 * A requester takes the page lock, brings each victim out of user mode (a kick, if it is there),
 * edits the victim's view itself and appends the demotion to the victim's stream. A thread in the
 * kernel is never waited for, so there is no cycle: page lock → one view lock at a time, view locks
 * are leaves.
 *
 * Progress: a page that was just promoted is held for a short while (hold), and a thread that
 * faults again and again at one point takes the session's token, while which nobody else is granted
 * pages. A requester that waits for a hold or for the token has no page lock.
 */
#include "arch/x86/apic.h"
#include "arch/x86/layout.h"
#include "arch/x86/paging.h"
#include "kernel/err.h"
#include "kernel/marker.h"
#include "kernel/panic.h"
#include "kernel/wait.h"
#include "replay/crew.h"
#include "replay/record.h"

#define FAULTS_BEFORE_TOKEN 4

/* --- demoting --- */

static bool out_of_user(struct rec_thread *x)
{
    return !__atomic_load_n(&x->in_user, __ATOMIC_ACQUIRE);
}

/* Returns with x's view lock held and x not in user mode; *kicked: x waits for us to finish. */
static void lock_out_of_user(struct rec_thread *x, bool *kicked)
{
    *kicked = false;
    for (;;) {
        spin_lock(&x->view_lock);
        if (!x->in_user)
            return;
        if (!*kicked)
            __atomic_add_fetch(&x->pending, 1, __ATOMIC_ACQ_REL);
        *kicked = true;
        uint32_t cpu = x->thread->cpu; /* where it is in user mode, so it cannot move */
        spin_unlock(&x->view_lock);
        record_jitter();
        MARKER(crew_kick, MARKER_ARG(victim, x->slot), MARKER_ARG(cpu, cpu));
        apic_send_ipi(cpu, VECTOR_IPI_KICK);
        wait_until(out_of_user(x), "a thread to leave user mode after a kick");
    }
}

/* Takes rights on the page from x. Returns the event after which x has them no more. */
static struct stamp demote(const struct rec_thread *rec, struct rec_thread *x,
                           struct user_page *page, enum log_rights rights, uint32_t prot)
{
    struct log_event event = {.kind = LOG_DEMOTE, .rights = (uint8_t)rights};
    bool kicked;
    event.page = page->address;
    lock_out_of_user(x, &kicked);
    uint64_t number = x->stream->events; /* of an ended thread: its last event */
    if (!x->ended) {
        if (!view_set(x, page, rights, prot))
            panic("out of memory while a page's rights were reduced");
        x->flush = true;
        number = record_append_locked(x, &event);
    }
    /* No event: it has ended. */
    MARKER(crew_demote, MARKER_ARG(victim, x->slot), MARKER_ARG(page, (void *)page->address),
           MARKER_ARG(keeps, (uint8_t)rights), MARKER_ARG(by, rec->slot),
           MARKER_ARG(kicked, kicked), MARKER_ARG(event, x->ended ? 0 : number));
    if (kicked)
        __atomic_sub_fetch(&x->pending, 1, __ATOMIC_ACQ_REL);
    spin_unlock(&x->view_lock);
    crew_lose(page, x->slot, rights, number);
    return (struct stamp){.slot = x->slot, .event = number};
}

static void demote_victims(struct rec_thread *rec, struct user_page *page, bool write,
                           uint32_t prot, struct dep_set *deps)
{
    for (uint64_t victims = crew_victims(page, rec->slot, write); victims; victims &= victims - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(victims);
        record_jitter();
        struct rec_thread *victim = session_slot(rec->session, slot);
        dep_add(deps, demote(rec, victim, page, crew_victim_keeps(write), prot));
    }
}

/* --- promoting --- */

struct request {
    struct rec_thread *rec;
    uint64_t address;
    bool write, fetch;
    bool in_kernel;   /* for a system call, which copies under the page lock: needs no hold */
    uint32_t prot;    /* of the mapping, as it was when it was granted */
    struct stamp map; /* its last change before that */
};

/* The mapping and its last change, read in one step. */
static bool mapping_allows(struct request *request)
{
    struct process *process = request->rec->session->process;
    spin_lock(&process->space->lock);
    const struct vma *vma = space_find(process->space, request->address);
    request->prot = vma ? vma->prot : 0;
    request->map = process->map.last;
    spin_unlock(&process->space->lock);
    return space_prot_allows(request->prot, request->write, request->fetch);
}

static bool promote(const struct request *request, struct user_page *page)
{
    struct rec_thread *rec = request->rec;
    enum log_rights rights = request->write ? LOG_RIGHTS_WRITE : LOG_RIGHTS_READ;
    struct log_event event = {.kind = LOG_PROMOTE, .rights = (uint8_t)rights};
    struct dep_set deps = {{0}};
    if (request->prot & ABI_PROT_EXEC)
        event.rights |= LOG_RIGHTS_EXECUTE;
    event.page = page->address;
    demote_victims(rec, page, request->write, request->prot, &deps);
    dep_add(&deps, page->last_write);
    dep_add(&deps, request->map);
    record_add_deps(rec, &event, &deps);
    record_jitter();
    spin_lock(&rec->view_lock);
    bool mapped = view_set(rec, page, rights, request->prot);
    if (mapped)
        record_append_locked(rec, &event);
    spin_unlock(&rec->view_lock);
    if (!mapped) { /* victims were demoted and nothing says so: this recording is worth nothing */
        record_abort(rec->session, "out of memory");
        return false;
    }
    bool granted = crew_grant(page, rec->slot, request->write);
    kassert(granted && crew_consistent(page));
    MARKER(crew_promote, MARKER_ARG(thread, rec->slot), MARKER_ARG(page, (void *)page->address),
           MARKER_ARG(rights, (uint8_t)rights), MARKER_ARG(in_kernel, request->in_kernel),
           MARKER_ARG(event, rec->stream->events), MARKER_ARG(pid, rec->session->process->pid));
    cpu_invlpg(page->address);
    if (!request->in_kernel)
        record_hold_begin(rec, page->address);
    return true;
}

enum turn {
    TURN_DONE,
    TURN_AGAIN, /* a hold was active */
    TURN_ERROR,
};

/* One try; TURN_DONE returns with the page locked and the view allowing the access. */
static enum turn try_acquire(struct request *request, struct user_page *page, bool *promoted,
                             int *error)
{
    enum turn turn = TURN_ERROR;
    spin_lock(&page->lock);
    *promoted = false;
    *error = ERR_ENOMEM;
    if (!mapping_allows(request)) {
        *error = ERR_EFAULT;
    } else if (view_allows(request->rec, page->address, request->write, request->fetch)) {
        turn = TURN_DONE;
    } else if (record_any_hold_active(request->rec, page, request->write)) {
        turn = TURN_AGAIN;
    } else if (space_page_ensure_frame(page) && promote(request, page)) {
        *promoted = true;
        turn = TURN_DONE;
    }
    if (turn != TURN_DONE)
        spin_unlock(&page->lock);
    return turn;
}

static int acquire(struct request *request, struct user_page **out, bool *promoted)
{
    struct wait_state wait = {0};
    if (request->address >= USER_END || !mapping_allows(request))
        return ERR_EFAULT;
    struct user_page *page = space_page(request->rec->session->process->space, request->address);
    if (!page)
        return ERR_ENOMEM;
    for (;;) {
        int error;
        record_wait_for_token(request->rec);
        record_jitter();
        enum turn turn = try_acquire(request, page, promoted, &error);
        if (turn == TURN_ERROR)
            return error;
        if (turn == TURN_DONE)
            break;
        record_give_way(&wait, "the end of a hold");
    }
    *out = page;
    return 0;
}

static void count_fault(struct rec_thread *rec)
{
    if (!log_point_equal(&rec->point, &rec->fault_point))
        rec->faults_at_point = 0;
    rec->fault_point = rec->point;
    if (++rec->faults_at_point > FAULTS_BEFORE_TOKEN && record_token_owner(rec->session) != rec)
        record_take_token(rec);
}

int record_fault(struct rec_thread *rec, uint64_t address, bool write, bool fetch,
                 struct stamp *map)
{
    struct request request = {.rec = rec, .address = address, .write = write, .fetch = fetch};
    struct user_page *page;
    bool promoted;
    MARKER(crew_fault, MARKER_ARG(thread, rec->slot), MARKER_ARG(address, (void *)address),
           MARKER_ARG(write, write), MARKER_ARG(ticks, rec->point.ticks),
           MARKER_ARG(rip, (void *)rec->point.rip));
    count_fault(rec);
    if (process_must_stop(rec->session->process, rec->thread))
        return 0; /* record_take_token() came back without it */
    int error = acquire(&request, &page, &promoted);
    *map = request.map;
    if (error)
        return error;
    if (!promoted)
        cpu_invlpg(address); /* a stale TLB entry: nothing to log */
    spin_unlock(&page->lock);
    return 0;
}

int record_page_acquire(struct thread *thread, uint64_t address, bool write,
                        struct user_page **page)
{
    struct rec_thread *rec = thread->rec;
    struct request request = {.rec = rec, .address = address, .write = write, .in_kernel = true};
    struct log_event event = {.rights = write ? LOG_RIGHTS_WRITE : LOG_RIGHTS_READ};
    bool promoted = false;
    int error = acquire(&request, page, &promoted);
    event.page = address & PAGE_MASK;
    if (error == ERR_ENOMEM)
        record_abort(rec->session, "out of memory"); /* a replay would not run out of it there */
    if (error) {
        struct dep_set deps = {{0}};
        dep_add(&deps, request.map);
        record_add_deps(rec, &event, &deps);
        event.kind = LOG_REFUSED;
        record_append(rec, &event);
    } else if (!promoted) {
        event.kind = LOG_ACCESS;
        record_append(rec, &event);
    }
    return error;
}

/* --- revoking, for munmap and mprotect --- */

/* Whoever gets the page next must come after all that lost it here, and can get it as soon as it is
 * unlocked: so the event with those dependencies stands for the page's last write from now on. */
static void log_revoked(struct rec_thread *rec, struct user_page *page, struct dep_set *deps)
{
    struct log_event event = {.kind = LOG_REVOKE};
    event.page = page->address;
    dep_add(deps, page->last_write);
    record_add_deps(rec, &event, deps);
    uint64_t number = record_append(rec, &event);
    crew_reset(page);
    page->last_write = (struct stamp){.slot = rec->slot, .event = number};
}

static void revoke_page(struct user_page *page, void *argument)
{
    struct rec_thread *rec = argument;
    struct dep_set deps = {{0}};
    spin_lock(&page->lock);
    if (page->holders) {
        demote_victims(rec, page, true, 0, &deps);
        spin_lock(&rec->view_lock);
        view_set(rec, page, LOG_RIGHTS_NONE, 0);
        rec->flush = true;
        spin_unlock(&rec->view_lock);
        log_revoked(rec, page, &deps);
        MARKER(crew_revoke, MARKER_ARG(thread, rec->slot), MARKER_ARG(page, (void *)page->address));
    }
    spin_unlock(&page->lock);
}

void record_revoke(struct thread *thread, uint64_t start, uint64_t end)
{
    space_for_each_page(thread->process->space, start, end, revoke_page, thread->rec);
}
