/* SPDX-License-Identifier: MIT */
/* The flight recorder's ring: order, laps, loss, strings; events that were interrupted for ever;
 * and one writer in three contexts, nested by signals as interrupts and NMIs are, while another
 * thread reads all the time.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "kernel/flight_ring.h"
#include "tests/host/tap.h"

#define LEVELS 3 /* thread, interrupt, NMI */
#define NUMBERS 0
#define STRINGS 1
#define STORM_EVENTS 400000u
#define STORM_SIGNALS 5000u

static struct flight_layout table[2];
static const struct flight_layouts layouts = {table, 2};
static struct flight_ring ring;
static uint64_t words[FLIGHT_RING_BYTES / 8], copy[FLIGHT_SUB_BYTES / 8];
static uint64_t sequence[LEVELS]; /* of the last event that found a place */

static uint64_t check_of(uint64_t level, uint64_t number)
{
    return (number * 3 + level) * 0x9e3779b97f4a7c15ull;
}

static bool write_event(uint32_t id, const uint64_t *args)
{
    static const uint32_t thread = 7;

    return flight_ring_write(&ring, &table[id], id, &thread, args) == 0;
}

/* Numbered by its level. */
static bool write_numbers(unsigned level)
{
    uint64_t number = sequence[level] + 1;
    uint64_t args[3] = {level, number, check_of(level, number)};
    bool written = write_event(NUMBERS, args);

    if (written)
        sequence[level] = number;
    return written;
}

static void start(bool overwrite)
{
    table[NUMBERS] = flight_layout_make(3, 0);
    table[STRINGS] = flight_layout_make(3, 2);
    flight_ring_reset(&ring, words, overwrite);
    memset(sequence, 0, sizeof sequence);
}

/* What a reader finds wrong in one sub-buffer: NULL if nothing. The numbers of each level follow on
 * each other; `last` holds them, 0 for none yet. */
static const char *check_packet(const struct flight_packet *packet, uint64_t *last, uint64_t *time,
                                unsigned *events)
{
    uint32_t offset = 0;
    struct flight_event event;

    while (flight_event_next(copy, packet->bytes, &offset, &layouts, &event)) {
        uint64_t level = event.args[0], number = event.args[1];

        if (event.id != NUMBERS || event.thread != 7 || level >= LEVELS)
            return "a header that nobody wrote";
        if (event.args[2] != check_of(level, number))
            return "a half-written event";
        if (last[level] && number != last[level] + 1)
            return "an event is missing, or in the wrong place";
        if (event.timestamp < *time)
            return "time goes back";
        last[level] = number;
        *time = event.timestamp;
        (*events)++;
    }
    return offset == packet->bytes ? NULL : "something that is no event";
}

/* All that the ring holds; NULL, or what is wrong. */
static const char *check_ring(unsigned *events, uint64_t *last)
{
    uint64_t first, end, time = 0;
    const char *wrong = NULL;
    struct flight_packet packet;

    *events = 0;
    memset(last, 0, LEVELS * sizeof last[0]);
    flight_ring_range(&ring, &first, &end);
    for (uint64_t at = first; at < end && !wrong; at++) {
        if (!flight_ring_copy(&ring, at, &layouts, 1000, copy, &packet)) {
            memset(last, 0, LEVELS * sizeof last[0]); /* overwritten: a gap */
            continue;
        }
        wrong = check_packet(&packet, last, &time, events);
        if (packet.incomplete)
            break;
    }
    return wrong;
}

static void is_right(const char *what)
{
    unsigned events;
    uint64_t last[LEVELS];
    const char *wrong = check_ring(&events, last);

    if (!ok(!wrong, "%s: %u events are as they were written", what, events))
        diag("%s", wrong);
    ok(last[0] == sequence[0], "%s: up to the last one", what);
}

