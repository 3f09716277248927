/* SPDX-License-Identifier: MIT */
/* Host test of boot/boot_info.c and boot/boot_regions.c: both protocols, odd maps, damaged input.
 *
 * The physical memory is a reserved range of addresses, of which only the pages that a case uses
 * can be read: anything else is a crash.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

static uint8_t *machine; /* 4 GiB and a page */

#define BOOT_PHYSICAL(address) ((void *)(machine + (address)))
#define BOOT_IMAGE_START 0x100000ull
#define BOOT_IMAGE_END 0x180000ull

#include "boot/boot_info.c"

#include "tests/host/random.h"
#include "tests/host/tap.h"

#define INFO_PAGE 0x9000ull
#define TEXT_PAGE 0xb000ull

_Bool string_copy(char *to, const char *from, size_t size);

static void open_page(uint64_t address)
{
    mprotect(machine + address, 4096, PROT_READ | PROT_WRITE);
}

/* Puts bytes at the end of the information page, so that the byte after them cannot be read. */
static uint64_t place(const void *bytes, size_t length)
{
    uint64_t address = (INFO_PAGE + 4096 - length) & ~7ull;
    memset(machine + INFO_PAGE, 0xee, 4096);
    memcpy(machine + address, bytes, length);
    return address;
}

struct builder {
    uint8_t bytes[4096] __attribute__((aligned(8)));
    uint32_t length;
};

static void begin(struct builder *to)
{
    memset(to, 0, sizeof(*to));
    to->length = 8;
}

static void tag(struct builder *to, uint32_t type, const void *body, uint32_t length)
{
    uint32_t head[2] = {type, length + 8};
    memcpy(to->bytes + to->length, head, 8);
    memcpy(to->bytes + to->length + 8, body, length);
    to->length += (length + 8 + 7) & ~7u;
}

static uint64_t finish(struct builder *to)
{
    tag(to, MULTIBOOT2_TAG_END, "", 0);
    memcpy(to->bytes, &to->length, 4);
    return place(to->bytes, to->length);
}

struct map2 {
    uint32_t entry_size, version;
    struct multiboot2_region regions[80];
};

static uint32_t map2_size(unsigned count)
{
    return (uint32_t)(8 + count * sizeof(struct multiboot2_region));
}

static bool regions_sound(void)
{
    const struct boot_info *info = &boot_info;
    for (uint32_t i = 0; i < info->available_count; i++) {
        const struct boot_region *region = &info->available[i];
        if (region->start >= region->end || (region->start | region->end) % 4096)
            return false;
        if (region->start < MIB ||
            (region->start < BOOT_IMAGE_END && region->end > BOOT_IMAGE_START))
            return false;
        if (i > 0 && region->start <= region[-1].end)
            return false;
    }
    return info->available_count <= BOOT_MAX_REGIONS;
}

static void test_multiboot2(void)
{
    static struct map2 map = {24,
                              0,
                              {{0, 0x9fc00, 1, 0},
                               {0x9fc00, 0x400, 2, 0},
                               {0x100000, 0x7ee0000, 1, 0},
                               {0x7fe0000, 0x20000, 2, 0},
                               {0x100000000ull, 0x80000000, 1, 0}}};
    struct builder to;
    uint32_t module[4] = {0x200000, 0x200801};

    memcpy(&module[2], "prog", 5);
    begin(&to);
    tag(&to, MULTIBOOT2_TAG_CMDLINE, "run=x y", 8);
    tag(&to, MULTIBOOT2_TAG_LOADER, "GRUB 2.12", 10);
    tag(&to, MULTIBOOT2_TAG_MODULE, module, 13);
    tag(&to, MULTIBOOT2_TAG_RSDP2, "123456789012345678901234567890123456", 36);
    tag(&to, MULTIBOOT2_TAG_RSDP1, "short", 5);
    tag(&to, MULTIBOOT2_TAG_MAP, &map, map2_size(5));
    boot_info_parse(MULTIBOOT2_LOADED, finish(&to));
    const struct boot_info *info = &boot_info;
    ok(info->error == NULL, "multiboot2 is read");
    is_string(info->cmdline, "run=x y", "command line");
    is_string(info->loader, "GRUB 2.12", "loader");
    is_u64(info->rsdp_length, 36, "the longer RSDP wins");
    ok(info->module_count == 1 && info->modules[0].end == 0x200801, "module");
    is_string(info->modules[0].cmdline, "prog", "module's text");
    ok(regions_sound(), "regions are sound");
    is_u64(info->available_count, 3, "image and module are cut out");
    ok(info->available[0].start == 0x180000 && info->available[0].end == 0x200000, "first");
    ok(info->available[1].start == 0x201000 && info->available[1].end == 0x7fe0000, "second");
    is_u64(info->ram_end, 0x180000000ull, "end of RAM");
    is_u64(info->low_page, 0x9e000, "page below 640 KiB, not the one that is partly reserved");
}

