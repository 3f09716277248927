/* SPDX-License-Identifier: MIT */
/* Chunks of recordings' files. */
#include "replay/log_file.h"

#include "kernel/hash.h"
#include "kernel/string.h"

#define USER_LIMIT (1ull << 47)
#define PROT_ALL 7
#define FXSAVE_BYTES 512 /* XSAVE's area begins with those */

const char *log_chunk_name(unsigned kind)
{
    switch (kind) {
#define K(number, name, text)                                                                      \
    case LOG_CHUNK_##name:                                                                         \
        return text;
        LOG_CHUNK_TABLE(K)
#undef K
    }
    return "?";
}

const char *log_unit_name(unsigned unit)
{
    switch (unit) {
#define X(number, name, text)                                                                      \
    case LOG_UNIT_##name:                                                                          \
        return text;
        LOG_UNIT_TABLE(X)
#undef X
    }
    return "?";
}

const char *log_verdict_name(enum log_verdict verdict)
{
    static const char *const names[] = {
        [LOG_VERDICT_NONE] = "open",       [LOG_VERDICT_COMPLETE] = "complete",
        [LOG_VERDICT_STOPPED] = "stopped", [LOG_VERDICT_CUT] = "cut",
        [LOG_VERDICT_BAD] = "bad",
    };
    return names[verdict];
}

/* --- writing --- */

/* Of a chunk with its padding; the field of the checksum counts as 0. */
static uint32_t checksum(const void *bytes, uint32_t length)
{
    struct log_chunk chunk;
    memcpy(&chunk, bytes, sizeof(chunk));
    chunk.crc = 0;
    uint32_t crc = crc32c(0, &chunk, sizeof(chunk));
    return crc32c(crc, (const uint8_t *)bytes + sizeof(chunk), length - (uint32_t)sizeof(chunk));
}

uint32_t log_chunk_seal(void *bytes, enum log_chunk_kind kind, uint32_t slot, uint32_t length,
                        uint64_t file_id, uint64_t sequence)
{
    struct log_chunk *chunk = bytes;
    uint32_t total = (uint32_t)LOG_CHUNK_BYTES(length);
    *chunk = (struct log_chunk){
        .magic = LOG_CHUNK_MAGIC,
        .kind = (uint16_t)kind,
        .slot = (uint16_t)slot,
        .length = length,
        .file_id = file_id,
        .sequence = sequence,
    };
    memset((uint8_t *)bytes + sizeof(*chunk) + length, 0, total - sizeof(*chunk) - length);
    chunk->crc = checksum(chunk, total);
    return total;
}

/* --- reading: one chunk --- */

static bool all_zero(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i])
            return false;
    return true;
}

const char *log_chunk_check(const void *bytes, uint32_t size, enum log_chunk_kind kind,
                            uint64_t file_id)
{
    struct log_chunk chunk;
    if (size < sizeof(chunk))
        return "the file ends within a chunk";
    memcpy(&chunk, bytes, sizeof(chunk));
    if (chunk.magic != LOG_CHUNK_MAGIC || chunk.kind != kind || chunk.file_id != file_id)
        return "another chunk";
    if (chunk.length > LOG_CHUNK_MAX - sizeof(chunk) || LOG_CHUNK_BYTES(chunk.length) > size)
        return "the file ends within a chunk";
    return checksum(bytes, (uint32_t)LOG_CHUNK_BYTES(chunk.length)) == chunk.crc ? NULL
                                                                                 : "wrong checksum";
}

static bool end_reading(struct log_reader *reader, enum log_verdict verdict, const char *reason)
{
    reader->verdict = verdict;
    reader->reason = reason;
    return false;
}

static bool bad(struct log_reader *reader, const char *reason)
{
    return end_reading(reader, LOG_VERDICT_BAD, reason);
}

