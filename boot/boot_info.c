/* SPDX-License-Identifier: MIT */
/* Reads what the boot loader handed over, multiboot 1 or 2, into boot_info.
 *
 * Nothing the loader says is trusted: sizes are checked before anything is read, strings are cut,
 * regions may overlap, wrap or come in any order. Memory is reached through BOOT_PHYSICAL() only,
 * so that the host tests can run this file on images of their own. Context: boot CPU, once.
 */
#include "boot/boot_info.h"

#include <stdbool.h>
#include <stddef.h>
#include "boot/boot_regions.h"
#include "boot/multiboot.h"
#include "kernel/string.h"

#ifndef BOOT_PHYSICAL
#include "arch/x86/layout.h"
#define BOOT_PHYSICAL(address) PHYS_TO_VIRT(address)
#define BOOT_IMAGE_START IMAGE_TO_PHYS(image_start)
#define BOOT_IMAGE_END IMAGE_TO_PHYS(image_end)
#endif

#define MIB 0x100000ull
#define GIB 0x40000000ull
#define LOW_PAGE_MIN 0x1000ull
#define LOW_PAGE_END 0xa0000ull

struct boot_info boot_info;

/* Memory of the loader's, readable up to 4 GiB; NULL when it reaches beyond. */
static const void *loader_memory(uint64_t address, uint64_t length)
{
    if (address == 0 || address >= 4 * GIB || length > 4 * GIB - address)
        return NULL;
    return BOOT_PHYSICAL(address);
}

/* At most `limit` bytes of text, cut to the room there is. */
static void copy_text(char *to, size_t size, const char *from, uint64_t limit)
{
    size_t length = 0;

    if (from)
        length = strnlen(from, limit < size - 1 ? limit : size - 1);
    if (length)
        memcpy(to, from, length);
    to[length] = 0;
}

static void copy_text_at(char *to, size_t size, uint64_t address)
{
    const char *from = loader_memory(address, 1);
    copy_text(to, size, from, from ? 4 * GIB - address : 0);
}

/* QEMU puts its -kernel argument first; GRUB versions differ, but theirs is an absolute path or
 * starts with a device, "(cd0)/boot/…". */
static void cmdline_drop_path(struct boot_info *info)
{
    char *text = info->cmdline;
    bool named = strncmp(info->loader, "qemu", 4) == 0 || text[0] == '/' || text[0] == '(';

    if (!named)
        return;
    while (*text != 0 && *text != ' ')
        text++;
    while (*text == ' ')
        text++;
    memmove(info->cmdline, text, strlen(text) + 1);
}

static void add_module(struct boot_info *info, uint64_t start, uint64_t end)
{
    if (info->module_count == BOOT_MAX_MODULES || start >= end ||
        !loader_memory(start, end - start))
        return;
    struct boot_module *module = &info->modules[info->module_count++];
    module->start = start;
    module->end = end;
    module->cmdline[0] = 0;
}

static struct boot_module *last_module(struct boot_info *info)
{
    return info->module_count ? &info->modules[info->module_count - 1] : NULL;
}

/* --- the memory map, in either form --- */

/* Calls visit for each complete entry; entries are `step` apart, or, with step 0, say themselves
 * how long they are (multiboot 1). */
typedef void region_visitor(struct boot_info *info, uint64_t start, uint64_t length, uint32_t type);

struct memory_map {
    const uint8_t *entries;
    uint64_t length;
    uint32_t step;
};

static void map_visit(struct boot_info *info, const struct memory_map *map, region_visitor *visit)
{
    uint64_t at = 0;

    if (map->entries == NULL)
        return;
    while (map->length - at >= (map->step ? map->step : sizeof(struct multiboot1_region))) {
        uint64_t step = map->step;
        if (step) {
            struct multiboot2_region region;
            memcpy(&region, map->entries + at, sizeof(region));
            visit(info, region.base, region.length, region.type);
        } else {
            struct multiboot1_region region;
            memcpy(&region, map->entries + at, sizeof(region));
            step = region.size + (uint64_t)sizeof(region.size);
            if (step < sizeof(region))
                return;
            visit(info, region.base, region.length, region.type);
        }
        if (step > map->length - at)
            return;
        at += step;
    }
}