static void test_multiboot1(void)
{
    struct {
        struct multiboot1_info info;
        struct multiboot1_region map[3];
        struct multiboot1_module module;
    } __attribute__((packed, aligned(8))) all = {0};
    uint64_t base = (INFO_PAGE + 4096 - sizeof(all)) & ~7ull;

    strcpy((char *)machine + TEXT_PAGE, "build/kernel32.elf run=a poweroff");
    strcpy((char *)machine + TEXT_PAGE + 100, "qemu");
    memset(machine + TEXT_PAGE + 4096 - 8, 'x', 8);
    all.info.flags = MULTIBOOT1_HAS_MEMORY | MULTIBOOT1_HAS_CMDLINE | MULTIBOOT1_HAS_MODULES |
                     MULTIBOOT1_HAS_MAP | MULTIBOOT1_HAS_LOADER;
    all.info.cmdline = TEXT_PAGE;
    all.info.loader = TEXT_PAGE + 100;
    all.info.map = (uint32_t)(base + offsetof(__typeof__(all), map));
    all.info.map_length = sizeof(all.map);
    all.info.modules = (uint32_t)(base + offsetof(__typeof__(all), module));
    all.info.module_count = 1;
    all.module = (struct multiboot1_module){0x300000, 0x310000, TEXT_PAGE, 0};
    all.map[0] = (struct multiboot1_region){20, 0, 0xa0000, 1};
    all.map[1] = (struct multiboot1_region){20, 0x100000, 0x3f00000, 1};
    all.map[2] = (struct multiboot1_region){20, UINT64_MAX - 5000, UINT64_MAX, 2};
    boot_info_parse(MULTIBOOT1_LOADED, place(&all, sizeof(all)));
    ok(boot_info.error == NULL && boot_info.protocol == 1, "multiboot 1 is read");
    is_string(boot_info.cmdline, "run=a poweroff", "QEMU's path is dropped");
    is_u64(boot_info.ram_end, 0x4000000, "end of RAM");
    ok(boot_info.module_count == 1 && regions_sound(), "module; regions are sound");
    all.info.flags &= ~MULTIBOOT1_HAS_MAP;
    all.info.memory_lower = 636;
    all.info.memory_upper = 31 * 1024;
    boot_info_parse(MULTIBOOT1_LOADED, place(&all, sizeof(all)));
    is_u64(boot_info.ram_end, 0x2000000, "without a map: mem_upper");
    is_u64(boot_info.low_page, 0x9e000, "without a map: mem_lower");
    all.info.map_length = 0xfffffff0;
    all.info.map = 0xfffff000;
    all.info.flags |= MULTIBOOT1_HAS_MAP;
    all.info.modules = 0xffffff00;
    all.info.module_count = 0xffffffff;
    boot_info_parse(MULTIBOOT1_LOADED, place(&all, sizeof(all)));
    ok(boot_info.error == NULL && boot_info.module_count == 0, "tables beyond 4 GiB are not read");
}

static void test_refusals(void)
{
    struct builder to;

    boot_info_parse(0x1234, 0x9000);
    ok(boot_info.error != NULL, "unknown magic");
    boot_info_parse(MULTIBOOT1_LOADED, 0);
    ok(boot_info.error != NULL, "no information (1)");
    boot_info_parse(MULTIBOOT2_LOADED, 0xfffffffcull);
    ok(boot_info.error != NULL, "information at the end of 4 GiB (2)");
    begin(&to);
    boot_info_parse(MULTIBOOT2_LOADED, finish(&to));
    ok(boot_info.error != NULL, "no memory at all");
}

