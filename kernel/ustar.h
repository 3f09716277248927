/* SPDX-License-Identifier: MIT */
/* Reading a POSIX ustar archive in memory; the archive is untrusted.
 *
 * Regular files are delivered, directories skipped; any other kind of entry (links, devices, pax
 * and GNU extensions) is an error, because skipping it could mean a wrong name or content.
 * Pure: no allocation, reads only the archive's bytes.
 */
#ifndef KERNEL_USTAR_H
#define KERNEL_USTAR_H

#include <stddef.h>
#include <stdint.h>

#define USTAR_NAME_MAX 256 /* prefix, '/', name */

struct ustar {
    const uint8_t *data;
    size_t size;
    size_t next;        /* offset of the next header */
    const char *reason; /* after ERR_BAD_ARCHIVE: what is wrong, else NULL */
};

struct ustar_file {
    char name[USTAR_NAME_MAX + 1]; /* without leading "./" */
    const uint8_t *data;           /* inside the archive */
    size_t size;                   /* bytes */
};

/* archive must outlive both structures. */
void ustar_open(struct ustar *archive, const void *data, size_t size);

/* The next regular file. ERR_NOT_FOUND at the end: two blocks of zeros, or the last byte.
 * ERR_BAD_ARCHIVE: archive->reason; every further call returns it again. */
int ustar_next(struct ustar *archive, struct ustar_file *file);

/* The file of that name ("dir/prog"); of several the first. The archive is read up to it only.
 * ERR_NOT_FOUND, or ERR_BAD_ARCHIVE with *reason set (reason may be NULL). */
int ustar_find(const void *data, size_t size, const char *name, struct ustar_file *file,
               const char **reason);

#endif