/* What can be said of a chunk by its first bytes. NULL: nothing wrong. */
static const char *head_error(const struct log_reader *reader, const struct log_chunk *chunk)
{
    if (chunk->magic != LOG_CHUNK_MAGIC)
        return reader->sequence ? "no chunk begins here" : "not a recording";
    if (chunk->length > LOG_CHUNK_MAX - sizeof(*chunk))
        return "chunk is too long";
    if (reader->sequence && chunk->file_id != reader->file_id)
        return "chunk of another recording";
    if (chunk->sequence != reader->sequence)
        return "chunks are missing or out of order";
    return NULL;
}

/* Reads the chunk at reader->offset into buffer. The file may end within it. */
static bool read_chunk(struct log_reader *reader, uint8_t *buffer)
{
    const struct log_source *source = reader->source;
    uint64_t left = source->size - reader->offset;
    struct log_chunk *chunk = (struct log_chunk *)buffer;
    if (left < sizeof(*chunk))
        return end_reading(reader, LOG_VERDICT_CUT,
                           left ? "the file ends within a chunk" : "the file has no end chunk");
    if (!source->read(source->context, reader->offset, buffer, sizeof(*chunk)))
        return bad(reader, "cannot be read");
    const char *error = head_error(reader, chunk);
    if (error)
        return bad(reader, error);
    uint32_t total = (uint32_t)LOG_CHUNK_BYTES(chunk->length);
    if (left < total)
        return end_reading(reader, LOG_VERDICT_CUT, "the file ends within a chunk");
    if (!source->read(source->context, reader->offset + sizeof(*chunk), buffer + sizeof(*chunk),
                      total - (uint32_t)sizeof(*chunk)))
        return bad(reader, "cannot be read");
    if (checksum(chunk, total) != chunk->crc)
        return bad(reader, "wrong checksum");
    uint32_t used = (uint32_t)sizeof(*chunk) + chunk->length;
    return all_zero(buffer + used, total - used) || bad(reader, "padding is not zero");
}

/* --- reading: rules, by kind. Each gets a payload of at least the kind's structure. --- */

static bool text_ends(const char *text, size_t size)
{
    return memchr(text, 0, size) != NULL;
}

static bool arguments_there(const struct log_header *header)
{
    uint32_t words = 0;
    for (size_t i = 0; i < sizeof(header->arguments); i++)
        words += header->arguments[i] == 0;
    return header->argument_count <= words;
}

static const char *header_error(const struct log_header *header)
{
    if (header->version != LOG_FORMAT_VERSION)
        return "another version of the format";
    if (header->page_size != LOG_PAGE_SIZE)
        return "another size of pages";
    if (header->unit > LOG_UNIT_ALL)
        return "unknown unit of ticks";
#define TEXT(name)                                                                                 \
    if (!text_ends(header->name, sizeof(header->name)))                                            \
        return "header: text without an end: " #name;
    TEXT(kernel)
    TEXT(program)
    TEXT(warnings)
    TEXT(source)
    TEXT(source_model)
    TEXT(cpu_vendor)
    TEXT(cpu_brand)
#undef TEXT
    if (header->arguments[sizeof(header->arguments) - 1])
        return "header: text without an end: arguments";
    if (!arguments_there(header))
        return "header: more arguments than there is room for";
    if (header->program_bytes == 0 && !all_zero(header->program_hash, sizeof(header->program_hash)))
        return "header: hash of a program of no bytes";
    if (header->fpu_bytes < FXSAVE_BYTES || header->fpu_bytes > LOG_PAGE_SIZE)
        return "header: wrong size of the FPU state";
    if (header->output_used > sizeof(header->output_block) || header->output_digest_size != 16)
        return "header: bad state of the output's hash";
    return NULL;
}

static const char *take_header(struct log_reader *reader, const struct log_item *item)
{
    memcpy(&reader->header, item->payload, sizeof(reader->header));
    if (memcmp(reader->header.magic, LOG_FILE_MAGIC, sizeof(reader->header.magic)) != 0)
        return "not a recording";
    reader->file_id = item->chunk.file_id;
    return header_error(&reader->header);
}

