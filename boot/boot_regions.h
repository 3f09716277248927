/* SPDX-License-Identifier: MIT */
/* A sorted list of memory regions: whole pages, neither touching nor overlapping one another.
 *
 * At most BOOT_MAX_REGIONS; when there are more, the smallest is dropped.
 */
#ifndef BOOT_BOOT_REGIONS_H
#define BOOT_BOOT_REGIONS_H

#include <stdint.h>
#include "boot/boot_info.h"

#define BOOT_PAGE 4096ull

/* Adds the whole pages in [start, end). */
void boot_regions_add(struct boot_region *regions, uint32_t *count, uint64_t start, uint64_t end);

/* Takes away every page that [start, end) touches. */
void boot_regions_cut(struct boot_region *regions, uint32_t *count, uint64_t start, uint64_t end);

#endif
