/* SPDX-License-Identifier: MIT */
/* Recordings in the image of a disk (replay/store.h), which is only read. */
#ifndef TOOLS_CREWLOG_IMAGE_H
#define TOOLS_CREWLOG_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/store.h"

/* Large. */
struct image {
    const char *name;
    const uint8_t *bytes;
    uint64_t size;
    struct store_device device;
    struct store store;
};

/* Whether the bytes look like a disk that the kernel formatted. */
bool image_recognize(const uint8_t *bytes, uint64_t size);
/* Ends the program when the image is damaged. The bytes stay the caller's. */
void image_open(struct image *image, const char *name, const uint8_t *bytes, uint64_t size);

/* Where a recording lies: all bytes that are its own. Of one that was still being written, all of
 * its extent: only the recording itself says where it ends. False: there is none of that name. */
bool image_find(const struct image *image, const char *name, const uint8_t **bytes, uint64_t *size);
void image_list(const struct image *image);

#endif
