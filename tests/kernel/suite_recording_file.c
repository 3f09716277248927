/* SPDX-License-Identifier: MIT */
/* Recordings as files, in memory: written, read, written again; cut at every byte, with flipped
 * bits, and with checkpoints that this machine must refuse.
 */
#include "replay/recording_file.h"

#include "arch/x86/layout.h"
#include "kernel/err.h"
#include "kernel/string.h"
#include "mm/frames.h"
#include "mm/heap.h"
#include "replay/replay_commands.h"
#include "replay/replay_session.h"
#include "tests/kernel/memory_file.h"
#include "tests/kernel/suite.h"

#define FLIPS 10000

static uint8_t *file, *copy; /* MEMORY_FILE_MAX bytes each */
static uint64_t file_size;

/* --- the file --- */

static bool make_file(void)
{
    char *words[] = {"counter", "2", "20"};
    file = kmalloc(MEMORY_FILE_MAX);
    copy = kmalloc(MEMORY_FILE_MAX);
    return file && copy && memory_file_record(3, words, file, &file_size);
}

/* --- as it is --- */

static void test_round_trip(void)
{
    struct recording *recording;
    char reason[RECORDING_REASON_MAX];
    uint64_t size;
    is_equal(memory_file_read(file, file_size, &recording, reason), 0, "a file is read");
    ok(recording_complete(recording), "it is complete");
    is_equal(memory_file_write(recording, copy, &size), 0, "and written again");
    ok(size == file_size && memcmp(file, copy, size) == 0, "to the same %llu bytes",
       (unsigned long long)size);
    recording_publish(recording);
    is_equal(replay_run(recording, 1), 0, "it can be replayed");
    recording_delete(recording->number);
}

/* --- cut --- */

/* How a file of so many bytes is read: 'e' error, 'i' incomplete, 'c' complete. */
static char read_cut(uint64_t size)
{
    struct recording *recording;
    char reason[RECORDING_REASON_MAX];
    if (memory_file_read(file, size, &recording, reason) != 0)
        return reason[0] ? 'e' : '?';
    char how = recording_complete(recording) ? 'c' : 'i';
    recording_free(recording);
    return how;
}

static void test_cuts(void)
{
    unsigned errors = 0, incomplete = 0, complete = 0, back = 0;
    uint64_t heap = heap_bytes_in_use();
    for (uint64_t size = 0; size < file_size; size++) {
        char how = read_cut(size);
        errors += how == 'e';
        incomplete += how == 'i';
        complete += how == 'c';
        back += how == 'e' && incomplete;
    }
    is_equal(errors + incomplete, file_size, "cut at every byte: an error or incomplete");
    ok(errors > 0 && incomplete > 0, "%u errors, then %u incomplete recordings", errors,
       incomplete);
    is_equal(complete, 0, "none of them is complete");
    is_equal(back, 0, "once the checkpoint is there, each can be used");
    is_equal(heap_bytes_in_use(), heap, "nothing is left in the heap");
}

/* Wherever a chunk ends behind the checkpoint the file can have been cut: each is replayed twice,
 * with the same end. */
static void test_partial_replays(void)
{
    struct recording *recording;
    char reason[RECORDING_REASON_MAX];
    unsigned replays = 0, wrong = 0;
    for (uint64_t offset = 0; offset < file_size;) {
        struct log_chunk chunk;
        memcpy(&chunk, file + offset, sizeof(chunk));
        offset += LOG_CHUNK_BYTES(chunk.length);
        if (chunk.kind < LOG_CHUNK_BEGIN || chunk.kind == LOG_CHUNK_END)
            continue;
        wrong += memory_file_read(file, offset, &recording, reason) != 0;
        recording_publish(recording);
        wrong += recording_complete(recording) || replay_run(recording, 1) != 0 ||
                 replay_run(recording, 2) != 0;
        recording_delete(recording->number);
        replays++;
    }
    ok(replays > 2, "%u cut recordings are replayed", replays);
    is_equal(wrong, 0, "each as far as it goes");
}

/* --- damaged --- */

