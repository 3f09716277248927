/* SPDX-License-Identifier: MIT */
/* elf_parse: a good file, one mutation for each rule, and a hundred thousand random ones.
 *
 * The file is passed in a block of exactly its size, so that the sanitizer sees each byte too many.
 */
#include <elf.h>
#include <stdlib.h>
#include "arch/x86/layout.h"
#include "kernel/abi.h"
#include "kernel/elf.h"
#include "kernel/err.h"
#include "tests/host/random.h"
#include "tests/host/tap.h"

#define FILE_SIZE 0x2200
#define PHDR_COUNT 5

/* text (R X, with all headers), data (R W, .bss behind it), rodata (R), TLS, stack flags */
struct image {
    Elf64_Ehdr header;
    Elf64_Phdr phdr[PHDR_COUNT];
    uint8_t rest[FILE_SIZE - sizeof(Elf64_Ehdr) - PHDR_COUNT * sizeof(Elf64_Phdr)];
};

static Elf64_Phdr load(uint32_t flags, uint64_t offset, uint64_t address, uint64_t file_size,
                       uint64_t memory_size)
{
    return (Elf64_Phdr){.p_type = PT_LOAD,
                        .p_flags = flags,
                        .p_offset = offset,
                        .p_vaddr = address,
                        .p_paddr = address,
                        .p_filesz = file_size,
                        .p_memsz = memory_size,
                        .p_align = PAGE_SIZE};
}

static void build(struct image *image)
{
    memset(image, 0, sizeof *image);
    image->header = (Elf64_Ehdr){
        .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_EXEC,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_entry = 0x400800,
        .e_phoff = sizeof(Elf64_Ehdr),
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = PHDR_COUNT,
    };
    image->phdr[0] = load(PF_R | PF_X, 0, 0x400000, 0x1000, 0x1000);
    image->phdr[1] = load(PF_R | PF_W, 0x1010, 0x402010, 0x200, 0x5000);
    image->phdr[2] = load(PF_R, 0x2000, 0x408000, 0x200, 0x200);
    image->phdr[3] = (Elf64_Phdr){.p_type = PT_TLS, .p_flags = PF_R, .p_memsz = 16};
    image->phdr[4] = (Elf64_Phdr){.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W};
}

static int parse_copy(const void *bytes, size_t size, struct elf_image *out)
{
    void *copy = malloc(size ? size : 1);
    int error;

    memcpy(copy, bytes, size);
    error = elf_parse(copy, size, out);
    free(copy);
    return error;
}

static void test_good(void)
{
    struct elf_image out;
    struct image image;

    build(&image);
    is_u64(parse_copy(&image, sizeof image, &out), 0, "the good file is accepted");
    ok(!out.reason, "no reason is given for it");
    is_u64(out.entry, 0x400800, "entry");
    is_u64(out.segment_count, 3, "load segments");
    is_u64(out.phdr_address, 0x400040, "AT_PHDR");
    is_u64(out.phdr_count, PHDR_COUNT, "AT_PHNUM");
    is_u64(out.phdr_entry_size, 56, "AT_PHENT");
    is_u64(out.segments[0].protection, ABI_PROT_READ | ABI_PROT_EXEC, "text is R X");
    is_u64(out.segments[1].protection, ABI_PROT_READ | ABI_PROT_WRITE, "data is R W");
    is_u64(out.segments[2].protection, ABI_PROT_READ, "rodata is R");
    is_u64(out.segments[1].address, 0x402010, "address of data");
    is_u64(out.segments[1].file_offset, 0x1010, "offset of data");
    is_u64(out.segments[1].file_size, 0x200, "size of data in the file");
    is_u64(out.segments[1].memory_size, 0x5000, "size of data and bss");
}

