/* SPDX-License-Identifier: MIT */
/* Makes files of what the kernel sent as text (kernel/send.h says how the lines look).
 *
 *   receive CAPTURE DIRECTORY
 *
 * CAPTURE is the text of a serial port or a console, `-` for standard input; other lines may stand
 * between, lines may end in CR LF. Every line is checked by its CRC, every file by its size, its
 * offsets and a CRC of its own. A file that is whole is written to DIRECTORY/NAME. Of one that is
 * not everything that is wrong is named, and what there is of it goes to DIRECTORY/NAME.damaged,
 * with zeros where bytes are missing. Of several files of one name the last one counts.
 *
 * Exit status: 0 all files are whole, 1 some are not or there is none, 2 nothing could be done.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

#define NAME_MAX_LENGTH 100
#define SIZE_LIMIT (1ull << 36) /* a larger number is damage */
#define LINE_BYTES_MAX 3072     /* far more than a sender puts on a line */
#define COMPLAINTS_MAX 20       /* a file; the rest is only counted */

struct file {
    bool open;
    char name[NAME_MAX_LENGTH + 1];
    uint64_t size, next; /* next: the offset that should come */
    uint8_t *bytes;
    uint64_t capacity;
    unsigned complaints;
};

struct receiver {
    const char *directory;
    uint64_t line; /* number of the present one */
    struct file file;
    unsigned whole, damaged;
    bool stray_said;
};

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "receive: %s: %s\n", what, why);
    exit(2);
}

__attribute__((format(printf, 2, 3))) static void complain(struct receiver *receiver,
                                                           const char *format, ...)
{
    struct file *file = &receiver->file;
    va_list arguments;
    if (file->complaints++ >= COMPLAINTS_MAX)
        return;
    fprintf(stderr, "receive: line %" PRIu64 ": %s: ", receiver->line,
            file->open ? file->name : "(no file)");
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

/* CRC-32C (Castagnoli), as kernel/hash.h; written anew, so that it checks that one. */
static uint32_t crc32c(const uint8_t *bytes, uint64_t size)
{
    static uint32_t table[256];
    if (!table[1])
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t crc = i;
            for (int bit = 0; bit < 8; bit++)
                crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
            table[i] = crc;
        }
    uint32_t crc = ~0u;
    for (uint64_t i = 0; i < size; i++)
        crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
    return ~crc;
}

static int base64_value(char letter)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = letter ? strchr(letters, letter) : NULL;
    return at ? (int)(at - letters) : -1;
}

/* The whole of text, with its padding, to out; false when it is no base64 or too long. */
static bool base64_decode(const char *text, uint8_t *out, size_t *size)
{
    size_t length = strlen(text), pad = 0;
    *size = 0;
    if (length % 4 != 0 || length / 4 * 3 > LINE_BYTES_MAX)
        return false;
    while (pad < 2 && pad < length && text[length - 1 - pad] == '=')
        pad++;
    for (size_t i = 0; i < length; i += 4) {
        uint32_t bits = 0;
        for (size_t k = 0; k < 4; k++) {
            int value = i + k >= length - pad ? 0 : base64_value(text[i + k]);
            if (value < 0)
                return false;
            bits = bits << 6 | (uint32_t)value;
        }
        for (int k = 0; k < 3; k++)
            out[(*size)++] = (uint8_t)(bits >> (16 - 8 * k));
    }
    *size -= pad;
    return true;
}

/* --- names and files --- */

/* One `/` at most, neither first nor last, and no part that begins with a dot. */
static bool name_is_safe(const char *name)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/";
    const char *slash = strchr(name, '/');
    size_t length = strlen(name);
    if (length == 0 || length > NAME_MAX_LENGTH || strspn(name, allowed) != length)
        return false;
    if (name[0] == '.' || name[0] == '/' || name[length - 1] == '/')
        return false;
    return !slash || (!strchr(slash + 1, '/') && slash[1] != '.');
}

static void make_directory(const char *path)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        fail(path, strerror(errno));
}

static void write_file(struct receiver *receiver, const char *suffix)
{
    const struct file *file = &receiver->file;
    char path[4096];
    const char *slash = strchr(file->name, '/');
    make_directory(receiver->directory);
    if (slash) {
        snprintf(path, sizeof(path), "%s/%.*s", receiver->directory, (int)(slash - file->name),
                 file->name);
        make_directory(path);
    }
    snprintf(path, sizeof(path), "%s/%s", receiver->directory, file->name);
    if (*suffix)
        remove(path); /* an older one would be taken for this */
    snprintf(path, sizeof(path), "%s/%s%s", receiver->directory, file->name, suffix);
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(file->bytes, 1, file->next, out) != file->next || fclose(out) != 0)
        fail(path, strerror(errno));
}

static void close_file(struct receiver *receiver)
{
    struct file *file = &receiver->file;
    if (file->complaints == 0) {
        write_file(receiver, "");
        printf("%s: %" PRIu64 " bytes\n", file->name, file->size);
        receiver->whole++;
    } else {
        if (file->complaints > COMPLAINTS_MAX)
            fprintf(stderr, "receive: %s: %u more\n", file->name,
                    file->complaints - COMPLAINTS_MAX);
        write_file(receiver, ".damaged");
        printf("%s: damaged\n", file->name);
        receiver->damaged++;
    }
    file->open = false;
}

