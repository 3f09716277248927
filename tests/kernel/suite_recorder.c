/* SPDX-License-Identifier: MIT */
/* Registering the recorder, and what recordings and replays leave behind.
 */
#include "kernel/recorder.h"

#include "kernel/err.h"
#include "mm/frames.h"
#include "mm/heap.h"
#include "replay/replay_commands.h"
#include "replay/replay_session.h"
#include "tests/kernel/suite.h"

#define RUNS 5
#define BATCHES 3

static void test_registration(void)
{
    const struct recorder *recorder = recorder_current();

    ok(recorder != NULL, "a recorder is registered at boot");
    is_equal(recorder_register(&replay_recorder), ERR_BUSY, "there is room for one");
    is_equal(recorder_hold(), 0, "a recording holds it");
    is_equal(recorder_unregister(), ERR_BUSY, "then it cannot go");
    recorder_release();
    is_equal(recorder_unregister(), 0, "afterwards it can");
    ok(recorder_current() == NULL, "and is gone");
    is_equal(recorder_unregister(), ERR_NO_RECORDER, "only once");
    is_equal(recorder_hold(), ERR_NO_RECORDER, "without one there is no recording");
    is_equal(recorder_register(recorder), 0, "it can come back");
    ok(recorder_current() == recorder, "and is there again");
}

static void test_refused(void)
{
    char *words[] = {"counter", "2", "20"};
    struct recording *recording = NULL;
    uint64_t bytes = heap_bytes_in_use();

    recorder_unregister();
    is_equal(record_program(3, words, &recording), ERR_NO_RECORDER,
             "a program cannot be recorded without a recorder");
    recorder_register(&replay_recorder);
    is_equal(heap_bytes_in_use(), bytes, "and nothing is left of it in the heap");
}

static bool record_and_replay(void)
{
    char *words[] = {"counter", "3", "60"};
    struct recording *recording;

    if (record_program(3, words, &recording) != 0)
        return false;
    bool matches = replay_run(recording, 1) == 0 && replay_run(recording, 2) == 0;
    return recording_delete(recording->number) && matches;
}

static void test_leaks(void)
{
    unsigned wrong = 0, leaking = 0, growing = 0;

    for (unsigned batch = 0; batch <= BATCHES; batch++) {
        struct frames_stats before, after;
        uint64_t bytes = heap_bytes_in_use();
        frames_get_stats(&before);
        for (unsigned i = 0; i < RUNS; i++)
            wrong += !record_and_replay();
        frames_get_stats(&after);
        leaking += batch > 0 && heap_bytes_in_use() > bytes;
        growing += batch > 0 && after.free < before.free;
    }
    is_equal(wrong, 0, "%u recordings replay, twice each", RUNS * (BATCHES + 1));
    is_equal(leaking, 0, "deleted recordings leave nothing in the heap");
    ok(growing < BATCHES, "nor frames (growth in %u of %u batches)", growing, BATCHES);
    ok(recorder_unregister() == 0 && recorder_register(&replay_recorder) == 0,
       "nobody holds the recorder in the end");
}

static void run(void)
{
    test_registration();
    test_refused();
    test_leaks();
}

const struct suite suite_recorder = {"recorder", run};
