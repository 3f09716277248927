/* SPDX-License-Identifier: MIT */
/* Recordings on the disk: mounting, writing, reading. */
#include "replay/log_disk.h"

#include "kernel/disk.h"
#include "kernel/err.h"
#include "kernel/panic.h"
#include "kernel/printf.h"
#include "kernel/string.h"
#include "mm/heap.h"
#include "replay/store_disk.h"

#define BUFFER_BYTES (128u << 10)
#define WINDOW_BYTES (64u << 10)

/* --- reading a file: a window of whole sectors, moved along --- */

struct window {
    const struct store *store;
    const struct store_entry *entry;
    uint8_t *bytes;
    uint64_t start;
    uint32_t length;
    uint64_t limit; /* bytes of whole sectors that can be read */
};

static bool move_window(struct window *window, uint64_t offset)
{
    window->start = offset / DISK_SECTOR * DISK_SECTOR;
    uint64_t left = window->limit - window->start;
    window->length = left < WINDOW_BYTES ? (uint32_t)left : WINDOW_BYTES;
    if (store_read(window->store, window->entry, window->start, window->length, window->bytes) == 0)
        return true;
    window->length = 0;
    return false;
}

static bool read_window(void *context, uint64_t offset, void *out, uint32_t length)
{
    struct window *window = context;
    uint8_t *to = out;
    while (length) {
        if (offset < window->start || offset >= window->start + window->length)
            if (!move_window(window, offset))
                return false;
        uint64_t left = window->start + window->length - offset;
        uint32_t part = left < length ? (uint32_t)left : length;
        memcpy(to, window->bytes + (offset - window->start), part);
        to += part;
        offset += part;
        length -= part;
    }
    return true;
}

static bool open_window(struct window *window, const struct store *store,
                        const struct store_entry *entry)
{
    bool open = entry->state == STORE_OPEN;
    uint64_t bytes = open ? entry->sectors * DISK_SECTOR : entry->used;
    *window = (struct window){.store = store, .entry = entry, .bytes = kmalloc(WINDOW_BYTES)};
    window->limit = (bytes + DISK_SECTOR - 1) / DISK_SECTOR * DISK_SECTOR;
    return window->bytes != NULL;
}

/* --- mounting --- */

struct scan {
    struct log_reader reader;
    struct log_item item;
    uint64_t buffer[LOG_CHUNK_MAX / sizeof(uint64_t)];
};

/* How far a file reaches that nobody closed. Behind it lies what was there before. */
static int scan_file(const struct store *store, const struct store_entry *entry,
                     struct store_scan *out, void *argument)
{
    struct window window;
    struct scan *scan = kzalloc(sizeof(*scan));
    (void)argument;
    if (!scan || !open_window(&window, store, entry)) {
        kfree(scan);
        return ERR_NO_MEMORY;
    }
    struct log_source source = {.read = read_window, .context = &window, .size = window.limit};
    log_reader_open(&scan->reader, &source);
    while (!scan->reader.ended && log_reader_next(&scan->reader, scan->buffer, &scan->item))
        if (scan->reader.sequence == 1 && scan->item.chunk.file_id != entry->id)
            break;
    bool own = scan->reader.begun && scan->reader.file_id == entry->id;
    out->used = own ? scan->reader.offset : 0;
    out->complete = own && scan->reader.ended && scan->reader.end.complete;
    printk("disk: %s was not closed: %llu bytes of it are %s\n", entry->name,
           (unsigned long long)out->used, out->used ? "good" : "left, so it goes");
    kfree(window.bytes);
    kfree(scan);
    return 0;
}

struct count {
    unsigned all, unsaved;
};

static void count_entry(const struct store_entry *entry, void *argument)
{
    struct count *count = argument;
    count->all++;
    count->unsaved += !(entry->flags & STORE_KEPT);
}

static void announce(const struct store *store)
{
    struct count count = {0};
    store_for_each(store, count_entry, &count);
    printk("disk: %u recording%s, %u of them not saved, room for %llu MiB\n", count.all,
           count.all == 1 ? "" : "s", count.unsaved,
           (unsigned long long)(store_largest_gap(store) >> 11));
}