static void test_one_context(void)
{
    uint64_t first, end;
    struct flight_packet packet;

    start(true);
    flight_ring_range(&ring, &first, &end);
    ok(first == 0 && end == 0, "an empty ring has no sub-buffer");
    ok(write_numbers(0), "an event is written");
    is_right("one event");
    for (unsigned i = 0; i < 1000; i++)
        write_numbers(0);
    is_right("a bit more than a sub-buffer");
    for (unsigned i = 0; i < 50000; i++)
        write_numbers(0);
    is_right("several laps");
    flight_ring_range(&ring, &first, &end);
    is_u64(end - first, FLIGHT_SUBS, "all sub-buffers are in use");
    ok(!flight_ring_copy(&ring, first - 1, &layouts, 0, copy, &packet),
       "what was overwritten is not given out");
    is_u64(ring.lost, 0, "nothing is lost");
}

static void test_stop(void)
{
    unsigned written = 0;
    struct flight_packet packet;

    start(false);
    while (write_numbers(0))
        written++;
    is_u64(written, FLIGHT_SUBS * ((FLIGHT_SUB_BYTES - 1) / table[NUMBERS].bytes),
           "a ring that stops takes what fits");
    for (unsigned i = 0; i < 9; i++)
        write_numbers(0);
    is_u64(ring.lost, 10, "the rest is counted");
    is_right("a full ring");
    flight_ring_copy(&ring, FLIGHT_SUBS - 1, &layouts, 0, copy, &packet);
    is_u64(packet.lost, 10, "and the last sub-buffer says so");
    flight_ring_copy(&ring, 0, &layouts, 0, copy, &packet);
    is_u64(packet.lost, 0, "the first one had no loss yet");
}

/* --- events that are interrupted between their place and their commitment --- */

static void test_interrupted(void)
{
    struct flight_packet packet;
    uint64_t hole, before;

    start(true);
    for (unsigned i = 0; i < 50000; i++)
        write_numbers(0);
    before = sequence[0];
    hole = ring.reserved;
    ring.reserved += table[NUMBERS].bytes;
    flight_ring_copy(&ring, hole / FLIGHT_SUB_BYTES, &layouts, 3, copy, &packet);
    ok(packet.incomplete, "a half-written event is noticed");
    is_u64(packet.bytes, hole % FLIGHT_SUB_BYTES, "what stands before it is given out");
    while (write_numbers(0))
        ;
    is_u64(ring.lost, 1, "a whole ring of nested events does not run over it");
    ok(ring.reserved / FLIGHT_SUB_BYTES == hole / FLIGHT_SUB_BYTES + FLIGHT_SUBS - 1,
       "they fill all sub-buffers but its own");
    ok(sequence[0] > before + 10000, "which is many");
    flight_ring_copy(&ring, hole / FLIGHT_SUB_BYTES, &layouts, 3, copy, &packet);
    ok(packet.incomplete && packet.bytes == hole % FLIGHT_SUB_BYTES,
       "its sub-buffer is known to have a hole, though it is closed");
    ring.subs[hole / FLIGHT_SUB_BYTES % FLIGHT_SUBS].committed += table[NUMBERS].bytes;
    ok(write_numbers(0), "when it is committed, the ring goes on");
}

/* --- strings --- */

static const struct flight_event *write_string(const char *text)
{
    static struct flight_event event;
    struct flight_packet packet;
    uint64_t args[3] = {1, (uint64_t)text, 3};
    uint32_t offset = 0;

    start(true);
    write_event(STRINGS, args);
    flight_ring_copy(&ring, 0, &layouts, 0, copy, &packet);
    flight_event_next(copy, packet.bytes, &offset, &layouts, &event);
    return &event;
}

