/* SPDX-License-Identifier: MIT */
/* The virtual address space; docs/architecture.md draws it.
 *
 * Kernel half (PML4 entries 256…511), the same in every address space:
 *   DIRECT_MAP_BASE   all of RAM and everything below 4 GiB, RW, NX, 2 MiB pages
 *   STACKS_BASE       kernel stacks with unmapped guard pages between them
 *   MMIO_BASE         device registers, uncached
 *   TEXT_ALIAS_BASE   two pages of text while they are patched, RW, NX
 *   KERNEL_BASE       the image: text RX, rodata R, data RW
 *   CODE_BASE         code made at run time, RX, in reach of the image's text
 */
#ifndef ARCH_X86_LAYOUT_H
#define ARCH_X86_LAYOUT_H

#include <stdint.h>

#define PAGE_SIZE 4096ull
#define PAGE_SHIFT 12
#define PAGE_MASK (~(PAGE_SIZE - 1))
#define USER_MIN 0x10000ull            /* below it nothing is ever mapped */
#define USER_END 0x00007ffffffff000ull /* one page below the canonical limit */
#define DIRECT_MAP_BASE 0xffff800000000000ull
#define STACKS_BASE 0xffffc00000000000ull
#define MMIO_BASE 0xffffd00000000000ull
#define KERNEL_BASE 0xffffffff80000000ull
#define CODE_BASE 0xffffffffa0000000ull
#define CODE_END 0xffffffffb0000000ull

#define PHYS_TO_VIRT(physical) ((void *)(DIRECT_MAP_BASE + (uint64_t)(physical)))
#define VIRT_TO_PHYS(pointer) ((uint64_t)(pointer)-DIRECT_MAP_BASE) /* of the direct map */
#define IMAGE_TO_PHYS(pointer) ((uint64_t)(pointer)-KERNEL_BASE)    /* of the kernel image */

/* GDT: SYSCALL and SYSRET fix the order. There is no 32-bit user code segment. */
#define SELECTOR_KERNEL_CODE 0x08
#define SELECTOR_KERNEL_DATA 0x10
#define SELECTOR_USER_DATA (0x18 | 3)
#define SELECTOR_USER_CODE (0x20 | 3)
#define SELECTOR_TSS 0x28

#define KERNEL_STACK_SIZE (4 * PAGE_SIZE)
#define IST_STACK_SIZE (2 * PAGE_SIZE)

/* Two pages through which text is written while it is patched; not mapped otherwise. */
#define TEXT_ALIAS_BASE (MMIO_BASE + (1ull << 38))

/* Code that the entry of #BP runs before it knows whose breakpoint it was: an int3 in it would be
 * met again and again. It holds no marker, and no probe is put there. */
#define NOPROBE __attribute__((section(".text.noprobe"), noinline))
extern char noprobe_start[], noprobe_end[]; /* linker.ld */

/* linker.ld */
extern char image_start[], image_end[]; /* all page aligned, virtual */
extern char text_start[], text_end[];
extern char rodata_start[], rodata_end[];
extern char data_start[], data_end[]; /* data and bss */

/* Whether ring 0 can execute what is there. */
static inline _Bool layout_is_code(uint64_t address)
{
    return (address >= (uint64_t)text_start && address < (uint64_t)text_end) ||
           (address >= CODE_BASE && address < CODE_END);
}

#endif
