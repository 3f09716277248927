/* SPDX-License-Identifier: MIT */
/* Events as text. */
#include "replay/event_text.h"

#include "arch/x86/vectors.h"
#include "kernel/names.h"
#include "kernel/printf.h"
#include "kernel/recorder.h"
#include "replay/point.h"

struct text {
    char *out;
    unsigned size, used;
};

static void add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *text, const char *format, ...)
{
    va_list arguments;
    if (text->used >= text->size)
        return;
    va_start(arguments, format);
    text->used += (unsigned)format_text_va(text->out + text->used, text->size - text->used, format,
                                           arguments);
    va_end(arguments);
}

static const char *value_name(uint64_t kind)
{
    switch (kind) {
#define X(number, name, text)                                                                      \
    case number:                                                                                   \
        return text;
        VALUE_TABLE(X)
#undef X
    }
    return "?";
}

static void add_operands(struct text *text, const struct log_event *event)
{
    unsigned long long a = event->a, b = event->b;
    switch (event->kind) {
    case LOG_SYSCALL:
        add(text, " %llu %s", a, syscall_name_x86_64(a));
        break;
    case LOG_RESULT:
        add(text, " %lld", (long long)a);
        break;
    case LOG_ORDER:
        add(text, " %s", object_name((enum object_id)a));
        break;
    case LOG_VALUE:
        add(text, " %s %lld", value_name(a), (long long)b);
        break;
    case LOG_OWNER:
        add(text, " %llu pages, hash 0x%llx", a, b);
        break;
    case LOG_EXIT:
        add(text, " status %llu", a);
        break;
    case LOG_FATAL:
        add(text, " %s error 0x%llx address 0x%llx", vector_mnemonic((unsigned)(uint32_t)a),
            a >> 32, b);
        break;
    }
}

int event_format(char *out, unsigned size, uint64_t number, const struct log_event *event)
{
    struct text text = {.out = out, .size = size};
    char point[96];
    unsigned fields = log_kind_fields(event->kind);
    add(&text, "%llu %s", (unsigned long long)number, log_kind_name(event->kind));
    if (fields & LOG_FIELD_PAGE)
        add(&text, " page 0x%llx", (unsigned long long)event->page);
    if (fields & LOG_FIELD_RIGHTS)
        add(&text, " %s", log_rights_name(event->rights));
    add_operands(&text, event);
    for (unsigned i = 0; i < event->dep_count; i++)
        add(&text, "%s%u:%llu", i ? " " : " after ", event->deps[i].slot,
            (unsigned long long)event->deps[i].event);
    point_format(point, sizeof(point), &event->point);
    add(&text, " @ %s", point);
    return (int)text.used;
}