/* What else is to be accepted. */
static void test_variants(void)
{
    struct elf_image out;
    struct image image;
    uint8_t shifted[FILE_SIZE + 1];

    build(&image);
    image.phdr[0].p_flags = PF_X;
    parse_copy(&image, sizeof image, &out);
    is_u64(out.reason ? 0 : out.segments[0].protection, ABI_PROT_READ | ABI_PROT_EXEC,
           "X without R becomes R X");

    build(&image);
    image.phdr[2].p_memsz = image.phdr[2].p_filesz = 0;
    parse_copy(&image, sizeof image, &out);
    is_u64(out.reason ? 0 : out.segment_count, 2, "an empty segment is left out");

    build(&image);
    image.header.e_phoff = 0x1ff0;
    memmove((uint8_t *)&image + 0x1ff0, image.phdr, 3 * sizeof image.phdr[0]);
    image.header.e_phnum = 3;
    parse_copy(&image, sizeof image, &out);
    ok(!out.reason && !out.phdr_address, "program headers outside all segments: no AT_PHDR");

    build(&image);
    image.phdr[1].p_vaddr = 0x10010;
    image.phdr[2].p_vaddr = USER_END - PAGE_SIZE;
    is_u64(parse_copy(&image, sizeof image, &out), 0, "both ends of the user range can be used");

    build(&image);
    memcpy(shifted + 1, &image, sizeof image);
    is_u64(elf_parse(shifted + 1, sizeof image, &out), 0, "the file can be at an odd address");
}

#define MUTATION(what, reason_text, ...)                                                           \
    do {                                                                                           \
        struct elf_image out_;                                                                     \
        struct image image_, *image = &image_;                                                     \
        size_t size = sizeof image_;                                                               \
        build(image);                                                                              \
        __VA_ARGS__;                                                                               \
        int error_ = parse_copy(image, size, &out_);                                               \
        if (is_string(out_.reason, reason_text, "%s", what))                                       \
            reject_code_ok &= error_ == ERR_BAD_ELF;                                               \
    } while (0)

static bool reject_code_ok = true;

static void test_header_rules(void)
{
    MUTATION("empty file", "too short for an ELF header", size = 0);
    MUTATION("63 bytes", "too short for an ELF header", size = 63);
    MUTATION("magic", "no ELF magic number", image->header.e_ident[3] = 'G');
    MUTATION("class", "not a 64-bit ELF file", image->header.e_ident[EI_CLASS] = ELFCLASS32);
    MUTATION("endian", "not little-endian", image->header.e_ident[EI_DATA] = ELFDATA2MSB);
    MUTATION("ident version", "unknown ELF version", image->header.e_ident[EI_VERSION] = 2);
    MUTATION("version", "unknown ELF version", image->header.e_version = 0);
    MUTATION("machine", "not for x86-64", image->header.e_machine = EM_386);
    MUTATION("PIE", "position independent or shared object: link it with -static -no-pie",
             image->header.e_type = ET_DYN);
    MUTATION("object file", "not an executable", image->header.e_type = ET_REL);
    MUTATION("phentsize", "wrong size of a program header", image->header.e_phentsize = 32);
    MUTATION("no phdrs", "no program headers", image->header.e_phnum = 0);
    MUTATION("65 phdrs", "too many program headers", image->header.e_phnum = 65);
    MUTATION("phoff behind the file", "program headers outside the file",
             image->header.e_phoff = FILE_SIZE + 1);
    MUTATION("phoff + size wraps", "program headers outside the file",
             image->header.e_phoff = -(uint64_t)sizeof(Elf64_Phdr));
    MUTATION("last phdr cut", "program headers outside the file",
             image->header.e_phoff = FILE_SIZE - PHDR_COUNT * sizeof(Elf64_Phdr) + 1);
}

