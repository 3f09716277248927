/* SPDX-License-Identifier: MIT */
/* The event coder: deltas against the event before, as variable-length numbers. */
#include "replay/log_codec.h"

#include "kernel/string.h"

#define PAGE_BITS 12
#define PAGE_NUMBER_LIMIT (1ull << (64 - PAGE_BITS))

struct kind_row {
    const char *name;
    bool asynchronous;
    uint8_t fields;
    bool known;
};

static const struct kind_row kinds[] = {
#define E(number, name, text, asynchronous, fields) [number] = {text, asynchronous, fields, true},
    LOG_EVENT_TABLE(E)
#undef E
};

static const struct kind_row *kind_find(unsigned kind)
{
    if (kind >= sizeof(kinds) / sizeof(kinds[0]) || !kinds[kind].known)
        return NULL;
    return &kinds[kind];
}

const char *log_kind_name(unsigned kind)
{
    const struct kind_row *row = kind_find(kind);
    return row ? row->name : "?";
}

bool log_kind_asynchronous(unsigned kind)
{
    const struct kind_row *row = kind_find(kind);
    return row && row->asynchronous;
}

unsigned log_kind_fields(unsigned kind)
{
    const struct kind_row *row = kind_find(kind);
    return row ? row->fields : ~0u;
}

const char *log_rights_name(unsigned rights)
{
    static const char *const names[] = {"none",         "read",         "write",        "?",
                                        "none execute", "read execute", "write execute"};
    return rights < sizeof(names) / sizeof(names[0]) ? names[rights] : "?";
}

bool log_point_equal(const struct log_point *left, const struct log_point *right)
{
    return left->ticks == right->ticks && left->rip == right->rip && left->rcx == right->rcx &&
           left->check == right->check;
}

/* --- writing --- */

