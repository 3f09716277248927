/* SPDX-License-Identifier: MIT */
/* Files, mapped for reading, and what those are that are no recordings. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/crewlog/log.h"

/* A page of a mapped file that cannot be read: it became shorter, or its disk fails. */
static void cannot_read(int number)
{
    static const char text[] = "crewlog: a file became shorter or unreadable meanwhile\n";
    (void)number;
    if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
        _exit(STATUS_ERROR);
    _exit(STATUS_ERROR);
}

static void map(int file, const char *name, const uint8_t **bytes, uint64_t size)
{
    struct sigaction action = {.sa_handler = cannot_read};
    sigaction(SIGBUS, &action, NULL);
    *bytes = NULL;
    if (size == 0)
        return;
    void *mapped = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapped == MAP_FAILED)
        die("%s: %s", name, strerror(errno));
    *bytes = mapped;
}

const uint8_t *file_map(const char *name, uint64_t *size)
{
    const uint8_t *bytes;
    struct stat status;
    /* Not to wait for a writer of a pipe. */
    int file = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 || fstat(file, &status) != 0)
        die("%s: %s", name, strerror(errno));
    if (!S_ISREG(status.st_mode))
        die("%s: not a regular file", name);
    *size = (uint64_t)status.st_size;
    map(file, name, &bytes, *size);
    close(file);
    return bytes;
}

void file_unmap(const uint8_t *bytes, uint64_t size)
{
    if (bytes)
        munmap((void *)(uintptr_t)bytes, size);
}

static const struct {
    uint32_t offset, length;
    const char *magic;
    const char *kind;
} kinds[] = {
    {0, 4, "\177ELF", "an ELF file"},
    {257, 5, "ustar", "a tar archive"},
    {0, 2, "\037\213", "compressed by gzip"},
    {0, 6, "\3757zXZ\0", "compressed by xz"},
    {0, 4, "(\265/\375", "compressed by zstd"},
    {0, 2, "PK", "a zip archive"},
    {0, 2, "#!", "a script"},
};

const char *file_kind(const uint8_t *bytes, uint64_t size)
{
    if (size == 0)
        return "empty";
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (size >= kinds[i].offset + kinds[i].length &&
            memcmp(bytes + kinds[i].offset, kinds[i].magic, kinds[i].length) == 0)
            return kinds[i].kind;
    return "";
}
