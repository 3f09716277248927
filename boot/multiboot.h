/* SPDX-License-Identifier: MIT */
/* The boot loaders' structures, as far as they are read.
 *
 * Sources: Multiboot Specification 0.6.96, 3.3; Multiboot2 Specification 2.0, 3.6.
 */
#ifndef BOOT_MULTIBOOT_H
#define BOOT_MULTIBOOT_H

#include <stdint.h>

#define MULTIBOOT1_LOADED 0x2badb002u /* EAX at entry */
#define MULTIBOOT2_LOADED 0x36d76289u

#define MULTIBOOT_REGION_AVAILABLE 1u

#define MULTIBOOT1_HAS_MEMORY (1u << 0)
#define MULTIBOOT1_HAS_CMDLINE (1u << 2)
#define MULTIBOOT1_HAS_MODULES (1u << 3)
#define MULTIBOOT1_HAS_MAP (1u << 6)
#define MULTIBOOT1_HAS_LOADER (1u << 9)

struct multiboot1_info {
    uint32_t flags;
    uint32_t memory_lower, memory_upper; /* KiB */
    uint32_t boot_device;
    uint32_t cmdline;
    uint32_t module_count, modules;
    uint32_t symbols[4];
    uint32_t map_length, map;
    uint32_t drives_length, drives;
    uint32_t config_table;
    uint32_t loader;
};
_Static_assert(sizeof(struct multiboot1_info) == 68, "Multiboot Specification, 3.3");

struct multiboot1_module {
    uint32_t start, end;
    uint32_t cmdline;
    uint32_t reserved;
};

struct multiboot1_region {
    uint32_t size; /* of what follows */
    uint64_t base, length;
    uint32_t type;
} __attribute__((packed));
_Static_assert(sizeof(struct multiboot1_region) == 24, "Multiboot Specification, 3.3");

enum multiboot2_tag_type {
    MULTIBOOT2_TAG_END = 0,
    MULTIBOOT2_TAG_CMDLINE = 1,
    MULTIBOOT2_TAG_LOADER = 2,
    MULTIBOOT2_TAG_MODULE = 3,
    MULTIBOOT2_TAG_MEMORY = 4,
    MULTIBOOT2_TAG_MAP = 6,
    MULTIBOOT2_TAG_RSDP1 = 14,
    MULTIBOOT2_TAG_RSDP2 = 15,
};

struct multiboot2_tag {
    uint32_t type;
    uint32_t size; /* with this header, without the padding to 8 bytes */
};

struct multiboot2_region {
    uint64_t base, length;
    uint32_t type, reserved;
};
_Static_assert(sizeof(struct multiboot2_region) == 24, "Multiboot2 Specification, 3.6.8");

#endif