static uint64_t region_end(uint64_t start, uint64_t length)
{
    return length > UINT64_MAX - start ? UINT64_MAX : start + length;
}

static void visit_available(struct boot_info *info, uint64_t start, uint64_t length, uint32_t type)
{
    if (type == MULTIBOOT_REGION_AVAILABLE)
        boot_regions_add(info->available, &info->available_count, start, region_end(start, length));
}

static void visit_reserved(struct boot_info *info, uint64_t start, uint64_t length, uint32_t type)
{
    if (type != MULTIBOOT_REGION_AVAILABLE)
        boot_regions_cut(info->available, &info->available_count, start, region_end(start, length));
}

/* The highest free page below 640 KiB: far from where firmware and loaders have theirs. */
static uint32_t find_low_page(const struct boot_info *info)
{
    uint64_t best = 0;

    for (uint32_t i = 0; i < info->available_count; i++) {
        uint64_t end = info->available[i].end;
        if (end > LOW_PAGE_END)
            end = LOW_PAGE_END;
        if (end >= LOW_PAGE_MIN + BOOT_PAGE && end - BOOT_PAGE >= info->available[i].start &&
            end - BOOT_PAGE > best)
            best = end - BOOT_PAGE;
    }
    return (uint32_t)best;
}

static void take_memory(struct boot_info *info, const struct memory_map *map, uint32_t lower_kib,
                        uint32_t upper_kib)
{
    struct boot_region *regions = info->available;
    uint32_t *count = &info->available_count;

    map_visit(info, map, visit_available);
    map_visit(info, map, visit_reserved);
    if (*count == 0) {
        boot_regions_add(regions, count, 0, lower_kib * 1024ull);
        boot_regions_add(regions, count, MIB, MIB + upper_kib * 1024ull);
    }
    for (uint32_t i = 0; i < info->module_count; i++)
        boot_regions_cut(regions, count, info->modules[i].start, info->modules[i].end);
    info->low_page = find_low_page(info);
    boot_regions_cut(regions, count, 0, MIB);
    boot_regions_cut(regions, count, BOOT_IMAGE_START, BOOT_IMAGE_END);
    info->ram_end = *count ? regions[*count - 1].end : 0;
}

/* --- multiboot 1 --- */

static void parse_modules1(struct boot_info *info, const struct multiboot1_info *from)
{
    struct multiboot1_module module;
    const uint8_t *modules =
        loader_memory(from->modules, from->module_count * (uint64_t)sizeof(module));

    if (modules == NULL)
        return;
    for (uint32_t i = 0; i < from->module_count; i++) {
        uint32_t before = info->module_count;
        memcpy(&module, modules + i * sizeof(module), sizeof(module));
        add_module(info, module.start, module.end);
        if (info->module_count > before)
            copy_text_at(last_module(info)->cmdline, sizeof(info->modules[0].cmdline),
                         module.cmdline);
    }
}

static void parse1(struct boot_info *info, uint64_t address)
{
    const void *bytes = loader_memory(address, sizeof(struct multiboot1_info));
    struct multiboot1_info from;
    struct memory_map map = {0};

    info->protocol = 1;
    if (bytes == NULL) {
        info->error = "multiboot: the information lies outside of memory";
        return;
    }
    memcpy(&from, bytes, sizeof(from));
    bool has_sizes = from.flags & MULTIBOOT1_HAS_MEMORY;
    if (from.flags & MULTIBOOT1_HAS_LOADER)
        copy_text_at(info->loader, sizeof(info->loader), from.loader);
    if (from.flags & MULTIBOOT1_HAS_CMDLINE)
        copy_text_at(info->cmdline, sizeof(info->cmdline), from.cmdline);
    if (from.flags & MULTIBOOT1_HAS_MODULES)
        parse_modules1(info, &from);
    if (from.flags & MULTIBOOT1_HAS_MAP)
        map = (struct memory_map){loader_memory(from.map, from.map_length), from.map_length, 0};
    take_memory(info, &map, has_sizes ? from.memory_lower : 0, has_sizes ? from.memory_upper : 0);
}

