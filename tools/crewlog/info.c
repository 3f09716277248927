/* SPDX-License-Identifier: MIT */
/* crewlog info: what a recording is. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/crewlog/image.h"
#include "tools/crewlog/log.h"

/* --- fields by their forms --- */

static void print_text(const char *text, uint64_t size)
{
    for (uint64_t i = 0; i < size && text[i]; i++) {
        uint8_t byte = (uint8_t)text[i];
        if (byte < ' ' || byte > '~')
            printf("\\x%02x", byte);
        else
            putchar(byte);
    }
}

static void print_words(const char *words, uint64_t size, uint64_t count)
{
    for (uint64_t at = 0, word = 0; word < count && at < size; word++) {
        if (word)
            putchar(' ');
        print_text(words + at, size - at);
        at += strnlen(words + at, size - at) + 1;
    }
}

static void print_bytes(const void *bytes, uint64_t size)
{
    const uint8_t *at = bytes;
    uint64_t shown = size > 32 ? 16 : size;
    for (uint64_t i = 0; i < shown; i++)
        printf("%02x", at[i]);
    if (shown < size)
        printf("… (%" PRIu64 " bytes)", size);
}

#define PRINT_NUMBER(name) printf("%" PRIu64, (uint64_t)of->name);
#define PRINT_HEX(name) printf("0x%" PRIx64, (uint64_t)of->name);
#define PRINT_TEXT(name) print_text(of->name, sizeof(of->name));
#define PRINT_BYTES(name) print_bytes(of->name, sizeof(of->name));
#define PRINT_WORDS(name) print_words(of->name, sizeof(of->name), of->argument_count);
#define F(type, name, count, form)                                                                 \
    printf("  %-22s ", #name);                                                                     \
    PRINT_##form(name) putchar('\n');

static void print_header(const struct log_header *of)
{
    LOG_HEADER_FIELDS(F)
}

static void print_end(const struct log_end *of)
{
    LOG_END_FIELDS(F)
}

/* --- numbers --- */

static void print_threads(const struct log *log)
{
    const struct log_reader *reader = &log->reader;
    printf("threads\n  %4s %12s %12s %12s\n", "slot", "events", "bytes", "ticks");
    for (uint32_t slot = 0; slot < reader->slots; slot++) {
        printf("  %4u %12" PRIu64 " %12" PRIu64, slot, reader->events[slot],
               log->index[slot].bytes);
        if (reader->ended)
            printf(" %12" PRIu64 "\n", reader->ends[slot].ticks);
        else
            printf(" %12s\n", "?");
    }
}

static void print_summary(const struct log *log)
{
    const struct log_reader *reader = &log->reader;
    const struct log_header *header = &reader->header;
    printf("%s: a recording of %" PRIu64 " bytes\n  command                ", log->name, log->size);
    print_words(header->arguments, sizeof(header->arguments), header->argument_count);
    printf("\n  ticks                  %s, by %s\n", log_unit_name(header->unit), header->source);
}

static void info_recording(const struct log *log)
{
    const struct log_reader *reader = &log->reader;
    char text[256];
    print_summary(log);
    printf("header\n");
    print_header(&reader->header);
    printf("checkpoint%s\n  mappings %u, threads %u, pages that are not zero %" PRIu64 "\n",
           reader->begun ? "" : " (not whole)", reader->found.vmas, reader->found.threads,
           reader->found.pages);
    print_threads(log);
    if (reader->ended) {
        printf("end\n");
        print_end(&reader->end);
    }
    printf("%s\n", log_verdict_text(log, text, sizeof(text)));
}

/* A disk is not a recording; what is on it is told instead. */
static bool info_image(const char *name)
{
    static struct image image;
    uint64_t size;
    if (access(name, F_OK) != 0)
        return false;
    const uint8_t *bytes = file_map(name, &size);
    bool is_image = image_recognize(bytes, size);
    if (is_image) {
        image_open(&image, name, bytes, size);
        image_list(&image);
    }
    file_unmap(bytes, size);
    return is_image;
}

enum status command_info(char **argv)
{
    struct options options;
    static struct log log;
    options_parse(&options, argv, "", 1, 1);
    if (info_image(options.files[0]))
        return STATUS_FINE;
    log_open(&log, options.files[0]);
    info_recording(&log);
    enum status status = log_status(&log);
    log_close(&log);
    return status;
}