void log_disk_mount(void)
{
    struct store *store;
    if (!disk_present())
        return;
    int error = store_disk_open(&store);
    if (error) {
        printk("disk: not used: %s\n", err_text(error));
        return;
    }
    if (!disk_read_only())
        error = store_recover(store, scan_file, NULL);
    if (error)
        printk("disk: nothing can be written: %s\n", err_text(error));
    announce(store);
    store_disk_release();
}

const char *log_disk_absence(void)
{
    struct store *store;
    int error = store_disk_open(&store);
    if (error)
        return error == ERR_NO_DISK ? disk_absence() : err_text(error);
    store_disk_release();
    return NULL;
}

/* --- writing --- */

static struct log_disk_file *file_of(struct recording_sink *sink)
{
    return (struct log_disk_file *)sink; /* its first member */
}
_Static_assert(offsetof(struct log_disk_file, sink) == 0, "file_of");

static int write_out(struct log_disk_file *file, uint32_t length)
{
    struct store *store;
    int error = store_disk_open(&store);
    if (error)
        return error;
    error = store_append(store, file->buffer, length);
    store_disk_release();
    if (error)
        return error;
    memmove(file->buffer, file->buffer + length, file->used - length);
    file->used -= length;
    return 0;
}

static int sink_write(struct recording_sink *sink, const void *bytes, uint32_t length)
{
    struct log_disk_file *file = file_of(sink);
    if (file->used + length > BUFFER_BYTES) {
        int error = write_out(file, file->used / DISK_SECTOR * DISK_SECTOR);
        if (error)
            return error;
    }
    memcpy(file->buffer + file->used, bytes, length);
    file->used += length;
    return 0;
}

static void say_removed(const struct store_entry *entry, void *argument)
{
    (void)argument;
    printk("disk: %s was not saved and makes room\n", entry->name);
    recording_forget_file(entry->name);
}

static int create(struct log_disk_file *file, const char *program)
{
    struct store *store;
    int error = store_disk_open(&store);
    if (error)
        return error;
    store_unique_name(store, program, file->name);
    error = store_create(store, file->name, file->sink.file_id, say_removed, NULL);
    store_disk_release();
    return error;
}

int log_disk_create(const char *program, struct log_disk_file **out)
{
    struct log_disk_file *file = kzalloc(sizeof(*file));
    uint8_t *buffer = kmalloc(BUFFER_BYTES);
    int error = file && buffer ? 0 : ERR_NO_MEMORY;
    if (!error) {
        file->buffer = buffer;
        file->sink.write = sink_write;
        file->sink.file_id = recording_new_id();
        error = create(file, program);
    }
    if (error) {
        kfree(buffer);
        kfree(file);
        file = NULL;
    }
    *out = file;
    return error;
}

/* A sector is never written twice, so a flush in the middle of one fills it with a PAD. */
int log_disk_flush(struct log_disk_file *file)
{
    uint32_t rest = file->used % DISK_SECTOR;
    uint32_t pad = rest ? DISK_SECTOR - rest : 0;
    if (pad && pad < sizeof(struct log_chunk))
        pad += DISK_SECTOR;
    int error = pad ? recording_write_pad(&file->sink, pad) : 0;
    if (!error && file->used)
        error = write_out(file, file->used);
    if (!error)
        error = disk_flush();
    return error;
}

int log_disk_room(const struct log_disk_file *file, uint64_t *room)
{
    struct store *store;
    int error = store_disk_open(&store);
    *room = 0;
    if (error)
        return error;
    uint64_t free = store_room(store);
    store_disk_release();
    *room = free > file->used ? free - file->used : 0;
    return 0;
}

int log_disk_close(struct log_disk_file *file, bool complete)
{
    int error = log_disk_flush(file);
    uint64_t used = error ? file->sink.offset - file->used : file->sink.offset;
    struct store *store;
    int closing = store_disk_open(&store);
    if (!closing) {
        closing = store_close(store, used, complete && !error);
        store_disk_release();
    }
    kfree(file->buffer);
    kfree(file);
    return error ? error : closing;
}

/* --- reading --- */