/* --- multiboot 2 --- */

struct parse2_memory {
    struct memory_map map;
    uint32_t lower_kib, upper_kib;
};

static void parse_module2(struct boot_info *info, const uint8_t *body, uint32_t length)
{
    uint32_t range[2], before = info->module_count;

    if (length < sizeof(range))
        return;
    memcpy(range, body, sizeof(range));
    add_module(info, range[0], range[1]);
    if (info->module_count > before)
        copy_text(last_module(info)->cmdline, sizeof(info->modules[0].cmdline),
                  (const char *)body + sizeof(range), length - sizeof(range));
}

static void parse_map2(struct memory_map *map, const uint8_t *body, uint32_t length)
{
    uint32_t head[2]; /* entry size, entry version */

    if (length < sizeof(head))
        return;
    memcpy(head, body, sizeof(head));
    if (head[0] >= sizeof(struct multiboot2_region))
        *map = (struct memory_map){body + sizeof(head), length - sizeof(head), head[0]};
}

static void parse_rsdp2(struct boot_info *info, const uint8_t *body, uint32_t length)
{
    if (length > sizeof(info->rsdp))
        length = sizeof(info->rsdp);
    if (length <= info->rsdp_length) /* the newer, longer one wins */
        return;
    memcpy(info->rsdp, body, length);
    info->rsdp_length = length;
}

static void parse_tag2(struct boot_info *info, struct parse2_memory *memory, uint32_t type,
                       const uint8_t *body, uint32_t length)
{
    switch (type) {
    case MULTIBOOT2_TAG_CMDLINE:
        copy_text(info->cmdline, sizeof(info->cmdline), (const char *)body, length);
        return;
    case MULTIBOOT2_TAG_LOADER:
        copy_text(info->loader, sizeof(info->loader), (const char *)body, length);
        return;
    case MULTIBOOT2_TAG_MODULE:
        parse_module2(info, body, length);
        return;
    case MULTIBOOT2_TAG_MEMORY:
        if (length >= 8) {
            memcpy(&memory->lower_kib, body, 4);
            memcpy(&memory->upper_kib, body + 4, 4);
        }
        return;
    case MULTIBOOT2_TAG_MAP:
        parse_map2(&memory->map, body, length);
        return;
    case MULTIBOOT2_TAG_RSDP1:
    case MULTIBOOT2_TAG_RSDP2:
        parse_rsdp2(info, body, length);
        return;
    }
}

static void parse2(struct boot_info *info, uint64_t address)
{
    const uint8_t *bytes = loader_memory(address, 8);
    struct parse2_memory memory = {0};
    uint32_t total = 0;

    info->protocol = 2;
    if (bytes)
        memcpy(&total, bytes, sizeof(total));
    if (total < 8 || !loader_memory(address, total)) {
        info->error = "multiboot2: the information lies outside of memory";
        return;
    }
    for (uint64_t at = 8; at <= total && total - at >= sizeof(struct multiboot2_tag);) {
        struct multiboot2_tag tag;
        memcpy(&tag, bytes + at, sizeof(tag));
        if (tag.type == MULTIBOOT2_TAG_END || tag.size < sizeof(tag) || tag.size > total - at)
            break;
        parse_tag2(info, &memory, tag.type, bytes + at + sizeof(tag),
                   tag.size - (uint32_t)sizeof(tag));
        at += (tag.size + 7ull) & ~7ull;
    }
    take_memory(info, &memory.map, memory.lower_kib, memory.upper_kib);
}

void boot_info_parse(uint32_t magic, uint64_t address)
{
    struct boot_info *info = &boot_info;

    memset(info, 0, sizeof(*info));
    if (magic == MULTIBOOT1_LOADED)
        parse1(info, address);
    else if (magic == MULTIBOOT2_LOADED)
        parse2(info, address);
    else
        info->error = "not loaded by a multiboot boot loader";
    if (info->error)
        return;
    cmdline_drop_path(info);
    if (info->available_count == 0)
        info->error = "the boot loader reports no memory above 1 MiB";
}
