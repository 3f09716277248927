/* SPDX-License-Identifier: MIT */
/* Validation of static ELF64 programs: every rule of elf.h is one line here, with its reason.
 *
 * The structures are copied out of the file, which may be at any alignment. Sums are formed only
 * after their parts have been bounded, so none can overflow. Any context.
 */
#include <stdbool.h>
#include "arch/x86/layout.h"
#include "kernel/abi.h"
#include "kernel/elf.h"
#include "kernel/err.h"
#include "kernel/string.h"

/* System V ABI, "Object Files"; AMD64 supplement for the machine number. */
struct elf_header {
    uint8_t ident[16];
    uint16_t type, machine;
    uint32_t version;
    uint64_t entry, phdr_offset, shdr_offset;
    uint32_t flags;
    uint16_t size, phdr_entry_size, phdr_count, shdr_entry_size, shdr_count, names;
};

struct elf_program_header {
    uint32_t type, flags;
    uint64_t offset, address, physical, file_size, memory_size, align;
};

_Static_assert(sizeof(struct elf_header) == 64, "fixed by the file format");
_Static_assert(sizeof(struct elf_program_header) == 56, "fixed by the file format");

enum { IDENT_CLASS = 4, IDENT_DATA = 5, IDENT_VERSION = 6 };
enum { CLASS_64 = 2, DATA_LITTLE_ENDIAN = 1, VERSION_CURRENT = 1 };
enum { TYPE_EXEC = 2, TYPE_DYN = 3, MACHINE_X86_64 = 62 };
enum { PT_LOAD = 1, PT_DYNAMIC = 2, PT_INTERP = 3 };
enum { PF_X = 1, PF_W = 2, PF_R = 4 };

struct elf_file {
    const uint8_t *bytes;
    size_t size;
};

/* The checks below return NULL, or the reason. */
static const char *check_ident(const struct elf_header *header)
{
    static const uint8_t magic[4] = {0x7f, 'E', 'L', 'F'};
    const uint8_t *ident = header->ident;

    if (memcmp(ident, magic, sizeof magic))
        return "no ELF magic number";
    if (ident[IDENT_CLASS] != CLASS_64)
        return "not a 64-bit ELF file";
    if (ident[IDENT_DATA] != DATA_LITTLE_ENDIAN)
        return "not little-endian";
    if (ident[IDENT_VERSION] != VERSION_CURRENT || header->version != VERSION_CURRENT)
        return "unknown ELF version";
    return NULL;
}

static const char *check_header(const struct elf_header *header, size_t file_size)
{
    if (header->machine != MACHINE_X86_64)
        return "not for x86-64";
    if (header->type == TYPE_DYN)
        return "position independent or shared object: link it with -static -no-pie";
    if (header->type != TYPE_EXEC)
        return "not an executable";
    if (header->phdr_entry_size != sizeof(struct elf_program_header))
        return "wrong size of a program header";
    if (!header->phdr_count)
        return "no program headers";
    if (header->phdr_count > ELF_MAX_PROGRAM_HEADERS)
        return "too many program headers";
    if (header->phdr_offset > file_size ||
        header->phdr_count * sizeof(struct elf_program_header) > file_size - header->phdr_offset)
        return "program headers outside the file";
    return NULL;
}

static uint64_t first_page(const struct elf_segment *segment)
{
    return segment->address & PAGE_MASK;
}

static uint64_t pages_end(const struct elf_segment *segment)
{
    return (segment->address + segment->memory_size + PAGE_SIZE - 1) & PAGE_MASK;
}

static const char *check_load(const struct elf_program_header *header, size_t file_size)
{
    if (header->file_size > header->memory_size)
        return "segment larger in the file than in memory";
    if (header->offset > file_size || header->file_size > file_size - header->offset)
        return "segment outside the file";
    if (header->address < USER_MIN || header->address >= USER_END ||
        header->memory_size > USER_END - header->address)
        return "segment outside the user address range";
    if (header->memory_size > ELF_MAX_MEMORY)
        return "program needs too much memory";
    if ((header->address ^ header->offset) & ~PAGE_MASK)
        return "segment's address and file offset differ within the page";
    if (!(header->flags & (PF_R | PF_W | PF_X)))
        return "segment without any access right";
    if ((header->flags & (PF_W | PF_X)) == (PF_W | PF_X))
        return "segment both writable and executable";
    return NULL;
}