static void test_many_regions(void)
{
    static struct map2 map = {24, 0, {{0}}};
    struct builder to;

    for (unsigned i = 0; i < 80; i++)
        map.regions[i] = (struct multiboot2_region){0x1000000 + i * 0x100000ull,
                                                    0x1000 * (1 + (i * 37) % 80), 1, 0};
    begin(&to);
    tag(&to, MULTIBOOT2_TAG_MAP, &map, map2_size(80));
    boot_info_parse(MULTIBOOT2_LOADED, finish(&to));
    is_u64(boot_info.available_count, BOOT_MAX_REGIONS, "as many regions as fit");
    uint64_t smallest = UINT64_MAX;
    for (uint32_t i = 0; i < boot_info.available_count; i++) {
        uint64_t size = boot_info.available[i].end - boot_info.available[i].start;
        smallest = size < smallest ? size : smallest;
    }
    is_u64(smallest, 17 * 0x1000, "the smallest were dropped");
    ok(regions_sound(), "regions are sound");
}

/* Against a bitmap of 256 pages. */
static void test_region_list(uint64_t *seed)
{
    bool page[256] = {false}, listed[256] = {false};
    struct boot_region regions[BOOT_MAX_REGIONS];
    uint32_t count = 0;

    for (int step = 0; step < 40; step++) {
        uint64_t start = random_below(seed, 256 * 4096), end = start + random_below(seed, 90000);
        bool add = random_below(seed, 2);
        if (end > 256 * 4096)
            end = 256 * 4096;
        if (add)
            boot_regions_add(regions, &count, start, end);
        else
            boot_regions_cut(regions, &count, start, end);
        for (uint64_t i = 0; i < 256; i++)
            if (add ? i * 4096 >= start && (i + 1) * 4096 <= end
                    : start < end && i * 4096 < end && (i + 1) * 4096 > start)
                page[i] = add;
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint64_t at = regions[i].start; at < regions[i].end; at += 4096)
            listed[at / 4096] = true;
    if (memcmp(page, listed, sizeof(page)))
        ok(false, "region list against a bitmap");
}

/* Bytes changed at random: it must neither crash nor give unsound regions. */
static void test_damage(uint64_t *seed)
{
    static struct map2 map = {
        24, 0, {{0, 0x9fc00, 1, 0}, {0x100000, 0x7ee0000, 1, 0}, {0x7fe0000, 0x20000, 2, 0}}};
    uint32_t module[4] = {0x200000, 0x200801, 0, 0};
    struct builder to;

    begin(&to);
    tag(&to, MULTIBOOT2_TAG_CMDLINE, "/boot/kernel run=x y", 21);
    tag(&to, MULTIBOOT2_TAG_MODULE, module, 13);
    tag(&to, MULTIBOOT2_TAG_MAP, &map, map2_size(3));
    tag(&to, MULTIBOOT2_TAG_RSDP1, "12345678901234567890", 20);
    uint64_t address = finish(&to);
    for (int i = 0; i < 6; i++)
        machine[address + 8 + random_below(seed, to.length - 8)] = (uint8_t)random_u64(seed);
    boot_info_parse(MULTIBOOT2_LOADED, address);
    if (!regions_sound())
        ok(false, "regions of damaged information");
}

int main(void)
{
    uint64_t seed = 42;

    machine =
        mmap(NULL, 4 * GIB + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (machine == MAP_FAILED)
        return 2;
    open_page(INFO_PAGE);
    open_page(TEXT_PAGE);
    test_multiboot2();
    test_multiboot1();
    test_refusals();
    test_many_regions();
    for (int i = 0; i < 20000; i++)
        test_region_list(&seed);
    for (int i = 0; i < 200000; i++)
        test_damage(&seed);
    ok(true, "random region lists and damaged information");
    return done();
}
