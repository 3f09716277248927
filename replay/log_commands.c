/* SPDX-License-Identifier: MIT */
/* Shell commands for recordings as things that are kept. */
#include "replay/log_commands.h"

#include "kernel/command.h"
#include "kernel/err.h"
#include "kernel/printf.h"
#include "kernel/programs.h"
#include "kernel/send.h"
#include "kernel/string.h"
#include "mm/heap.h"
#include "replay/event_text.h"
#include "replay/log_disk.h"
#include "replay/log_module.h"

/* --- finding and loading --- */

struct name_search {
    const char *name;
    struct recording *found;
};

static void match_name(struct recording *recording, void *argument)
{
    struct name_search *search = argument;
    if (recording->file[0] && strcmp(recording->file, search->name) == 0)
        search->found = recording;
}

static void print_loaded(const struct recording *recording)
{
    printk("log %u: %s (%s), %u threads, %llu events%s%s\n", recording->number, recording->file,
           recording->command, recording->slots, (unsigned long long)recording_events(recording),
           recording_complete(recording) ? "" : "; INCOMPLETE: ", recording->incomplete);
}

/* From the disk, else from the boot loader; name NULL: the newest, or the first. */
static int load_log(const char *name, struct recording **out)
{
    char reason[RECORDING_REASON_MAX];
    int error = log_disk_load(name, out, reason);
    if (error && error != ERR_BAD_LOG && error != ERR_NO_MEMORY) {
        int other = log_module_load(name, out, reason);
        error = other == ERR_NOT_FOUND ? error : other;
    }
    if (error == ERR_BAD_LOG)
        printk("%s: %s\n", name ? name : "load", reason);
    if (error)
        return error;
    recording_publish(*out);
    print_loaded(*out);
    return 0;
}

struct recording *find_log(const char *word)
{
    unsigned long long number = 0;
    struct name_search search = {.name = word};
    bool is_number = word && string_to_u64(word, &number);
    if (word && !is_number) {
        recording_for_each(match_name, &search);
        int error = search.found ? 0 : load_log(word, &search.found);
        if (error)
            printk("%s: %s\n", word, err_text(error));
        return error ? NULL : search.found;
    }
    struct recording *recording =
        is_number && number == 0 ? NULL : recording_find((uint32_t)number);
    if (!recording)
        printk("no such log; `logs` lists them\n");
    return recording;
}

static int command_load(int count, char **words)
{
    struct recording *recording;
    struct name_search search = {.name = count == 2 ? words[1] : NULL};
    if (count > 2)
        return ERR_USAGE;
    if (search.name)
        recording_for_each(match_name, &search);
    if (search.found) {
        print_loaded(search.found);
        return 0;
    }
    return load_log(search.name, &recording);
}

/* --- listing --- */

static void print_log_line(struct recording *recording, void *argument)
{
    (void)argument;
    printk("  %3u  %-28s %2u threads %9llu ticks %8llu events %8llu bytes  %s  %s%s\n",
           recording->number, recording->command, recording->slots,
           (unsigned long long)recording_ticks(recording),
           (unsigned long long)recording_events(recording),
           (unsigned long long)recording_bytes(recording), recording->header.source,
           recording->file[0] ? recording->file : "memory",
           recording_complete(recording) ? "" : "  INCOMPLETE");
}

static void print_file_line(const struct store_entry *entry, void *argument)
{
    (void)argument;
    printk("  %-24s %10llu bytes  %s%s\n", entry->name, (unsigned long long)entry->used,
           entry->flags & STORE_KEPT ? "saved" : "not saved",
           entry->state == STORE_OPEN        ? ", being written"
           : (entry->flags & STORE_COMPLETE) ? ""
                                             : ", INCOMPLETE");
}

static int command_logs(int count, char **words)
{
    struct log_module module;
    const char *absence = log_disk_absence();
    (void)count;
    (void)words;
    recording_for_each(print_log_line, NULL);
    printk(absence ? "disk: none: %s\n" : "disk:\n", absence);
    log_disk_for_each(print_file_line, NULL);
    for (unsigned n = 0; log_module_get(n, &module); n++)
        printk("%s  %-24s %10llu bytes\n", n ? "" : "from the boot loader:\n", module.name,
               (unsigned long long)module.size);
    return 0;
}

/* --- events --- */

static int print_stream(struct recording *recording, uint32_t slot)
{
    struct stream_cursor cursor;
    struct log_event event;
    char text[512], symbol[80];
    printk("thread %u: %llu ticks, %llu events, %llu bytes\n", slot,
           (unsigned long long)recording->end.threads[slot].ticks,
           (unsigned long long)recording->streams[slot].events,
           (unsigned long long)recording->streams[slot].bytes);
    stream_open(&cursor, &recording->streams[slot]);
    while (stream_next(&cursor, &event)) {
        event_format(text, sizeof(text), cursor.number, &event);
        programs_symbol(symbol, sizeof(symbol), recording->header.program, event.point.rip);
        printk("  %s%s%s\n", text, symbol[0] ? " in " : "", symbol);
    }
    if (cursor.error)
        printk("  %s\n", cursor.error);
    return cursor.error ? ERR_BAD_LOG : 0;
}

