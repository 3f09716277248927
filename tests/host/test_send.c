/* SPDX-License-Identifier: MIT */
/* Files as lines of text: what kernel/send_text.c writes, tools/receive.c reads back; every kind of
 * damage is found and named.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "kernel/hash.h"
#include "kernel/send.h"
#include "tests/host/random.h"
#include "tests/host/tap.h"

#define FILE_BYTES 5000 /* seven lines, the last one not full */
#define LINES_MAX 32

static char directory[64] = "build/tests/send-XXXXXX";
static uint8_t content[FILE_BYTES];

/* A capture, line by line. */
static char lines[LINES_MAX][SEND_LINE_MAX + 1];
static unsigned line_count;

static void add_text(const char *text)
{
    snprintf(lines[line_count++], sizeof lines[0], "%s", text);
}

static void add_file(const char *name, const uint8_t *bytes, size_t size)
{
    char text[200];

    snprintf(text, sizeof text, "@file begin name=%s size=%zu\n", name, size);
    add_text(text);
    for (size_t at = 0; at < size; at += SEND_LINE_BYTES) {
        size_t part = size - at < SEND_LINE_BYTES ? size - at : SEND_LINE_BYTES;
        size_t length = send_format_data(lines[line_count], at, bytes + at, part);
        lines[line_count++][length] = '\0';
    }
    snprintf(text, sizeof text, "@file end name=%s size=%zu crc=%08x\n", name, size,
             crc32c(0, bytes, size));
    add_text(text);
}

static void fresh_file(void)
{
    line_count = 0;
    add_file("trace/cpu0", content, FILE_BYTES);
}

static const char *path_of(const char *name)
{
    static char path[200];

    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

/* Runs the tool on the lines; its exit status, and what it says, all of it. */
static int receive(char *said, size_t size)
{
    char command[300];
    FILE *capture = fopen(path_of("capture"), "wb");

    for (unsigned i = 0; i < line_count; i++)
        fputs(lines[i], capture);
    fclose(capture);
    snprintf(command, sizeof command, "build/tools/receive %s/capture %s/out 2>&1", directory,
             directory);
    FILE *pipe = popen(command, "r");
    said[fread(said, 1, size - 1, pipe)] = '\0';
    return WEXITSTATUS(pclose(pipe));
}

static bool file_is(const char *name, const uint8_t *bytes, size_t size)
{
    static uint8_t found[2 * FILE_BYTES];
    FILE *file = fopen(path_of(name), "rb");
    size_t length = file ? fread(found, 1, sizeof found, file) : 0;

    if (file)
        fclose(file);
    return file && length == size && memcmp(found, bytes, size) == 0;
}

static void damaged(const char *what, const char *words)
{
    char said[4000];
    int status = receive(said, sizeof said);

    if (!ok(status == 1 && strstr(said, words), "%s: \"%s\"", what, words))
        diag("status %d, said: %s", status, said);
    ok(access(path_of("out/trace/cpu0"), F_OK) != 0, "%s: no file that looks whole", what);
}

static void test_whole(void)
{
    char said[4000];

    fresh_file();
    is_u64(line_count, 9, "5000 bytes are seven lines between two");
    ok(strlen(lines[1]) < 1024, "a full line has less than 1024 characters");
    add_file("trace/metadata", content, 1);
    add_file("empty", content, 0);
    for (unsigned i = 1; i < 4; i++) { /* what a console adds */
        lines[i][strlen(lines[i]) - 1] = '\0';
        strcat(lines[i], "\r\ncrew> another line\r\n");
    }
    is_u64(receive(said, sizeof said), 0, "three files are received");
    ok(strstr(said, "trace/cpu0: 5000 bytes"), "and named");
    ok(file_is("out/trace/cpu0", content, FILE_BYTES), "as they were sent");
    ok(file_is("out/trace/metadata", content, 1), "one byte");
    ok(file_is("out/empty", content, 0), "no byte");
    line_count = 0;
    add_text("nothing here\n");
    is_u64(receive(said, sizeof said), 1, "no file at all is a failure");
}

static void test_damage(void)
{
    fresh_file();
    lines[3][40] = lines[3][40] == 'A' ? 'B' : 'A';
    damaged("a letter that is another", "damaged line: CRC");
    ok(access(path_of("out/trace/cpu0.damaged"), F_OK) == 0, "the rest of it is kept");
    fresh_file();
    lines[3][100] = '*';
    damaged("a letter that is none", "damaged line");
    fresh_file();
    lines[3][0] = '\0';
    damaged("a lost line", "bytes 1440 to 2160 are missing");
    fresh_file();
    lines[7][0] = '\0';
    damaged("the last line lost", "bytes 4320 to 5000 are missing");
    fresh_file();
    strcpy(lines[4], lines[3]);
    damaged("a line twice", "came already");
    fresh_file();
    lines[8][0] = '\0';
    damaged("no end", "the end of the file is missing");
    fresh_file();
    strcpy(strstr(lines[8], "size="), "size=4999 crc=00000000\n");
    damaged("another size at the end", "the end of another file");
    fresh_file();
    lines[0][0] = '#';
    damaged("no beginning", "data outside of a file");
}

static void test_file_crc(void)
{
    fresh_file();
    strcpy(strstr(lines[8], "crc="), "crc=00000000\n");
    damaged("another CRC of the whole", "CRC of the file");
    fresh_file();
    line_count--; /* the end gives way to another beginning */
    add_file("other", content, 10);
    damaged("a beginning in the middle", "its end is missing");
}

/* Names that would write elsewhere. */
static void test_names(void)
{
    static const char *const names[] = {"../x", "/x", "a/../x", "a/b/c", "a/", ".x", "a/.x", "a b"};
    char said[4000];

    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        line_count = 0;
        add_file(names[i], content, 10);
        ok(receive(said, sizeof said) == 1 && strstr(said, "is damaged"), "refused: \"%s\"",
           names[i]);
    }
}

int main(void)
{
    char command[100];
    uint64_t seed = 3;

    for (unsigned i = 0; i < FILE_BYTES; i++)
        content[i] = (uint8_t)random_u64(&seed);
    mkdir("build/tests", 0777);
    if (!mkdtemp(directory))
        return 1;
    test_whole();
    test_damage();
    test_file_crc();
    test_names();
    snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command) == 0 ? done() : 1;
}