static void test_flips(void)
{
    struct recording *recording;
    char reason[RECORDING_REASON_MAX];
    uint64_t seed = 99;
    unsigned taken = 0, unnamed = 0;
    for (unsigned i = 0; i < FLIPS; i++) {
        uint64_t bit = suite_random(&seed) % (file_size * 8);
        file[bit / 8] ^= (uint8_t)(1u << bit % 8);
        int error = memory_file_read(file, file_size, &recording, reason);
        file[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (error) {
            unnamed += error != ERR_BAD_LOG || !reason[0];
            continue;
        }
        taken += recording_complete(recording);
        recording_free(recording);
    }
    is_equal(taken, 0, "with any of %d bits flipped it is not taken for complete", FLIPS);
    is_equal(unnamed, 0, "errors have their reasons");
}

/* --- refused by this machine --- */

static uint64_t find_chunk(enum log_chunk_kind kind)
{
    struct log_chunk chunk;
    for (uint64_t offset = 0;; offset += LOG_CHUNK_BYTES(chunk.length)) {
        memcpy(&chunk, file + offset, sizeof(chunk));
        if (chunk.kind == kind)
            return offset;
    }
}

/* Sets bytes of the payload of the first chunk of the kind in the copy, and seals it again. */
static void refuse(enum log_chunk_kind kind, size_t place, uint64_t value, size_t size,
                   const char *expected)
{
    uint64_t offset = find_chunk(kind);
    struct log_chunk chunk;
    struct recording *recording = NULL;
    char reason[RECORDING_REASON_MAX] = "";
    memcpy(copy, file, file_size);
    memcpy(&chunk, copy + offset, sizeof(chunk));
    memcpy(copy + offset + sizeof(chunk) + place, &value, size);
    log_chunk_seal(copy + offset, kind, chunk.slot, chunk.length, chunk.file_id, chunk.sequence);
    int error = memory_file_read(copy, file_size, &recording, reason);
    ok(error == ERR_BAD_LOG && strstr(reason, expected), "%s: \"%s\"", expected, reason);
    if (!error)
        recording_free(recording);
}

static void test_hostile(void)
{
#define T(field, value)                                                                            \
    refuse(LOG_CHUNK_THREAD, offsetof(struct log_thread, field), value,                            \
           sizeof(((struct log_thread *)0)->field), "registers are out of range")
    T(rip, KERNEL_BASE);
    T(rip, USER_END);
    T(cs, SELECTOR_KERNEL_CODE);
    T(ss, SELECTOR_KERNEL_DATA);
    T(rflags, RFLAGS_FIXED);
    T(rflags, RFLAGS_FIXED | RFLAGS_IF | RFLAGS_IOPL);
    T(fs_base, 1ull << 63);
    T(ds, SELECTOR_TSS);
    T(es, 0xfff8);
    T(fs, SELECTOR_KERNEL_DATA);
    T(gs, 0x7b);
    T(index, UINT32_MAX);
#undef T
    /* MXCSR is at byte 24 of FXSAVE's area; a set bit that it does not have would be a #GP. */
    refuse(LOG_CHUNK_THREAD, sizeof(struct log_thread) + 24, 0xffff0000, 4,
           "FPU state is out of range");
    refuse(LOG_CHUNK_HEADER, offsetof(struct log_header, fpu_components), UINT64_MAX, 8,
           "vector registers that this CPU lacks");
    refuse(LOG_CHUNK_HEADER, offsetof(struct log_header, version), LOG_FORMAT_VERSION + 1, 4,
           "another version");
    refuse(LOG_CHUNK_PAGE, 0, KERNEL_BASE, 8, "page out of range");
    refuse(LOG_CHUNK_PAGE, 0, USER_END, 8, "a page is out of range");
    refuse(LOG_CHUNK_VMA, offsetof(struct log_vma, start), PAGE_SIZE, 8,
           "a mapping is out of range");
    refuse(LOG_CHUNK_VMA, offsetof(struct log_vma, end), UINT64_MAX << 12, 8,
           "mapping out of range");
}

/* The recorder always says why, but others may not. */
static void test_no_reason(void)
{
    struct recording *recording;
    char reason[RECORDING_REASON_MAX];
    uint64_t offset = find_chunk(LOG_CHUNK_END);
    struct log_chunk chunk;
    memcpy(copy, file, file_size);
    memcpy(&chunk, copy + offset, sizeof(chunk));
    memset(copy + offset + sizeof(chunk) + offsetof(struct log_end, complete), 0, 4);
    log_chunk_seal(copy + offset, LOG_CHUNK_END, 0, chunk.length, chunk.file_id, chunk.sequence);
    if (!is_equal(memory_file_read(copy, file_size, &recording, reason), 0, "given up"))
        return;
    ok(!recording_complete(recording), "for no reason: not complete either");
    recording_free(recording);
}

/* An area of FXSAVE's has no header that says which components it holds: all that it has room for.
 */
static void test_legacy_area(void)
{
    enum { LEGACY = 512, XMM = 160, XMM_CANONICAL = 89 };
    uint8_t legacy[LEGACY] = {0};
    memset(legacy + XMM, 0x5a, 16);
    uint8_t *area = PHYS_TO_VIRT(frame_alloc());
    ok(fpu_load_area(area, legacy, sizeof(legacy)), "an area without XSAVE's header is taken");
    fpu_canonical(area, copy);
    ok(memcmp(copy + XMM_CANONICAL, legacy + XMM, 16) == 0, "with its XMM registers");
    frame_free(VIRT_TO_PHYS(area));
}

static void run(void)
{
    if (!ok(make_file(), "a small program is recorded"))
        return;
    test_round_trip();
    test_cuts();
    test_partial_replays();
    test_flips();
    test_hostile();
    test_no_reason();
    test_legacy_area();
    kfree(file);
    kfree(copy);
}

const struct suite suite_recording_file = {.name = "recording-file", .run = run};