static int command_log(int count, char **words)
{
    if (count > 2)
        return ERR_USAGE;
    struct recording *recording = find_log(count == 2 ? words[1] : NULL);
    if (!recording)
        return ERR_NOT_FOUND;
    printk("log %u: %s, ticks: %s, recorded with source %s on %u CPUs\n", recording->number,
           recording->command, log_unit_name(recording->header.unit), recording->header.source,
           recording->header.cpus);
    int result = 0;
    for (uint32_t slot = 0; slot < recording->slots; slot++) {
        int error = print_stream(recording, slot);
        if (error)
            result = error;
    }
    if (!recording_complete(recording))
        printk("INCOMPLETE: %s\n", recording->incomplete);
    return result;
}

/* --- keeping --- */

static int write_file(struct recording *recording)
{
    struct log_disk_file *file;
    char name[STORE_NAME_SIZE];
    int error = log_disk_create(recording->header.program, &file);
    if (error)
        return error;
    string_copy(name, file->name, sizeof(name));
    error = recording_write(recording, &file->sink);
    int closing = log_disk_close(file, !error && recording_complete(recording));
    error = error ? error : closing;
    if (error)
        log_disk_delete(name); /* half of a recording that is still whole in memory */
    else
        log_disk_adopt(name, recording);
    return error;
}

static int command_save(int count, char **words)
{
    if (count > 2)
        return ERR_USAGE;
    struct recording *recording = find_log(count == 2 ? words[1] : NULL);
    if (!recording)
        return ERR_NOT_FOUND;
    int error = recording->on_disk ? 0 : write_file(recording);
    if (!error)
        error = log_disk_keep(recording->file);
    if (!error)
        printk("log %u is saved as %s\n", recording->number, recording->file);
    else if (error == ERR_NO_DISK)
        printk("disk: %s\n", log_disk_absence());
    return error;
}

static int command_delete(int count, char **words)
{
    struct name_search search = {.name = count == 2 ? words[1] : NULL};
    unsigned long long number;
    if (count != 2)
        return ERR_USAGE;
    if (!string_to_u64(words[1], &number))
        recording_for_each(match_name, &search);
    else
        search.found = find_log(words[1]);
    if (!search.found && string_to_u64(words[1], &number))
        return ERR_NOT_FOUND;
    char name[RECORDING_NAME_MAX];
    bool on_disk = search.found ? search.found->on_disk : true;
    string_copy(name, search.found ? search.found->file : words[1], sizeof(name));
    int error = on_disk ? log_disk_delete(name) : 0;
    if (search.found && (error == 0 || error == ERR_NOT_FOUND)) {
        recording_delete(search.found->number);
        error = 0;
    }
    return error;
}

struct send_sink {
    struct recording_sink sink;
    struct send_file file;
};
_Static_assert(offsetof(struct send_sink, sink) == 0, "send_bytes");

static int send_bytes(struct recording_sink *sink, const void *bytes, uint32_t length)
{
    send_data(&((struct send_sink *)sink)->file, bytes, length);
    return 0;
}

static int send(struct recording *recording, const char *name)
{
    struct send_sink *out = kzalloc(sizeof(*out));
    if (!out)
        return ERR_NO_MEMORY;
    out->sink.write = send_bytes;
    out->sink.file_id = recording_new_id();
    send_file_begin(&out->file, name, recording_file_bytes(recording));
    int error = recording_write(recording, &out->sink);
    int sent = send_file_end(&out->file);
    kfree(out);
    return error ? error : sent;
}

static int command_send(int count, char **words)
{
    char name[RECORDING_NAME_MAX + 8];
    if (count > 2)
        return ERR_USAGE;
    struct recording *recording = find_log(count == 2 ? words[1] : NULL);
    if (!recording)
        return ERR_NOT_FOUND;
    if (recording->on_disk)
        format_text(name, sizeof(name), "%s.crew", recording->file);
    else
        format_text(name, sizeof(name), "%s-%u.crew", recording->header.program, recording->number);
    int error = send(recording, name);
    if (!error)
        printk("log %u went to %s as %s, %llu bytes\n", recording->number, send_port_name(), name,
               (unsigned long long)recording_file_bytes(recording));
    return error;
}

static struct command table[] = {
    {.name = "logs",
     .arguments = "",
     .help = "list the recordings: in memory, on disk, as modules",
     .function = command_logs},
    {.name = "log",
     .arguments = "[LOG]",
     .help = "the events of a recording, by thread",
     .function = command_log},
    {.name = "save",
     .arguments = "[LOG]",
     .help = "keep a recording on disk, even when room is short",
     .function = command_save},
    {.name = "load",
     .arguments = "[FILE]",
     .help = "read a recording from the disk or a boot module",
     .function = command_load},
    {.name = "send",
     .arguments = "[LOG]",
     .help = "send a recording over the serial line",
     .function = command_send},
    {.name = "delete",
     .arguments = "LOG",
     .help = "throw a recording and its file away",
     .function = command_delete},
};

void log_commands_register(void)
{
    for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        command_register(&table[i]);
}
