/* SPDX-License-Identifier: MIT */
/* Recording, CREW: what a requester waits for, and what keeps threads progressing: holds, and the
 * session's progress token (replay/record_fault.c says why). Whoever waits here has no page lock.
 */
#include "kernel/cmdline.h"
#include "kernel/marker.h"
#include "kernel/wait.h"
#include "replay/crew.h"
#include "replay/record.h"

#define HOLD_LATEST_NS 2000000ull

/* --- waiting --- */

void record_jitter(void)
{
    static uint64_t limit = UINT64_MAX;
    static uint64_t state = 88172645463325252ull; /* races on it only add noise */
    if (limit == UINT64_MAX)
        limit = cmdline_number("jitter", 0);
    if (limit == 0)
        return;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    for (uint64_t turns = (state >> 20) % limit; turns > 0; turns--)
        cpu_pause();
}

void record_give_way(struct wait_state *wait, const char *what)
{
    if (sched_others_runnable())
        thread_yield();
    wait_turn(wait, what);
}

struct rec_thread *record_token_owner(const struct session *session)
{
    return __atomic_load_n(&session->token, __ATOMIC_ACQUIRE);
}

void record_take_token(struct rec_thread *rec)
{
    struct wait_state wait = {0};
    for (;;) {
        struct rec_thread *none = NULL;
        if (__atomic_compare_exchange_n(&rec->session->token, &none, rec, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
            break;
        if (process_must_stop(rec->session->process, rec->thread))
            return; /* its owner may be stopped; we come back here afterwards */
        record_give_way(&wait, "the progress token");
    }
    rec->thread->no_yield = true;
    MARKER(crew_token_take, MARKER_ARG(thread, rec->slot), MARKER_ARG(ticks, rec->point.ticks),
           MARKER_ARG(rip, (void *)rec->point.rip));
}

void record_release_token(struct rec_thread *rec)
{
    if (record_token_owner(rec->session) != rec)
        return;
    rec->thread->no_yield = false;
    MARKER(crew_token_release, MARKER_ARG(thread, rec->slot));
    __atomic_store_n(&rec->session->token, NULL, __ATOMIC_RELEASE);
}

/* The owner has the CPU until its instruction retired, so this wait is short. */
void record_wait_for_token(struct rec_thread *rec)
{
    struct wait_state wait = {0};
    for (;;) {
        struct rec_thread *owner = record_token_owner(rec->session);
        if (!owner || owner == rec)
            return;
        record_give_way(&wait, "the owner of the progress token");
    }
}

/* --- holds --- */

static uint64_t hold_window(const struct rec_thread *rec)
{
    static uint64_t configured = UINT64_MAX - 1; /* UINT64_MAX: by the source */
    if (configured == UINT64_MAX - 1)
        configured = cmdline_number("hold_us", UINT64_MAX);
    uint64_t microseconds = configured == UINT64_MAX ? rec->session->source->hold_us : configured;
    return microseconds * 1000;
}

void record_hold_begin(struct rec_thread *rec, uint64_t address)
{
    struct hold *hold = &rec->hold;
    uint64_t now = timer_now_ns();
    if (hold->progress != rec->progress)
        for (unsigned i = 0; i < HOLD_PAGES; i++)
            __atomic_store_n(&hold->pages[i], 0, __ATOMIC_RELAXED);
    __atomic_store_n(&hold->progress, rec->progress, __ATOMIC_RELAXED);
    __atomic_store_n(&hold->earliest, now + hold_window(rec), __ATOMIC_RELAXED);
    __atomic_store_n(&hold->latest, now + hold_window(rec) + HOLD_LATEST_NS, __ATOMIC_RELAXED);
    unsigned slot = (unsigned)(address / PAGE_SIZE) % HOLD_PAGES;
    __atomic_store_n(&hold->pages[slot], address, __ATOMIC_RELEASE);
}

/* Whether x still holds the page: it has not run since it got it, or the window is not over. What
 * is read here may be old; a wrong answer costs a transfer or a short wait, no more. */
static bool hold_active(const struct rec_thread *x, uint64_t address)
{
    unsigned slot = (unsigned)(address / PAGE_SIZE) % HOLD_PAGES;
    const struct hold *hold = &x->hold;
    if (x->ended || __atomic_load_n(&hold->pages[slot], __ATOMIC_ACQUIRE) != address)
        return false;
    uint64_t now = timer_now_ns();
    if (now >= __atomic_load_n(&hold->latest, __ATOMIC_RELAXED))
        return false;
    bool progressed = __atomic_load_n(&x->progress, __ATOMIC_RELAXED) !=
                      __atomic_load_n(&hold->progress, __ATOMIC_RELAXED);
    return !progressed || now < __atomic_load_n(&hold->earliest, __ATOMIC_RELAXED);
}

bool record_any_hold_active(struct rec_thread *rec, const struct user_page *page, bool write)
{
    if (record_token_owner(rec->session) == rec)
        return false;
    for (uint64_t victims = crew_victims(page, rec->slot, write); victims; victims &= victims - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(victims);
        if (hold_active(session_slot(rec->session, slot), page->address)) {
            MARKER(crew_hold, MARKER_ARG(thread, rec->slot),
                   MARKER_ARG(page, (void *)page->address), MARKER_ARG(holder, slot));
            return true;
        }
    }
    return false;
}
