/* SPDX-License-Identifier: MIT */
/* The log writer: from the streams of a running recording to its file. */
#include "replay/spool.h"

#include "kernel/cmdline.h"
#include "kernel/disk.h"
#include "kernel/err.h"
#include "kernel/panic.h"
#include "kernel/printf.h"
#include "kernel/string.h"
#include "mm/heap.h"
#include "replay/log_disk.h"
#include "replay/record.h"

#define FLUSH_NS 500000000ull
#define BEHIND_BLOCKS 1024 /* 4 MiB that are not written: recorded threads wait */

struct spool {
    struct session *session;
    struct log_disk_file *file;        /* the writer's, until it is done */
    uint64_t next[LOG_MAX_SLOTS];      /* the writer's: block to write next */
    uint64_t events[LOG_MAX_SLOTS];    /* the writer's: that the file has */
    uint64_t backlog;                  /* a; blocks that are closed and not written */
    bool ending;                       /* a */
    char reason[RECORDING_REASON_MAX]; /* fixed before `ending` */
    bool done;                         /* a */
    int error;                         /* the writer's, until it is done */
    uint32_t users;                    /* a; writer and recorder: the last one frees it */
    uint64_t flushed_ns;               /* the writer's */
    struct wait_queue work, room;
    char name[STORE_NAME_SIZE];
};

static void release(struct spool *spool)
{
    if (__atomic_sub_fetch(&spool->users, 1, __ATOMIC_ACQ_REL) == 0)
        kfree(spool);
}

/* --- the writer's side --- */

/* The next block of the slot that is closed, or NULL; it does not change any more. */
static struct stream_block *take_block(struct spool *spool, struct rec_thread *rec, bool close)
{
    struct stream_block *block = NULL;
    spin_lock(&rec->view_lock);
    struct stream *stream = rec->stream;
    if (close && stream->open) {
        stream_close_block(stream);
        __atomic_add_fetch(&spool->backlog, 1, __ATOMIC_RELAXED);
    }
    if (spool->next[rec->slot] < stream_closed(stream))
        block = stream_block(stream, spool->next[rec->slot]);
    spin_unlock(&rec->view_lock);
    return block;
}

static void mark_written(struct spool *spool, struct rec_thread *rec, uint64_t offset,
                         uint32_t events)
{
    struct recording *recording = spool->session->recording;
    bool drop = __atomic_load_n(&recording->bytes, __ATOMIC_RELAXED) > recording->limit / 2;
    spin_lock(&rec->view_lock);
    stream_stored(rec->stream, spool->next[rec->slot], offset, drop);
    spin_unlock(&rec->view_lock);
    if (drop)
        __atomic_sub_fetch(&recording->bytes, LOG_PAGE_SIZE, __ATOMIC_RELAXED);
    spool->next[rec->slot]++;
    spool->events[rec->slot] += events;
    if (__atomic_sub_fetch(&spool->backlog, 1, __ATOMIC_RELAXED) == BEHIND_BLOCKS / 2)
        wait_queue_wake_all(&spool->room);
}

static int write_block(struct spool *spool, struct rec_thread *rec, struct stream_block *block)
{
    uint64_t offset = spool->file->sink.offset;
    uint32_t events = block->head.events;
    int error = recording_write_block(&spool->file->sink, rec->slot, block);
    if (!error)
        mark_written(spool, rec, offset, events);
    return error;
}

/* Once the recording is given up only what there is has to fit. */
static int check_room(struct spool *spool)
{
    uint64_t room;
    int error = log_disk_room(spool->file, &room);
    uint64_t blocks = __atomic_load_n(&spool->backlog, __ATOMIC_RELAXED) +
                      2ull * __atomic_load_n(&spool->session->slots, __ATOMIC_RELAXED);
    if (!error && room < (blocks + 4) * LOG_PAGE_SIZE + RECORDING_END_BYTES)
        record_abort(spool->session, "the disk is full");
    return error;
}

/* What the slot has that is closed. close: what is being filled as well, once: its thread may fill
 * the next one as fast as this is written. */
static int write_slot(struct spool *spool, struct rec_thread *rec, bool close)
{
    struct stream_block *block;
    int error = 0;
    while (!error && (block = take_block(spool, rec, close)) != NULL) {
        close = false;
        error = check_room(spool);
        if (!error)
            error = write_block(spool, rec, block);
    }
    return error;
}

/* Everything that is closed; close: what is being filled as well. */
static int write_blocks(struct spool *spool, bool close)
{
    struct session *session = spool->session;
    uint32_t slots = __atomic_load_n(&session->slots, __ATOMIC_ACQUIRE);
    int error = 0;
    for (uint32_t slot = 0; !error && slot < slots; slot++)
        error = write_slot(spool, session_slot(session, slot), close);
    return error;
}