static uint8_t *put_varint(uint8_t *out, uint64_t value)
{
    while (value >= 0x80) {
        *out++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *out++ = (uint8_t)value;
    return out;
}

static uint8_t *put_svarint(uint8_t *out, uint64_t difference)
{
    uint64_t sign = difference >> 63 ? ~0ull : 0;
    return put_varint(out, difference << 1 ^ sign);
}

static uint8_t *put_u32(uint8_t *out, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        *out++ = (uint8_t)(value >> (8 * i));
    return out;
}

static uint8_t *put_point(struct log_coder *coder, const struct log_point *point, uint8_t *out)
{
    out = put_varint(out, point->ticks - coder->point.ticks);
    out = put_svarint(out, point->rip - coder->point.rip);
    out = put_svarint(out, point->rcx - coder->point.rcx);
    out = put_u32(out, point->check);
    coder->point = *point;
    return out;
}

size_t log_encode(struct log_coder *coder, const struct log_event *event, uint8_t *out)
{
    uint8_t *at = out;
    unsigned fields = log_kind_fields(event->kind);
    bool same = log_point_equal(&event->point, &coder->point);
    *at++ = (uint8_t)(event->kind | (same ? LOG_SAME_POINT : 0));
    if (!same)
        at = put_point(coder, &event->point, at);
    if (fields & LOG_FIELD_PAGE) {
        uint64_t number = event->page >> PAGE_BITS;
        at = put_svarint(at, number - coder->page_number);
        coder->page_number = number;
    }
    if (fields & LOG_FIELD_RIGHTS)
        *at++ = event->rights;
    if (fields & LOG_FIELD_A)
        at = put_varint(at, event->a);
    if (fields & LOG_FIELD_B)
        at = put_varint(at, event->b);
    if (fields & LOG_FIELD_DEPS) {
        at = put_varint(at, event->dep_count);
        for (unsigned i = 0; i < event->dep_count; i++) {
            at = put_varint(at, event->deps[i].slot);
            at = put_varint(at, event->deps[i].event);
        }
    }
    return (size_t)(at - out);
}

/* --- reading --- */

struct reader {
    const uint8_t *at, *end;
    const char *reason; /* the first offence; everything read after it is 0 */
};

static void offend(struct reader *reader, const char *reason)
{
    if (!reader->reason)
        reader->reason = reason;
}

static uint8_t get_u8(struct reader *reader)
{
    if (reader->at == reader->end) {
        offend(reader, "event is cut off");
        return 0;
    }
    return *reader->at++;
}

static uint64_t get_varint(struct reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = get_u8(reader);
        if (shift == 63 && byte > 1)
            break;
        if (shift && byte == 0) /* put_varint writes no such group */
            offend(reader, "number longer than it need be");
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    offend(reader, "number of more than 64 bits");
    return 0;
}

static uint64_t get_svarint(struct reader *reader)
{
    uint64_t value = get_varint(reader);
    return value >> 1 ^ (value & 1 ? ~0ull : 0);
}

static void get_point(struct log_coder *coder, struct reader *reader)
{
    uint64_t delta = get_varint(reader);
    if (coder->point.ticks + delta < delta)
        offend(reader, "tick count beyond 64 bits");
    coder->point.ticks += delta;
    coder->point.rip += get_svarint(reader);
    coder->point.rcx += get_svarint(reader);
    coder->point.check = 0;
    for (int i = 0; i < 4; i++)
        coder->point.check |= (uint32_t)get_u8(reader) << (8 * i);
}

static void get_page(struct log_coder *coder, struct reader *reader, struct log_event *event)
{
    uint64_t number = coder->page_number + get_svarint(reader);
    if (number >= PAGE_NUMBER_LIMIT)
        offend(reader, "page number out of range");
    coder->page_number = number;
    event->page = number << PAGE_BITS;
}

static void get_deps(struct reader *reader, struct log_event *event)
{
    uint64_t count = get_varint(reader);
    if (count > LOG_MAX_DEPS) {
        offend(reader, "too many dependencies");
        return;
    }
    event->dep_count = (uint8_t)count;
    for (unsigned i = 0; i < count; i++) {
        uint64_t slot = get_varint(reader);
        event->deps[i].event = get_varint(reader);
        if (slot >= LOG_MAX_SLOTS || event->deps[i].event == 0)
            offend(reader, "dependency out of range");
        event->deps[i].slot = (uint32_t)slot;
    }
}

static void get_fields(struct log_coder *coder, struct reader *reader, struct log_event *event)
{
    unsigned fields = log_kind_fields(event->kind);
    if (fields & LOG_FIELD_PAGE)
        get_page(coder, reader, event);
    if (fields & LOG_FIELD_RIGHTS) {
        event->rights = get_u8(reader);
        if ((event->rights & LOG_RIGHTS_MASK) > LOG_RIGHTS_WRITE ||
            (event->rights & ~(LOG_RIGHTS_MASK | LOG_RIGHTS_EXECUTE)))
            offend(reader, "unknown rights");
    }
    if (fields & LOG_FIELD_A)
        event->a = get_varint(reader);
    if (fields & LOG_FIELD_B)
        event->b = get_varint(reader);
    if (fields & LOG_FIELD_DEPS)
        get_deps(reader, event);
}

size_t log_decode(struct log_coder *coder, const uint8_t *bytes, size_t size,
                  struct log_event *event, const char **reason)
{
    struct reader reader = {.at = bytes, .end = bytes + size};
    memset(event, 0, offsetof(struct log_event, deps));
    uint8_t first = get_u8(&reader);
    event->kind = first & (uint8_t)~LOG_SAME_POINT;
    if (!kind_find(event->kind))
        offend(&reader, "unknown kind of event");
    if (!reader.reason && !(first & LOG_SAME_POINT))
        get_point(coder, &reader);
    event->point = coder->point;
    if (!reader.reason)
        get_fields(coder, &reader, event);
    *reason = reader.reason;
    return reader.reason ? 0 : (size_t)(reader.at - bytes);
}