/* Zeros up to `end`, for what has not come yet. */
static void reserve(struct file *file, uint64_t end)
{
    if (end <= file->capacity)
        return;
    uint64_t capacity = end + end / 2 + 4096;
    file->bytes = realloc(file->bytes, capacity);
    if (!file->bytes)
        fail(file->name, "out of memory");
    memset(file->bytes + file->capacity, 0, capacity - file->capacity);
    file->capacity = capacity;
}

/* --- lines --- */

static void begin_line(struct receiver *receiver, const char *rest)
{
    struct file *file = &receiver->file;
    char name[NAME_MAX_LENGTH + 1];
    uint64_t size;
    int used = 0;
    if (file->open) {
        complain(receiver, "another file begins, its end is missing");
        close_file(receiver);
    }
    if (sscanf(rest, "name=%100s size=%" SCNu64 "%n", name, &size, &used) != 2 || rest[used] ||
        !name_is_safe(name) || size > SIZE_LIMIT) {
        file->complaints = 0;
        complain(receiver, "this beginning of a file is damaged: %s", rest);
        receiver->damaged++;
        receiver->stray_said = true; /* its data will follow */
        return;
    }
    free(file->bytes);
    *file = (struct file){.open = true, .size = size};
    memcpy(file->name, name, sizeof(file->name));
    receiver->stray_said = false;
}

static void place_data(struct receiver *receiver, uint64_t offset, const uint8_t *bytes,
                       size_t size)
{
    struct file *file = &receiver->file;
    if (offset > file->size || size > file->size - offset) {
        complain(receiver, "bytes %" PRIu64 " to %" PRIu64 " lie behind the end of the file",
                 offset, offset + size);
        return;
    }
    if (offset > file->next)
        complain(receiver, "bytes %" PRIu64 " to %" PRIu64 " are missing", file->next, offset);
    if (offset < file->next)
        complain(receiver, "bytes from %" PRIu64 " on came already", offset);
    reserve(file, offset + size);
    memcpy(file->bytes + offset, bytes, size);
    if (offset + size > file->next)
        file->next = offset + size;
}

static void data_line(struct receiver *receiver, const char *rest)
{
    uint8_t bytes[LINE_BYTES_MAX];
    uint64_t offset;
    uint32_t crc;
    size_t size;
    int used = 0;
    if (!receiver->file.open) {
        if (!receiver->stray_said) {
            receiver->file.complaints = 0;
            complain(receiver, "data outside of a file");
            receiver->damaged++;
        }
        receiver->stray_said = true;
        return;
    }
    if (sscanf(rest, "%" SCNu64 " %8" SCNx32 " %n", &offset, &crc, &used) != 2 || used == 0 ||
        !base64_decode(rest + used, bytes, &size)) {
        complain(receiver, "damaged line");
        return;
    }
    if (crc32c(bytes, size) != crc) {
        complain(receiver, "damaged line: CRC %08" PRIx32 ", expected %08" PRIx32,
                 crc32c(bytes, size), crc);
        return;
    }
    place_data(receiver, offset, bytes, size);
}

static void end_line(struct receiver *receiver, const char *rest)
{
    struct file *file = &receiver->file;
    char name[NAME_MAX_LENGTH + 1];
    uint64_t size;
    uint32_t crc;
    int used = 0;
    if (!file->open)
        return; /* said when it began, or when its first data came */
    if (sscanf(rest, "name=%100s size=%" SCNu64 " crc=%8" SCNx32 "%n", name, &size, &crc, &used) !=
            3 ||
        rest[used])
        complain(receiver, "this end of a file is damaged: %s", rest);
    else if (strcmp(name, file->name) != 0 || size != file->size)
        complain(receiver, "the end of another file: %s", rest);
    else if (file->next < file->size)
        complain(receiver, "bytes %" PRIu64 " to %" PRIu64 " are missing", file->next, file->size);
    else if (crc32c(file->bytes, file->size) != crc)
        complain(receiver, "CRC of the file %08" PRIx32 ", expected %08" PRIx32,
                 crc32c(file->bytes, file->size), crc);
    close_file(receiver);
}

static const char *after(const char *line, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(line, prefix, length) == 0 ? line + length : NULL;
}

static void take_line(struct receiver *receiver, char *line)
{
    const char *rest;
    line[strcspn(line, "\r\n")] = '\0';
    receiver->line++;
    if ((rest = after(line, "@data ")) != NULL)
        data_line(receiver, rest);
    else if ((rest = after(line, "@file begin ")) != NULL)
        begin_line(receiver, rest);
    else if ((rest = after(line, "@file end ")) != NULL)
        end_line(receiver, rest);
}

int main(int count, char **words)
{
    if (count != 3) {
        fprintf(stderr, "usage: receive CAPTURE DIRECTORY\n");
        return 2;
    }
    FILE *capture = strcmp(words[1], "-") == 0 ? stdin : fopen(words[1], "rb");
    if (!capture)
        fail(words[1], strerror(errno));
    struct receiver receiver = {.directory = words[2]};
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, capture) >= 0)
        take_line(&receiver, line);
    if (ferror(capture))
        fail(words[1], strerror(errno));
    if (receiver.file.open) {
        complain(&receiver, "the end of the file is missing");
        close_file(&receiver);
    }
    if (receiver.whole + receiver.damaged == 0)
        fprintf(stderr, "receive: %s: there is no file in it\n", words[1]);
    free(line);
    free(receiver.file.bytes);
    fclose(capture);
    return receiver.damaged == 0 && receiver.whole > 0 ? 0 : 1;
}