static void test_program_header_rules(void)
{
    MUTATION("PT_INTERP", "asks for a program interpreter: link it with -static",
             image->phdr[3].p_type = PT_INTERP);
    MUTATION("PT_DYNAMIC", "has a dynamic section: link it with -static -no-pie",
             image->phdr[3].p_type = PT_DYNAMIC);
    MUTATION("filesz > memsz", "segment larger in the file than in memory",
             image->phdr[0].p_memsz = 0xfff);
    MUTATION("offset behind the file", "segment outside the file",
             image->phdr[1].p_offset = 0x10010);
    MUTATION("last byte behind the file", "segment outside the file",
             image->phdr[2].p_filesz = image->phdr[2].p_memsz = 0x201);
    MUTATION("offset + filesz wraps", "segment outside the file",
             image->phdr[2].p_offset = 0xfffffffffffff000);
    MUTATION("file cut", "segment outside the file", size -= 1);
    MUTATION("below USER_MIN", "segment outside the user address range",
             image->phdr[2].p_vaddr = USER_MIN - PAGE_SIZE);
    MUTATION("at USER_END", "segment outside the user address range",
             image->phdr[2].p_vaddr = USER_END);
    MUTATION("into USER_END", "segment outside the user address range",
             image->phdr[2].p_vaddr = USER_END - PAGE_SIZE, image->phdr[2].p_memsz = PAGE_SIZE + 1);
    MUTATION("kernel half", "segment outside the user address range",
             image->phdr[2].p_vaddr = 0xffffffff80000000);
    MUTATION("address + memsz wraps", "segment outside the user address range",
             image->phdr[2].p_memsz = -0x408000ull);
    MUTATION("not congruent", "segment's address and file offset differ within the page",
             image->phdr[1].p_vaddr++);
    MUTATION("no rights", "segment without any access right", image->phdr[2].p_flags = 0);
    MUTATION("W and X", "segment both writable and executable",
             image->phdr[1].p_flags = PF_R | PF_W | PF_X);
    MUTATION("257 MiB", "program needs too much memory", image->phdr[1].p_memsz = 257 << 20);
}

static void make_many(struct image *image, unsigned count)
{
    Elf64_Phdr *phdr = (Elf64_Phdr *)((uint8_t *)image + sizeof(Elf64_Ehdr));

    image->header.e_phnum = count;
    for (unsigned i = 1; i < count; i++)
        phdr[i] = load(PF_R, 0, 0x500000 + i * PAGE_SIZE, 0, PAGE_SIZE);
}

static void test_image_rules(void)
{
    struct elf_image out;
    struct image image;

    MUTATION("segments share a page", "segments share a page", image->phdr[2].p_vaddr = 0x407000);
    MUTATION("a segment within another", "segments share a page",
             image->phdr[2].p_vaddr = 0x404000);
    MUTATION("the same segment twice", "segments share a page", image->phdr[3] = image->phdr[2]);
    MUTATION("shared page in reverse order", "segments share a page",
             image->phdr[1].p_vaddr = 0x409010, image->phdr[1].p_memsz = 0x1000,
             image->phdr[2].p_vaddr = 0x40a000);
    MUTATION("17 segments", "too many load segments", make_many(image, 17));
    MUTATION("256 MiB in two", "program needs too much memory", image->phdr[1].p_memsz = 128 << 20,
             image->phdr[2].p_vaddr = 0x20000000, image->phdr[2].p_memsz = 128 << 20);
    MUTATION("no segment", "no load segment", image->header.e_phnum = 1,
             image->phdr[0].p_type = PT_NOTE);
    MUTATION("entry in data", "entry point outside the code", image->header.e_entry = 0x402010);
    MUTATION("entry behind the code", "entry point outside the code",
             image->header.e_entry = 0x401000);
    MUTATION("entry 0", "entry point outside the code", image->header.e_entry = 0);
    MUTATION("entry in the zeros behind the code", "entry point outside the code",
             image->phdr[0].p_filesz = 0x700);
    ok(reject_code_ok, "every rejection returned ERR_BAD_ELF");

    build(&image);
    make_many(&image, 16);
    is_u64(parse_copy(&image, sizeof image, &out), 0, "16 segments are accepted");
}

/* --- fuzzing --- */

static bool segment_holds(const struct elf_segment *segment, size_t file_size)
{
    uint64_t end = segment->address + segment->memory_size;
    bool both = segment->protection & ABI_PROT_WRITE && segment->protection & ABI_PROT_EXEC;

    return segment->memory_size > 0 && segment->file_size <= segment->memory_size &&
           segment->file_offset <= file_size &&
           segment->file_size <= file_size - segment->file_offset && segment->address >= USER_MIN &&
           end > segment->address && end <= USER_END &&
           (segment->address - segment->file_offset) % PAGE_SIZE == 0 && !both &&
           segment->protection & ABI_PROT_READ && !(segment->protection & ~7u);
}