static bool overlaps_earlier(const struct elf_image *image, const struct elf_segment *segment)
{
    for (uint32_t i = 0; i < image->segment_count; i++) {
        const struct elf_segment *other = &image->segments[i];

        if (first_page(segment) < pages_end(other) && first_page(other) < pages_end(segment))
            return true;
    }
    return false;
}

static uint32_t protection_of(uint32_t flags)
{
    uint32_t protection = ABI_PROT_READ; /* no x86 page is writable or executable only */

    if (flags & PF_W)
        protection |= ABI_PROT_WRITE;
    if (flags & PF_X)
        protection |= ABI_PROT_EXEC;
    return protection;
}

static const char *add_load(struct elf_image *image, const struct elf_program_header *header,
                            size_t file_size)
{
    struct elf_segment segment = {
        .address = header->address,
        .memory_size = header->memory_size,
        .file_offset = header->offset,
        .file_size = header->file_size,
        .protection = protection_of(header->flags),
    };
    const char *reason = check_load(header, file_size);

    if (reason)
        return reason;
    if (!segment.memory_size)
        return NULL;
    if (image->segment_count == ELF_MAX_SEGMENTS)
        return "too many load segments";
    if (overlaps_earlier(image, &segment))
        return "segments share a page";
    image->segments[image->segment_count++] = segment;
    return NULL;
}

static const char *add_program_header(struct elf_image *image,
                                      const struct elf_program_header *header, size_t file_size)
{
    switch (header->type) {
    case PT_LOAD:
        return add_load(image, header, file_size);
    case PT_INTERP:
        return "asks for a program interpreter: link it with -static";
    case PT_DYNAMIC:
        return "has a dynamic section: link it with -static -no-pie";
    default:
        return NULL; /* TLS templates, notes, stack flags: the program's own business */
    }
}

static const char *add_program_headers(struct elf_image *image, const struct elf_file *file,
                                       const struct elf_header *header)
{
    for (unsigned i = 0; i < header->phdr_count; i++) {
        struct elf_program_header entry;
        const char *reason;

        memcpy(&entry, file->bytes + header->phdr_offset + i * sizeof entry, sizeof entry);
        reason = add_program_header(image, &entry, file->size);
        if (reason)
            return reason;
    }
    return NULL;
}

/* The segment whose file part holds [offset, offset + size); NULL when there is none. */
static const struct elf_segment *find_file_range(const struct elf_image *image, uint64_t offset,
                                                 uint64_t size)
{
    for (uint32_t i = 0; i < image->segment_count; i++) {
        const struct elf_segment *segment = &image->segments[i];

        if (offset >= segment->file_offset && size <= segment->file_size &&
            offset - segment->file_offset <= segment->file_size - size)
            return segment;
    }
    return NULL;
}

static const char *check_image(const struct elf_image *image)
{
    uint64_t memory = 0;
    bool entry_found = false;

    for (uint32_t i = 0; i < image->segment_count; i++) {
        const struct elf_segment *segment = &image->segments[i];

        memory += pages_end(segment) - first_page(segment);
        if (segment->protection & ABI_PROT_EXEC && image->entry >= segment->address &&
            image->entry - segment->address < segment->file_size)
            entry_found = true;
    }
    if (!image->segment_count)
        return "no load segment";
    if (memory > ELF_MAX_MEMORY)
        return "program needs too much memory";
    if (!entry_found)
        return "entry point outside the code";
    return NULL;
}

static const char *parse(const struct elf_file *file, struct elf_image *image)
{
    const struct elf_segment *holder;
    struct elf_header header;
    const char *reason;

    if (file->size < sizeof header)
        return "too short for an ELF header";
    memcpy(&header, file->bytes, sizeof header);
    if ((reason = check_ident(&header)) || (reason = check_header(&header, file->size)))
        return reason;
    image->entry = header.entry;
    image->phdr_entry_size = header.phdr_entry_size;
    image->phdr_count = header.phdr_count;
    if ((reason = add_program_headers(image, file, &header)))
        return reason;
    holder = find_file_range(image, header.phdr_offset,
                             header.phdr_count * sizeof(struct elf_program_header));
    if (holder)
        image->phdr_address = holder->address + (header.phdr_offset - holder->file_offset);
    return check_image(image);
}

int elf_parse(const void *file, size_t size, struct elf_image *out)
{
    struct elf_file hostile = {file, size};

    *out = (struct elf_image){0};
    out->reason = parse(&hostile, out);
    return out->reason ? ERR_BAD_ELF : 0;
}
