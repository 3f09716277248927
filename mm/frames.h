/* SPDX-License-Identifier: MIT */
/* Physical memory in 4 KiB frames: a buddy allocator over the boot loader's available regions.
 *
 * Frames are named by their physical address; 0 means none (frame 0 is never handed out). Memory is
 * reached through PHYS_TO_VIRT. Double frees, frees of what was never handed out, and (DEBUG
 * builds: frames are poisoned when freed) writes to free frames are panics that name the frame.
 *
 * Locks: frames lock (LOCK_FRAMES), interrupts off. Any context but NMI.
 */
#ifndef MM_FRAMES_H
#define MM_FRAMES_H

#include <stdbool.h>
#include <stdint.h>
#include "boot/boot_info.h"

#define FRAME_MAX_ORDER 10 /* the largest block: 4 MiB */

/* Regions up to `limit` (what the boot page tables map) come first, since the tables of the
 * final direct map are built from them; frames_add_rest() brings the others. */
void frames_init(const struct boot_info *info, uint64_t limit);
void frames_add_rest(const struct boot_info *info, uint64_t limit);

uint64_t frame_alloc(void);      /* contents undefined */
uint64_t frame_alloc_zero(void); /* all bytes 0 */
void frame_free(uint64_t frame);

/* 2^order contiguous frames, naturally aligned; freed with the same order. */
uint64_t frames_alloc(unsigned order);
void frames_free(uint64_t frame, unsigned order);

struct frames_stats {
    uint64_t total, free, largest_free; /* frames; the last: frames in the largest free block */
};
void frames_get_stats(struct frames_stats *out);

#endif
