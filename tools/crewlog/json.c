/* SPDX-License-Identifier: MIT */
/* Writing JSON. */
#include "tools/crewlog/json.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool first = true; /* of the members of the innermost object, or of a list's items */

static void comma(void)
{
    if (!first)
        putchar(',');
    first = false;
}

static void begin(const char *name)
{
    comma();
    printf("\"%s\":", name); /* names are our own */
}

void json_open(void)
{
    putchar('{');
    first = true;
}

void json_close(void)
{
    fputs("}\n", stdout);
    first = true;
}

void json_list(const char *name)
{
    begin(name);
    putchar('[');
    first = true;
}

void json_list_item(void)
{
    comma();
    putchar('{');
    first = true;
}

void json_list_item_end(void)
{
    putchar('}');
    first = false;
}

void json_list_number(uint64_t number)
{
    comma();
    printf("%" PRIu64, number);
}

void json_list_end(void)
{
    putchar(']');
    first = false;
}

void json_quote(const char *text, uint64_t size)
{
    putchar('"');
    for (uint64_t i = 0; i < size && text[i]; i++) {
        uint8_t byte = (uint8_t)text[i];
        if (byte == '"' || byte == '\\')
            printf("\\%c", byte);
        else if (byte < ' ' || byte > '~' || byte == '<')
            printf("\\u%04x", byte);
        else
            putchar(byte);
    }
    putchar('"');
}

void json_text(const char *name, const char *text, uint64_t size)
{
    begin(name);
    json_quote(text, size);
}

void json_string(const char *name, const char *text)
{
    json_text(name, text, strlen(text));
}

void json_number(const char *name, uint64_t number)
{
    begin(name);
    printf("%" PRIu64, number);
}

void json_hex(const char *name, uint64_t number)
{
    begin(name);
    printf("\"0x%" PRIx64 "\"", number);
}

void json_bool(const char *name, int value)
{
    begin(name);
    fputs(value ? "true" : "false", stdout);
}

void json_bytes(const char *name, const void *bytes, uint64_t size)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *at = bytes;
    begin(name);
    putchar('"');
    for (uint64_t i = 0; i < size; i++) {
        putchar(digits[at[i] >> 4]);
        putchar(digits[at[i] & 15]);
    }
    putchar('"');
}

void json_words(const char *name, const char *words, uint64_t size, uint64_t count)
{
    begin(name);
    putchar('[');
    for (uint64_t at = 0, word = 0; word < count && at < size; word++) {
        if (word)
            putchar(',');
        json_quote(words + at, size - at);
        at += strnlen(words + at, size - at) + 1;
    }
    putchar(']');
}

/* --- the structures --- */

#define PUT_NUMBER(name, count) json_number(#name, (uint64_t)of->name);
#define PUT_HEX(name, count) json_hex(#name, (uint64_t)of->name);
#define PUT_TEXT(name, count) json_text(#name, of->name, sizeof(of->name));
#define PUT_BYTES(name, count) json_bytes(#name, of->name, sizeof(of->name));
#define PUT_WORDS(name, count) json_words(#name, of->name, sizeof(of->name), of->argument_count);

#define F(type, name, count, form) PUT_##form(name, count)
#define STRUCT(kind, FIELDS, bytes)                                                                \
    void json_##kind(const struct log_##kind *of)                                                  \
    {                                                                                              \
        FIELDS(F)                                                                                  \
    }
LOG_STRUCT_TABLE(STRUCT)
