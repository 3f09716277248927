/* SPDX-License-Identifier: MIT */
/* What the boot loader told, in one form for multiboot 1 and 2.
 *
 * Copied into the kernel's own memory by boot_info_parse(), so that the loader's structures may be
 * overwritten afterwards. Sources: Multiboot Specification 0.6.96, Multiboot2 Specification 2.0.
 */
#ifndef BOOT_BOOT_INFO_H
#define BOOT_BOOT_INFO_H

#include <stdint.h>

#define BOOT_MAX_REGIONS 64
#define BOOT_MAX_MODULES 8
#define BOOT_CMDLINE_MAX 1024

struct boot_region {
    uint64_t start, end; /* physical bytes [start, end) */
};

struct boot_module {
    uint64_t start, end;
    char cmdline[128];
};

struct boot_info {
    uint32_t protocol; /* 1 or 2 */
    char loader[64];
    char cmdline[BOOT_CMDLINE_MAX]; /* without the kernel's own path, when the loader puts it first
                                     */
    uint32_t available_count;       /* RAM, sorted, merged, reserved parts cut out */
    struct boot_region available[BOOT_MAX_REGIONS];
    uint32_t module_count;
    struct boot_module modules[BOOT_MAX_MODULES];
    uint64_t ram_end;     /* highest end of any available region */
    uint8_t rsdp[36];     /* multiboot 2 hands over a copy */
    uint32_t rsdp_length; /* 0: none */
    uint32_t low_page;    /* a free page from 0x1000 up to 640 KiB, to start CPUs in; 0: none */
    const char *error; /* NULL, or why the information cannot be used: the caller panics with it */
};
extern struct boot_info boot_info;

/* magic and address: EAX and EBX at entry. The physical memory below 4 GiB is readable through the
 * direct map (PHYS_TO_VIRT). Tolerates anything (missing map: mem_upper; too many regions: the
 * smallest are dropped), never reads outside the announced sizes. `available` does not
 * contain the first MiB, the kernel image or the modules. */
void boot_info_parse(uint32_t magic, uint64_t address);

#endif
