/* SPDX-License-Identifier: MIT */
/* Source lines by addr2line: one process, started without a shell, asked one address at a time;
 * each is asked once. It gets no answer in time, or ends: no lines from then on.
 */
#include "tools/crewlog/lines.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/crewlog/tool.h"

#define PATIENCE_MS 20000
#define LINE_MAX_BYTES 4096
#define MAX_LINES 2000000 /* addresses that are remembered, and asked for */

extern char **environ;

/* --- the process --- */

static int spawn(int socket, const char *program, pid_t *process)
{
    char *argv[] = {"addr2line", "-e", (char *)(uintptr_t)program, NULL};
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error)
        return error;
    error = posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&actions, socket, STDOUT_FILENO);
    if (!error)
        error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1, 0);
    if (!error)
        error = posix_spawnp(process, "addr2line", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

void lines_open(struct program *program)
{
    int pair[2];
    pid_t process;
    table_open(&program->lines, sizeof(char *), MAX_LINES);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        die("socketpair: %s", strerror(errno));
    int error = spawn(pair[1], program->name, &process);
    close(pair[1]);
    if (error) {
        close(pair[0]);
        warn("addr2line: %s; names only, no source lines", strerror(error));
        return;
    }
    program->line_socket = pair[0];
    program->line_process = process;
}

static void end_process(struct program *program)
{
    if (program->line_socket < 0)
        return;
    close(program->line_socket);
    program->line_socket = -1;
    kill(program->line_process, SIGKILL);
    waitpid(program->line_process, NULL, 0);
}

void lines_close(struct program *program)
{
    end_process(program);
    for (uint64_t i = 0; i < program->lines.count; i++)
        free(*(char **)table_value(&program->lines, i));
    table_close(&program->lines);
}

/* --- asking --- */

static bool send_all(int socket, const char *text)
{
    size_t length = strlen(text);
    return send(socket, text, length, MSG_NOSIGNAL) == (ssize_t)length;
}

/* A whole line without its end. */
static bool receive_line(int socket, char *line)
{
    size_t used = 0;
    while (used < LINE_MAX_BYTES - 1) {
        struct pollfd poll_for = {.fd = socket, .events = POLLIN};
        if (poll(&poll_for, 1, PATIENCE_MS) <= 0)
            return false;
        ssize_t got = recv(socket, line + used, LINE_MAX_BYTES - 1 - used, 0);
        if (got <= 0)
            return false;
        used += (size_t)got;
        if (line[used - 1] == '\n') {
            line[used - 1] = 0;
            return true;
        }
    }
    return false;
}

/* "/src/user/demo/falseshare.c:34 (discriminator 3)" → "falseshare.c:34"; "" when not known. */
static char *shorten(char *line)
{
    char *end = strstr(line, " (");
    if (end)
        *end = 0;
    char *slash = strrchr(line, '/');
    char *text = slash ? slash + 1 : line;
    for (char *at = text; *at; at++)
        if ((uint8_t)*at < ' ' || *at == 127)
            *at = '?';
    const char *colon = strrchr(text, ':');
    bool known = colon && colon[1] >= '1' && colon[1] <= '9' && text[0] != '?';
    return strdup(known ? text : "");
}

static char *ask(struct program *program, uint64_t address)
{
    char line[LINE_MAX_BYTES], question[32];
    char *text;
    snprintf(question, sizeof(question), "0x%" PRIx64 "\n", address);
    if (program->line_socket >= 0 &&
        (!send_all(program->line_socket, question) || !receive_line(program->line_socket, line))) {
        warn("addr2line gives no answer; no source lines from here on");
        end_process(program);
    }
    text = program->line_socket < 0 ? strdup("") : shorten(line);
    if (!text)
        die("out of memory");
    return text;
}

/* --- remembering --- */

const char *program_line(struct program *program, uint64_t address)
{
    char **text = program->line_socket < 0 && !program->lines.count
                      ? NULL
                      : table_get(&program->lines, address, NULL);
    if (!text)
        return "";
    if (!*text)
        *text = ask(program, address);
    return *text;
}