static const char *take_vma(struct log_reader *reader, const struct log_item *item)
{
    struct log_vma vma;
    memcpy(&vma, item->payload, sizeof(vma));
    if (vma.start >= vma.end || vma.end > USER_LIMIT || vma.start % LOG_PAGE_SIZE ||
        vma.end % LOG_PAGE_SIZE || vma.prot > PROT_ALL || vma.reserved)
        return "mapping out of range";
    if (vma.start < reader->last_vma_end)
        return "mappings overlap or are out of order";
    reader->last_vma_end = vma.end;
    reader->found.vmas++;
    return NULL;
}

static const char *take_thread(struct log_reader *reader, const struct log_item *item)
{
    struct log_thread thread;
    memcpy(&thread, item->payload, sizeof(thread));
    if (item->chunk.slot != reader->found.threads)
        return "threads of the checkpoint are out of order";
    if (thread.fpu_bytes != item->chunk.length - sizeof(thread) ||
        thread.fpu_bytes != reader->header.fpu_bytes)
        return "wrong size of the FPU state";
    reader->found.threads++;
    reader->slots = reader->found.threads;
    return NULL;
}

static const char *take_page(struct log_reader *reader, const struct log_item *item)
{
    struct log_page page;
    memcpy(&page, item->payload, sizeof(page));
    if (page.address % LOG_PAGE_SIZE || page.address >= USER_LIMIT)
        return "page out of range";
    if (page.address < reader->last_page)
        return "pages are out of order";
    if (all_zero(item->payload + sizeof(page), LOG_PAGE_SIZE))
        return "a page of zeroes";
    reader->last_page = page.address + 1;
    reader->found.pages++;
    return NULL;
}

static const char *take_begin(struct log_reader *reader, const struct log_item *item)
{
    struct log_begin begin;
    memcpy(&begin, item->payload, sizeof(begin));
    if (memcmp(&begin, &reader->found, sizeof(begin)) != 0)
        return "the checkpoint has other numbers of mappings, threads or pages";
    if (begin.threads == 0)
        return "the checkpoint has no thread";
    reader->begun = true;
    return NULL;
}

static const char *take_block(struct log_reader *reader, const struct log_item *item)
{
    struct log_block block;
    uint32_t slot = item->chunk.slot;
    memcpy(&block, item->payload, sizeof(block));
    if (block.first_event != reader->events[slot] + 1)
        return "events are missing or out of order";
    if (block.events == 0 || block.events > LOG_BLOCK_BYTES || block.reserved ||
        item->chunk.length > LOG_BLOCK_BYTES + sizeof(block))
        return "block out of range";
    reader->events[slot] += block.events;
    if (reader->slots <= slot)
        reader->slots = slot + 1;
    return NULL;
}

/* Fields that say the same, and what is only said of a process that ended, was killed. */
static bool end_consistent(const struct log_end *end)
{
    return end->complete == (end->reason[0] == 0) &&
           (end->ended || (!end->killed && !end->exit_status)) &&
           (end->killed || end->end_reason[0] == 0);
}

static const char *take_end(struct log_reader *reader, const struct log_item *item)
{
    memcpy(&reader->end, item->payload, sizeof(reader->end));
    const struct log_end *end = &reader->end;
    if (end->complete > 1 || end->ended > 1 || end->killed > 1 || end->reserved ||
        !text_ends(end->reason, sizeof(end->reason)) ||
        !text_ends(end->end_reason, sizeof(end->end_reason)))
        return "end out of range";
    if (!end_consistent(end))
        return "end contradicts itself";
    if (end->slots > LOG_MAX_SLOTS || end->slots < reader->slots ||
        item->chunk.length != sizeof(*end) + end->slots * sizeof(struct log_end_thread))
        return "wrong number of threads at the end";
    memcpy(reader->ends, item->payload + sizeof(*end), end->slots * sizeof(reader->ends[0]));
    for (uint32_t slot = 0; slot < end->slots; slot++)
        if (reader->ends[slot].events != reader->events[slot])
            return "the end counts other numbers of events";
    reader->slots = end->slots;
    reader->ended = true;
    return NULL;
}

static const char *take_pad(struct log_reader *reader, const struct log_item *item)
{
    (void)reader;
    return all_zero(item->payload, item->chunk.length) ? NULL : "padding is not zero";
}

