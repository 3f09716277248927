/* SPDX-License-Identifier: MIT */
/* crewlog dump: all that a recording holds. As text: the checkpoint, then the events by thread, in
 * the words of the kernel's `log`. As JSON: every field of every chunk, in the order of the file.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernel/hash.h"
#include "replay/event_text.h"
#include "tools/crewlog/json.h"
#include "tools/crewlog/log.h"
#include "tools/crewlog/program.h"

#define EVENT_TEXT_BYTES 2048

struct dump {
    struct log log;
    struct program program;
    struct options options;
};

static bool wanted(const struct dump *dump, uint32_t slot)
{
    return dump->options.thread == NO_THREAD || dump->options.thread == slot;
}

/* --- as JSON --- */

static void json_place(struct dump *dump, uint64_t rip)
{
    char text[256];
    if (!dump->program.name)
        return;
    json_string("symbol", program_symbol(&dump->program, rip, text, sizeof(text)));
    json_string("line", program_line(&dump->program, rip));
}

static void json_event(struct dump *dump, uint32_t slot, uint64_t number, uint64_t offset,
                       const struct log_event *event)
{
    unsigned fields = log_kind_fields(event->kind);
    json_open();
    json_string("record", "event");
    json_number("offset", offset);
    json_number("slot", slot);
    json_number("number", number);
    json_string("kind", log_kind_name(event->kind));
    json_number("ticks", event->point.ticks);
    json_hex("rip", event->point.rip);
    json_hex("rcx", event->point.rcx);
    json_hex("check", event->point.check);
    if (fields & LOG_FIELD_PAGE)
        json_hex("page", event->page);
    if (fields & LOG_FIELD_RIGHTS)
        json_number("rights", event->rights);
    if (fields & LOG_FIELD_A)
        json_number("a", event->a);
    if (fields & LOG_FIELD_B)
        json_number("b", event->b);
    if (fields & LOG_FIELD_DEPS) {
        json_list("deps");
        for (unsigned i = 0; i < event->dep_count; i++) {
            json_list_item();
            json_number("slot", event->deps[i].slot);
            json_number("event", event->deps[i].event);
            json_list_item_end();
        }
        json_list_end();
    }
    json_place(dump, event->point.rip);
    json_close();
}

/* The events of one block; what the cursor would find, but in the order of the file. */
static void json_events(struct dump *dump, const struct log_item *item)
{
    struct log_cursor cursor;
    log_cursor_open_block(&cursor, &dump->log, item);
    while (log_cursor_next(&cursor))
        json_event(dump, cursor.slot, cursor.number, cursor.offset, &cursor.event);
}

static void json_ends(const struct log_item *item)
{
    struct log_end end;
    struct log_end_thread thread;
    memcpy(&end, item->payload, sizeof(end));
    json_end(&end);
    json_list("threads");
    for (uint64_t at = sizeof(end); at + sizeof(thread) <= item->chunk.length;
         at += sizeof(thread)) {
        memcpy(&thread, item->payload + at, sizeof(thread));
        json_list_item();
        json_end_thread(&thread);
        json_list_item_end();
    }
    json_list_end();
}

static void json_page_contents(const struct log_item *item)
{
    uint8_t digest[32];
    struct hash hash;
    hash_init(&hash, sizeof(digest));
    hash_update(&hash, item->payload + sizeof(struct log_page), LOG_PAGE_SIZE);
    hash_final(&hash, digest);
    json_bytes("blake2b", digest, sizeof(digest));
}

#define PAYLOAD(name)                                                                              \
    do {                                                                                           \
        struct log_##name name;                                                                    \
        memcpy(&name, item->payload, sizeof(name));                                                \
        json_##name(&name);                                                                        \
    } while (0)

static void json_payload(const struct log_item *item)
{
    switch (item->chunk.kind) {
    case LOG_CHUNK_HEADER:
        PAYLOAD(header);
        break;
    case LOG_CHUNK_VMA:
        PAYLOAD(vma);
        break;
    case LOG_CHUNK_THREAD:
        PAYLOAD(thread);
        json_bytes("fpu", item->payload + sizeof(struct log_thread),
                   item->chunk.length - sizeof(struct log_thread));
        break;
    case LOG_CHUNK_PAGE:
        PAYLOAD(page);
        json_page_contents(item);
        break;
    case LOG_CHUNK_BEGIN:
        PAYLOAD(begin);
        break;
    case LOG_CHUNK_STREAM:
        PAYLOAD(block);
        break;
    case LOG_CHUNK_END:
        json_ends(item);
        break;
    }
}