/* Blocks of events, when a replay gets to them: in any context. Their recording's backing knows the
 * first sector. The extent may belong to another file by now; the chunk tells. */
static const char *load_block(const struct stream_backing *backing, uint64_t offset,
                              struct stream_block *block)
{
    static struct spinlock lock = SPINLOCK_INIT(LOCK_LOG_BLOCK, "block of a recording");
    static uint8_t bounce[sizeof(struct stream_block) + DISK_SECTOR];
    uint64_t sector = backing->start + offset / DISK_SECTOR, end = disk_sectors();
    uint32_t skip = offset % DISK_SECTOR, count = sizeof(bounce) / DISK_SECTOR;
    if (sector >= end)
        return "it lies behind the end of the disk";
    if (count > end - sector)
        count = (uint32_t)(end - sector);
    uint32_t size = count * DISK_SECTOR - skip;
    size = size < sizeof(*block) ? size : (uint32_t)sizeof(*block);
    bool enabled = spin_lock_irq(&lock);
    int error = disk_read_now(sector, count, bounce);
    if (!error)
        memcpy(block, bounce + skip, size);
    spin_unlock_irq(&lock, enabled);
    return error ? err_text(error) : recording_check_block(block, size, backing->file_id);
}

static struct stream_backing backing_of(const struct store_entry *entry)
{
    return (struct stream_backing){
        .load = load_block, .start = entry->start, .size = entry->used, .file_id = entry->id};
}

static void set_file(struct recording *recording, const struct store_entry *entry)
{
    string_copy(recording->file, entry->name, sizeof(recording->file));
    recording->on_disk = true;
}

static const struct store_entry *newest(const struct store *store)
{
    const struct store_entry *found = NULL;
    for (unsigned i = 0; i < STORE_ENTRIES; i++) {
        const struct store_entry *entry = &store->directory.entries[i];
        if (entry->state == STORE_CLOSED && (!found || entry->order > found->order))
            found = entry;
    }
    return found;
}

static int load(const struct store *store, const struct store_entry *entry, struct recording **out,
                char reason[RECORDING_REASON_MAX])
{
    struct window window;
    if (!open_window(&window, store, entry))
        return ERR_NO_MEMORY;
    struct log_source source = {.read = read_window, .context = &window, .size = entry->used};
    struct stream_backing backing = backing_of(entry);
    int error = recording_read(&source, &backing, out, reason);
    if (!error)
        set_file(*out, entry);
    kfree(window.bytes);
    return error;
}

int log_disk_load(const char *name, struct recording **out, char reason[RECORDING_REASON_MAX])
{
    struct store *store;
    *out = NULL;
    string_copy(reason, "out of memory", RECORDING_REASON_MAX);
    int error = store_disk_open(&store);
    if (error)
        return error;
    const struct store_entry *entry = name ? store_find(store, name) : newest(store);
    error = entry ? load(store, entry, out, reason) : ERR_NOT_FOUND;
    store_disk_release();
    return error;
}

void log_disk_adopt(const char *name, struct recording *recording)
{
    struct store *store;
    if (store_disk_open(&store) == 0) {
        const struct store_entry *entry = store_find(store, name);
        if (entry) {
            if (!recording->backing.load) /* else its blocks lie elsewhere, in another order */
                recording->backing = backing_of(entry);
            set_file(recording, entry);
        }
        store_disk_release();
    }
    for (uint32_t slot = 0; slot < LOG_MAX_SLOTS; slot++)
        recording->streams[slot].backing = &recording->backing;
}

int log_disk_delete(const char *name)
{
    struct store *store;
    int error = store_disk_open(&store);
    if (error)
        return error;
    error = store_delete(store, name);
    if (!error)
        recording_forget_file(name);
    store_disk_release();
    return error;
}

int log_disk_keep(const char *name)
{
    struct store *store;
    int error = store_disk_open(&store);
    if (error)
        return error;
    error = store_keep(store, name, true);
    store_disk_release();
    return error;
}

void log_disk_for_each(store_function *function, void *argument)
{
    struct store *store;
    if (store_disk_open(&store) != 0)
        return;
    store_for_each(store, function, argument);
    store_disk_release();
}