/* When a kind may come. */
enum place { PLACE_FIRST, PLACE_CHECKPOINT, PLACE_STREAMS, PLACE_ANYWHERE };

struct rule {
    const char *(*take)(struct log_reader *reader, const struct log_item *item);
    uint32_t least, most; /* bytes of the payload */
    enum place place;
    bool has_slot;
};

#define FIXED(name) sizeof(struct log_##name), sizeof(struct log_##name)
static const struct rule rules[] = {
    [LOG_CHUNK_HEADER] = {take_header, FIXED(header), PLACE_FIRST, false},
    [LOG_CHUNK_VMA] = {take_vma, FIXED(vma), PLACE_CHECKPOINT, false},
    [LOG_CHUNK_THREAD] = {take_thread, sizeof(struct log_thread), LOG_CHUNK_MAX, PLACE_CHECKPOINT,
                          true},
    [LOG_CHUNK_PAGE] = {take_page, sizeof(struct log_page) + LOG_PAGE_SIZE,
                        sizeof(struct log_page) + LOG_PAGE_SIZE, PLACE_CHECKPOINT, false},
    [LOG_CHUNK_BEGIN] = {take_begin, FIXED(begin), PLACE_CHECKPOINT, false},
    [LOG_CHUNK_STREAM] = {take_block, sizeof(struct log_block) + 1, LOG_CHUNK_MAX, PLACE_STREAMS,
                          true},
    [LOG_CHUNK_END] = {take_end, sizeof(struct log_end), LOG_CHUNK_MAX, PLACE_STREAMS, false},
    [LOG_CHUNK_PAD] = {take_pad, 0, LOG_CHUNK_MAX, PLACE_ANYWHERE, false},
};

static const char *place_error(const struct log_reader *reader, enum place place)
{
    bool first = reader->sequence == 0;
    if (first != (place == PLACE_FIRST))
        return first ? "the file does not begin with its header" : "a second header";
    if (place == PLACE_CHECKPOINT && reader->begun)
        return "a part of the checkpoint behind its end";
    if (place == PLACE_STREAMS && !reader->begun)
        return "events before the end of the checkpoint";
    if (reader->ended && place != PLACE_ANYWHERE)
        return "data behind the end of the recording";
    return NULL;
}

static const char *take(struct log_reader *reader, const struct log_item *item)
{
    unsigned kind = item->chunk.kind;
    if (kind == 0 || kind >= sizeof(rules) / sizeof(rules[0]))
        return "unknown kind of chunk";
    const struct rule *rule = &rules[kind];
    const char *error = place_error(reader, rule->place);
    if (error)
        return error;
    if (item->chunk.length < rule->least || item->chunk.length > rule->most)
        return "wrong size of a chunk";
    if (item->chunk.slot >= (rule->has_slot ? LOG_MAX_SLOTS : 1))
        return "thread out of range";
    return rule->take(reader, item);
}

/* --- reading: the file --- */

void log_reader_open(struct log_reader *reader, const struct log_source *source)
{
    memset(reader, 0, sizeof(*reader));
    reader->source = source;
}

bool log_reader_next(struct log_reader *reader, void *buffer, struct log_item *item)
{
    if (reader->verdict != LOG_VERDICT_NONE)
        return false;
    if (reader->ended && reader->offset == reader->source->size) {
        bool complete = reader->end.complete;
        return end_reading(reader, complete ? LOG_VERDICT_COMPLETE : LOG_VERDICT_STOPPED,
                           complete ? NULL : reader->end.reason);
    }
    if (!read_chunk(reader, buffer))
        return false;
    item->offset = reader->offset;
    memcpy(&item->chunk, buffer, sizeof(item->chunk));
    item->payload = (const uint8_t *)buffer + sizeof(item->chunk);
    const char *error = take(reader, item);
    if (error)
        return bad(reader, error);
    reader->offset += LOG_CHUNK_BYTES(item->chunk.length);
    reader->sequence++;
    return true;
}
