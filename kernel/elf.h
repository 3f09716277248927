/* SPDX-License-Identifier: MIT */
/* Validation of static ELF64 programs; the file is hostile until elf_parse has accepted it.
 *
 * Pure: no state, no allocation, reads only [file, file + size).
 */
#ifndef KERNEL_ELF_H
#define KERNEL_ELF_H

#include <stddef.h>
#include <stdint.h>

#define ELF_MAX_SEGMENTS 16
#define ELF_MAX_PROGRAM_HEADERS 64
#define ELF_MAX_MEMORY (256ull << 20) /* all load segments together, in whole pages */

/* A PT_LOAD. address and file_offset are equal modulo PAGE_SIZE but not page aligned. */
struct elf_segment {
    uint64_t address;
    uint64_t memory_size; /* > 0; from file_size on it is zeros */
    uint64_t file_offset;
    uint64_t file_size;  /* <= memory_size; file_offset + file_size <= size of the file */
    uint32_t protection; /* ABI_PROT_*; READ always set, never WRITE and EXEC together */
};

struct elf_image {
    const char *reason;       /* why it was rejected; NULL when it was accepted */
    uint64_t entry;           /* inside the file part of an executable segment */
    uint64_t phdr_address;    /* AT_PHDR: where the program headers get mapped; 0 if they are not */
    uint16_t phdr_entry_size; /* AT_PHENT */
    uint16_t phdr_count;      /* AT_PHNUM */
    uint32_t segment_count;   /* >= 1 */
    struct elf_segment segments[ELF_MAX_SEGMENTS]; /* in the file's order; their pages lie in
                                                      [USER_MIN, USER_END) and are disjoint */
};

/* 0 or ERR_BAD_ELF with out->reason set; no other field may be used then. */
int elf_parse(const void *file, size_t size, struct elf_image *out);

#endif