static bool has_work(void *argument)
{
    const struct spool *spool = argument;
    return __atomic_load_n(&spool->backlog, __ATOMIC_ACQUIRE) > 0 ||
           __atomic_load_n(&spool->ending, __ATOMIC_ACQUIRE);
}

/* One round: what there is; when it is time, also what is half full. */
static int write_round(struct spool *spool)
{
    uint64_t due = spool->flushed_ns + FLUSH_NS;
    wait_queue_sleep_until_deadline(&spool->work, has_work, spool, "blocks of a recording", due);
    bool flush = timer_now_ns() >= due;
    int error = write_blocks(spool, flush);
    if (error || !flush)
        return error;
    spool->flushed_ns = timer_now_ns();
    return log_disk_flush(spool->file);
}

static int write_end(struct spool *spool)
{
    int error = write_blocks(spool, true);
    if (!error)
        error = recording_write_end(spool->session->recording, &spool->file->sink, spool->events,
                                    spool->reason);
    return error;
}

static void writer_main(void *argument)
{
    struct spool *spool = argument;
    int error = 0;
    while (!error && !__atomic_load_n(&spool->ending, __ATOMIC_ACQUIRE))
        error = write_round(spool);
    if (error)
        record_abort(spool->session, "the disk failed");
    else
        error = write_end(spool);
    int closing = log_disk_close(spool->file, !error && spool->reason[0] == 0);
    spool->error = error ? error : closing;
    __atomic_store_n(&spool->done, true, __ATOMIC_RELEASE);
    wait_queue_wake_all(&spool->room);
    release(spool);
    thread_exit();
}

/* --- the recorder's side --- */

static bool wanted(void)
{
    char value[8];
    if (cmdline_get("storage", value, sizeof(value)) && strcmp(value, "memory") == 0)
        return false;
    return log_disk_absence() == NULL && !disk_read_only();
}

static int start(struct spool *spool, struct session *session)
{
    spool->session = session;
    spool->users = 2;
    spool->flushed_ns = timer_now_ns();
    wait_queue_init(&spool->work, "work of the log writer");
    wait_queue_init(&spool->room, "room for a recording");
    int error = log_disk_create(session->recording->header.program, &spool->file);
    if (error)
        return error;
    string_copy(spool->name, spool->file->name, sizeof(spool->name));
    error = recording_write_start(session->recording, &spool->file->sink);
    struct thread *writer = error ? NULL : thread_create_kernel("log-writer", writer_main, spool);
    if (!error && !writer)
        error = ERR_NO_MEMORY;
    if (!error) {
        thread_start(writer);
        return 0;
    }
    log_disk_close(spool->file, false);
    log_disk_delete(spool->name); /* no file without a checkpoint; it may be gone already */
    return error;
}

int spool_begin(struct session *session, struct spool **out)
{
    *out = NULL;
    if (!wanted())
        return 0;
    struct spool *spool = kzalloc(sizeof(*spool));
    int error = spool ? start(spool, session) : ERR_NO_MEMORY;
    if (error) {
        kfree(spool);
        return error;
    }
    *out = spool;
    return 0;
}

void spool_block_closed(struct spool *spool)
{
    if (__atomic_fetch_add(&spool->backlog, 1, __ATOMIC_RELEASE) == 0)
        wait_queue_wake_all(&spool->work);
}

bool spool_is_behind(const struct spool *spool)
{
    return __atomic_load_n(&spool->backlog, __ATOMIC_RELAXED) > BEHIND_BLOCKS;
}

static bool is_done(void *argument)
{
    return __atomic_load_n(&((struct spool *)argument)->done, __ATOMIC_ACQUIRE);
}

static bool has_room(void *argument)
{
    const struct spool *spool = argument;
    return __atomic_load_n(&spool->backlog, __ATOMIC_RELAXED) <= BEHIND_BLOCKS / 2 ||
           is_done(argument);
}

void spool_wait(struct spool *spool)
{
    wait_queue_sleep_until(&spool->room, has_room, spool, "the disk to take a recording's events");
}

int spool_end(struct spool *spool, const char *reason)
{
    string_copy(spool->reason, reason, sizeof(spool->reason));
    __atomic_store_n(&spool->ending, true, __ATOMIC_RELEASE);
    wait_queue_wake_all(&spool->work);
    wait_queue_sleep_until(&spool->room, is_done, spool, "the end of a recording to be written");
    int error = spool->error;
    release(spool);
    return error;
}

const char *spool_name(const struct spool *spool)
{
    return spool->name;
}