static bool image_holds(const struct elf_image *out, size_t file_size)
{
    uint64_t pages = 0;
    bool entry = false;

    if (out->reason || !out->segment_count || out->segment_count > ELF_MAX_SEGMENTS)
        return false;
    for (unsigned i = 0; i < out->segment_count; i++) {
        const struct elf_segment *a = &out->segments[i];
        uint64_t first = a->address / PAGE_SIZE,
                 last = (a->address + a->memory_size - 1) / PAGE_SIZE;

        if (!segment_holds(a, file_size))
            return false;
        pages += last - first + 1;
        entry |= a->protection & ABI_PROT_EXEC && out->entry >= a->address &&
                 out->entry < a->address + a->file_size;
        for (unsigned j = 0; j < i; j++) {
            const struct elf_segment *b = &out->segments[j];

            if (first <= (b->address + b->memory_size - 1) / PAGE_SIZE &&
                b->address / PAGE_SIZE <= last)
                return false;
        }
    }
    return entry && pages * PAGE_SIZE <= ELF_MAX_MEMORY;
}

/* Values at which range checks go wrong. */
static uint64_t nasty_value(uint64_t *seed)
{
    static const uint64_t values[] = {0,        1,        PAGE_SIZE - 1, PAGE_SIZE,  FILE_SIZE,
                                      0x400000, 0x402010, 0x7fffffff,    1ull << 32, 256 << 20,
                                      USER_MIN, USER_END, 1ull << 63,    -1ull,      -PAGE_SIZE,
                                      0x401000, 0x408000};
    uint64_t value = values[random_below(seed, sizeof values / sizeof values[0])];

    return value + random_below(seed, 3) - 1;
}

static void mutate(struct image *image, uint64_t *seed)
{
    uint8_t *bytes = (uint8_t *)image;
    size_t headers = sizeof image->header + sizeof image->phdr;
    uint64_t value;

    switch (random_below(seed, 4)) {
    case 0:
        bytes[random_below(seed, headers)] ^= 1u << random_below(seed, 8);
        break;
    case 1:
        bytes[random_below(seed, headers)] = random_u64(seed);
        break;
    case 2: /* a 64-bit field of a program header */
        value = nasty_value(seed);
        memcpy(&image->phdr[random_below(seed, PHDR_COUNT)].p_offset + random_below(seed, 6),
               &value, sizeof value);
        break;
    case 3: /* a whole page further or back: still congruent */
        image->phdr[random_below(seed, 3)].p_vaddr += (random_below(seed, 17) - 8) * PAGE_SIZE;
        break;
    }
}

static void test_fuzz(void)
{
    const unsigned rounds = 100000;
    unsigned accepted = 0, broken = 0, unnamed = 0;
    uint64_t seed = 286;

    for (unsigned i = 0; i < rounds; i++) {
        struct elf_image out;
        struct image image;
        size_t size = sizeof image;

        build(&image);
        for (unsigned count = 1 + random_below(&seed, 3); count; count--)
            mutate(&image, &seed);
        if (random_below(&seed, 8) == 0)
            size = random_below(&seed, size + 1);
        if (parse_copy(&image, size, &out)) {
            unnamed += !out.reason || !out.reason[0];
            continue;
        }
        accepted++;
        broken += !image_holds(&out, size);
    }
    is_u64(broken, 0, "%u of %u mutated files were accepted and keep the invariants", accepted,
           rounds);
    is_u64(unnamed, 0, "every rejection has its reason");
    ok(accepted > rounds / 10 && accepted < rounds * 9 / 10, "mutations hit both ways");
}

int main(void)
{
    test_good();
    test_variants();
    test_header_rules();
    test_program_header_rules();
    test_image_rules();
    test_fuzz();
    return done();
}
