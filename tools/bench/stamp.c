/* SPDX-License-Identifier: MIT */
/* stamp: copies standard input to standard output, and puts before each line when it came: the
 * nanoseconds since stamp began. The last line is `NS end`, when the input ended.
 *
 * For timing QEMU from outside: under its own record and replay the guest's clock is not the
 * host's.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t now_ns(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) {
        perror("stamp: clock_gettime");
        exit(1);
    }
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int main(void)
{
    uint64_t started = now_ns();
    char *line = NULL;
    size_t size = 0;
    ssize_t length;

    while ((length = getline(&line, &size, stdin)) >= 0) {
        uint64_t at = now_ns() - started;
        while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
            line[--length] = 0;
        printf("%llu %s\n", (unsigned long long)at, line);
    }
    printf("%llu end\n", (unsigned long long)(now_ns() - started));
    free(line);
    if (ferror(stdin) || fflush(stdout) != 0) {
        perror("stamp");
        return 1;
    }
    return 0;
}