static void test_strings(void)
{
    static const char text[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned good = 0, padded = 0;

    mprotect(pages + page, page, PROT_NONE);
    for (size_t length = 0; length < sizeof text; length++)
        for (size_t shift = 0; shift < 9; shift++) { /* ends right before the forbidden page */
            char *at = pages + page - length - 1 - shift, *to;
            char expected[FLIGHT_STRING_BYTES] = "";

            memset(pages + page - 64, 'x', 64);
            memcpy(at, text, length);
            at[length] = '\0';
            memcpy(expected, length ? text : "(empty)",
                   length == 0   ? 7
                   : length < 31 ? length
                                 : 31);
            const struct flight_event *event = write_string(at);
            to = (char *)&event->args[1];
            good += strcmp(to, expected) == 0 && event->args[0] == 1 && event->args[5] == 3;
            padded += memcmp(to, expected, sizeof expected) == 0;
        }
    is_u64(good, sizeof text * 9, "strings of all lengths, at the end of a page, cut after 31");
    is_u64(padded, sizeof text * 9, "filled up with zeros");
    is_string((const char *)&write_string(NULL)->args[1], "(null)", "no string is seen");
    munmap(pages, 2 * page);
}

/* --- the storm --- */

static bool writing;
static uint64_t accepted[LEVELS];
static volatile unsigned attempts; /* signals that came */

static void on_signal(int signal)
{
    unsigned level = signal == SIGUSR1 ? 1 : 2;

    attempts++;
    for (unsigned i = 0; i < 5; i++)
        accepted[level] += write_numbers(level);
}

static void install_signals(void)
{
    struct sigaction interrupt = {.sa_handler = on_signal}, nmi = {.sa_handler = on_signal};

    sigfillset(&nmi.sa_mask);
    sigaction(SIGUSR1, &interrupt, NULL);
    sigaction(SIGUSR2, &nmi, NULL);
}

static timer_t interrupt_writer(int signal, long every_ns)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = signal};
    struct itimerspec times = {{0, every_ns}, {0, every_ns}};
    timer_t timer;

    event._sigev_un._tid = gettid();
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &times, NULL);
    return timer;
}

static void *write_storm(void *unused)
{
    timer_t interrupts = interrupt_writer(SIGUSR1, 31000);
    timer_t nmis = interrupt_writer(SIGUSR2, 23000);

    while (attempts < 2) /* in a ring that stops there is room now */
        pause();
    for (unsigned i = 0; i < STORM_EVENTS || attempts < STORM_SIGNALS; i++)
        accepted[0] += write_numbers(0);
    timer_delete(interrupts);
    timer_delete(nmis);
    __atomic_store_n(&writing, false, __ATOMIC_SEQ_CST);
    return unused;
}

static void test_storm(bool overwrite)
{
    pthread_t writer;
    unsigned events, rounds = 0;
    uint64_t last[LEVELS];
    const char *wrong = NULL;
    const char *mode = overwrite ? "overwriting" : "until full";

    start(overwrite);
    install_signals();
    memset(accepted, 0, sizeof accepted);
    attempts = 0;
    writing = true;
    pthread_create(&writer, NULL, write_storm, NULL);
    while (__atomic_load_n(&writing, __ATOMIC_SEQ_CST)) {
        const char *found = check_ring(&events, last);
        wrong = wrong ? wrong : found;
        rounds++;
    }
    pthread_join(writer, NULL);
    if (!ok(!wrong, "%s: a reader finds only whole events, %u times", mode, rounds))
        diag("%s", wrong);
    diag("%s: %llu by the thread, %llu by interrupts, %llu by NMIs, %llu lost", mode,
         (unsigned long long)accepted[0], (unsigned long long)accepted[1],
         (unsigned long long)accepted[2], (unsigned long long)ring.lost);
    ok(accepted[0] && (!overwrite || (accepted[1] && accepted[2])), "%s: all contexts wrote", mode);
    wrong = check_ring(&events, last);
    ok(!wrong, "%s: at the end %u events are as they were written", mode, events);
    for (unsigned i = 0; i < LEVELS; i++)
        ok(sequence[i] == accepted[i] && (last[i] == sequence[i] || last[i] == 0),
           "%s: level %u: none is missing", mode, i);
    ok(overwrite ? ring.lost == 0 : ring.lost > 0, "%s: lost ones", mode);
}

int main(void)
{
    test_one_context();
    test_stop();
    test_interrupted();
    test_strings();
    test_storm(true);
    test_storm(false);
    return done();
}
