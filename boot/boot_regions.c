/* SPDX-License-Identifier: MIT */
/* A sorted list of memory regions. Pure: runs in the host tests, too.
 */
#include "boot/boot_regions.h"

#include "kernel/string.h"

static uint64_t page_down(uint64_t address)
{
    return address & ~(BOOT_PAGE - 1);
}

static uint64_t page_up(uint64_t address)
{
    if (address > UINT64_MAX - (BOOT_PAGE - 1))
        return page_down(UINT64_MAX);
    return page_down(address + BOOT_PAGE - 1);
}

static void remove_at(struct boot_region *regions, uint32_t *count, uint32_t index)
{
    (*count)--;
    memmove(&regions[index], &regions[index + 1], (*count - index) * sizeof(*regions));
}

static uint32_t find_smallest(const struct boot_region *regions, uint32_t count)
{
    uint32_t smallest = 0;

    for (uint32_t i = 1; i < count; i++)
        if (regions[i].end - regions[i].start < regions[smallest].end - regions[smallest].start)
            smallest = i;
    return smallest;
}

/* Inserts a region that touches none of the others. */
static void insert(struct boot_region *regions, uint32_t *count, uint64_t start, uint64_t end)
{
    uint32_t at = 0;

    if (*count == BOOT_MAX_REGIONS) {
        uint32_t smallest = find_smallest(regions, *count);
        if (regions[smallest].end - regions[smallest].start >= end - start)
            return;
        remove_at(regions, count, smallest);
    }
    while (at < *count && regions[at].start < start)
        at++;
    memmove(&regions[at + 1], &regions[at], (*count - at) * sizeof(*regions));
    regions[at] = (struct boot_region){start, end};
    (*count)++;
}

void boot_regions_add(struct boot_region *regions, uint32_t *count, uint64_t start, uint64_t end)
{
    start = page_up(start);
    end = page_down(end);
    if (start >= end)
        return;
    for (uint32_t i = 0; i < *count;) {
        if (regions[i].start > end || regions[i].end < start) {
            i++;
            continue;
        }
        if (regions[i].start < start)
            start = regions[i].start;
        if (regions[i].end > end)
            end = regions[i].end;
        remove_at(regions, count, i);
    }
    insert(regions, count, start, end);
}

void boot_regions_cut(struct boot_region *regions, uint32_t *count, uint64_t start, uint64_t end)
{
    if (start >= end)
        return;
    start = page_down(start);
    end = page_up(end);
    for (uint32_t i = 0; i < *count;) {
        struct boot_region region = regions[i];
        if (region.start >= end || region.end <= start) {
            i++;
            continue;
        }
        remove_at(regions, count, i);
        if (region.start < start)
            insert(regions, count, region.start, start);
        if (region.end > end)
            insert(regions, count, end, region.end);
        i = 0; /* inserting may have dropped a region anywhere */
    }
}