static void json_chunk(struct dump *dump, const struct log_item *item)
{
    bool stream = item->chunk.kind == LOG_CHUNK_STREAM;
    if (dump->options.thread != NO_THREAD && (!stream || !wanted(dump, item->chunk.slot)))
        return;
    json_open();
    json_string("record", log_chunk_name(item->chunk.kind));
    json_number("offset", item->offset);
    json_number("slot", item->chunk.slot);
    json_number("length", item->chunk.length);
    json_hex("crc", item->chunk.crc);
    json_hex("file_id", item->chunk.file_id);
    json_number("sequence", item->chunk.sequence);
    json_payload(item);
    json_close();
    if (stream)
        json_events(dump, item);
}

static void dump_json(struct dump *dump)
{
    char text[256];
    uint64_t good;
    struct log_walk walk;
    struct log_item item;
    log_walk_open(&walk, &dump->log);
    while (!dump->log.damage.reason && log_walk_next(&walk, &item))
        json_chunk(dump, &item);
    json_open();
    json_string("record", "verdict");
    json_string("verdict", log_verdict_name(log_verdict(&dump->log, &good)));
    json_number("offset", good);
    json_bool("complete", log_complete(&dump->log));
    json_string("text", log_verdict_text(&dump->log, text, sizeof(text)));
    json_close();
}

/* --- as text --- */

static void print_vma(const struct log_item *item)
{
    struct log_vma vma;
    memcpy(&vma, item->payload, sizeof(vma));
    printf("mapping 0x%012" PRIx64 "-0x%012" PRIx64 " %c%c%c\n", vma.start, vma.end,
           vma.prot & 1 ? 'r' : '-', vma.prot & 2 ? 'w' : '-', vma.prot & 4 ? 'x' : '-');
}

static void print_thread(const struct log_item *item)
{
    struct log_thread thread;
    unsigned column = 0;
    memcpy(&thread, item->payload, sizeof(thread));
    printf("thread %u at the beginning: index %u\n", item->chunk.slot, thread.index);
#define PRINT_NUMBER(name)
#define PRINT_HEX(name)                                                                            \
    printf("%s%-8s 0x%-16" PRIx64 "%s", column % 3 ? "" : "  ", #name, (uint64_t)thread.name,      \
           column % 3 == 2 ? "\n" : " ");                                                          \
    column++;
#define F(type, name, count, form) PRINT_##form(name)
    LOG_THREAD_FIELDS(F)
#undef F
    if (column % 3)
        putchar('\n');
}

static void print_checkpoint(const struct log *log)
{
    struct log_walk walk;
    struct log_item item;
    struct log_page page;
    log_walk_open(&walk, log);
    while (log_walk_next(&walk, &item) && item.chunk.kind != LOG_CHUNK_BEGIN) {
        if (item.chunk.kind == LOG_CHUNK_VMA)
            print_vma(&item);
        if (item.chunk.kind == LOG_CHUNK_THREAD)
            print_thread(&item);
        if (item.chunk.kind == LOG_CHUNK_PAGE) {
            memcpy(&page, item.payload, sizeof(page));
            printf("page 0x%" PRIx64 "\n", page.address);
        }
    }
}

static void print_event(struct dump *dump, const struct log_cursor *cursor)
{
    char text[EVENT_TEXT_BYTES], symbol[256];
    event_format(text, sizeof(text), cursor->number, &cursor->event);
    printf("  %s", text);
    if (dump->program.name) {
        const char *line = program_line(&dump->program, cursor->event.point.rip);
        printf(" in %s%s%s",
               program_symbol(&dump->program, cursor->event.point.rip, symbol, sizeof(symbol)),
               *line ? " " : "", line);
    }
    putchar('\n');
}

static void print_stream(struct dump *dump, uint32_t slot)
{
    struct log_cursor cursor;
    printf("thread %u: %" PRIu64 " events, %" PRIu64 " bytes\n", slot,
           dump->log.reader.events[slot], dump->log.index[slot].bytes);
    log_cursor_open(&cursor, &dump->log, slot, 1);
    while (log_cursor_next(&cursor))
        print_event(dump, &cursor);
}

static void dump_text(struct dump *dump)
{
    char text[256];
    if (dump->options.thread == NO_THREAD)
        print_checkpoint(&dump->log);
    for (uint32_t slot = 0; slot < dump->log.reader.slots; slot++)
        if (wanted(dump, slot))
            print_stream(dump, slot);
    printf("%s\n", log_verdict_text(&dump->log, text, sizeof(text)));
}

enum status command_dump(char **argv)
{
    static struct dump dump;
    options_parse(&dump.options, argv, "json thread elf force", 1, 1);
    log_open(&dump.log, dump.options.files[0]);
    program_open(&dump.program, dump.options.elf, &dump.log.reader.header, dump.options.force);
    if (dump.options.thread != NO_THREAD && dump.options.thread >= dump.log.reader.slots)
        die("%s has no thread %u", dump.log.name, dump.options.thread);
    if (dump.options.json)
        dump_json(&dump);
    else
        dump_text(&dump);
    program_close(&dump.program);
    enum status status = log_status(&dump.log);
    log_close(&dump.log);
    return status;
}
