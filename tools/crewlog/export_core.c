/* SPDX-License-Identifier: MIT */
/* The checkpoint of a recording as an ELF core file, as Linux would write one of the process at
 * that moment. Sources: System V ABI, "Program Header", "Note Section"; AMD64 ABI; Linux' elfcore.h
 * for the notes.
 *
 * A core file for the end of the recording cannot be made: the end state is in the file as a hash
 * only.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <unistd.h>

#include "tools/crewlog/export.h"

#define MOST_MEMORY (64ull << 30) /* of all mappings; what is zero is a hole in the file */
#define FXSAVE_BYTES 512
#define XSAVE_LEAST 576
#define XSAVE_XCR0 464 /* where Linux puts XCR0, in bytes that XSAVE leaves to software */
#define MOST_NOTES (LOG_MAX_SLOTS * (4096 + 2048) + 65536)

struct core {
    const struct log *log;
    const char *name;
    int file;
    struct log_vma *vmas;
    Elf64_Phdr *headers; /* the notes', then one a mapping */
    uint32_t count;      /* of mappings */
    uint8_t *notes;
    uint64_t note_bytes;
};

/* --- the file --- */

static void write_at(const struct core *core, const void *bytes, uint64_t length, uint64_t offset)
{
    const uint8_t *at = bytes;
    while (length) {
        ssize_t done = pwrite(core->file, at, length, (off_t)offset);
        if (done <= 0)
            die("%s: %s", core->name, done < 0 ? strerror(errno) : "nothing more can be written");
        at += done;
        offset += (uint64_t)done;
        length -= (uint64_t)done;
    }
}

/* --- chunks --- */

/* The first chunk of that kind and slot; false: there is none. */
static bool find_chunk(const struct log *log, enum log_chunk_kind kind, uint32_t slot,
                       struct log_item *item)
{
    struct log_walk walk;
    log_walk_open(&walk, log);
    while (log_walk_next(&walk, item))
        if (item->chunk.kind == kind && item->chunk.slot == slot)
            return true;
    return false;
}

static void read_vmas(struct core *core)
{
    struct log_walk walk;
    struct log_item item;
    uint64_t sum = 0;
    core->vmas = grow(NULL, core->log->reader.found.vmas + 1ull, sizeof(core->vmas[0]));
    log_walk_open(&walk, core->log);
    while (log_walk_next(&walk, &item)) {
        if (item.chunk.kind != LOG_CHUNK_VMA)
            continue;
        struct log_vma *vma = &core->vmas[core->count++];
        memcpy(vma, item.payload, sizeof(*vma));
        sum += vma->end - vma->start;
        if (sum > MOST_MEMORY)
            die("%s: mappings of more than 64 GiB make no core file", core->log->name);
    }
    if (core->count >= PN_XNUM - 1)
        die("%s: %u mappings are too many for a core file", core->log->name, core->count);
}

/* --- notes --- */

static void add_note(struct core *core, uint32_t type, const char *owner, const void *bytes,
                     uint32_t length)
{
    uint32_t owner_bytes = (uint32_t)strlen(owner) + 1;
    Elf64_Nhdr header = {.n_namesz = owner_bytes, .n_descsz = length, .n_type = type};
    uint8_t *at = core->notes + core->note_bytes;
    uint64_t total = sizeof(header) + ((owner_bytes + 3) & ~3u) + ((length + 3ull) & ~3ull);
    if (core->note_bytes + total > MOST_NOTES)
        die("%s: notes that are too long", core->log->name);
    memcpy(at, &header, sizeof(header));
    memcpy(at + sizeof(header), owner, owner_bytes);
    memcpy(at + sizeof(header) + ((owner_bytes + 3) & ~3u), bytes, length);
    core->note_bytes += total;
}

static void add_registers(struct core *core, const struct log_thread *thread)
{
    struct elf_prstatus status;
    /* Linux' struct user_regs_struct: this order. */
    const uint64_t registers[] = {
        thread->r15,    thread->r14, thread->r13, thread->r12,     thread->rbp, thread->rbx,
        thread->r11,    thread->r10, thread->r9,  thread->r8,      thread->rax, thread->rcx,
        thread->rdx,    thread->rsi, thread->rdi, UINT64_MAX,      thread->rip, thread->cs,
        thread->rflags, thread->rsp, thread->ss,  thread->fs_base, 0,           thread->ds,
        thread->es,     thread->fs,  thread->gs,
    };
    _Static_assert(sizeof(registers) == sizeof(status.pr_reg), "27 registers");
    memset(&status, 0, sizeof(status));
    status.pr_pid = (pid_t)(core->log->reader.header.pid + thread->index);
    status.pr_pgrp = status.pr_sid = (pid_t)core->log->reader.header.pid;
    status.pr_fpvalid = 1;
    memcpy(&status.pr_reg, registers, sizeof(registers));
    add_note(core, NT_PRSTATUS, "CORE", &status, sizeof(status));
}

static void add_thread(struct core *core, uint32_t slot)
{
    const struct log_header *header = &core->log->reader.header;
    struct log_item item;
    struct log_thread thread;
    uint8_t area[LOG_PAGE_SIZE] = {0};
    if (!find_chunk(core->log, LOG_CHUNK_THREAD, slot, &item))
        return;
    memcpy(&thread, item.payload, sizeof(thread));
    memcpy(area, item.payload + sizeof(thread), thread.fpu_bytes);
    add_registers(core, &thread);
    add_note(core, NT_FPREGSET, "CORE", area, FXSAVE_BYTES);
    if (thread.fpu_bytes < XSAVE_LEAST)
        return;
    memcpy(area + XSAVE_XCR0, &header->fpu_components, sizeof(header->fpu_components));
    add_note(core, NT_X86_XSTATE, "LINUX", area, thread.fpu_bytes);
}

static void add_process(struct core *core)
{
    const struct log_header *header = &core->log->reader.header;
    struct elf_prpsinfo info;
    size_t at = 0;
    memset(&info, 0, sizeof(info));
    info.pr_sname = 'R';
    info.pr_pid = info.pr_pgrp = info.pr_sid = (int)header->pid;
    memcpy(info.pr_fname, header->program, sizeof(info.pr_fname) - 1);
    for (uint32_t word = 0; word < header->argument_count && at < sizeof(header->arguments);
         word++) {
        size_t used = strlen(info.pr_psargs);
        snprintf(info.pr_psargs + used, sizeof(info.pr_psargs) - used, "%s%s", word ? " " : "",
                 header->arguments + at);
        at += strlen(header->arguments + at) + 1;
    }
    add_note(core, NT_PRPSINFO, "CORE", &info, sizeof(info));
}

/* --- the auxiliary vector: on the stack, found by the AT_RANDOM that the header knows --- */

static const uint8_t *page_at(const struct log *log, uint64_t address)
{
    struct log_walk walk;
    struct log_item item;
    struct log_page page;
    log_walk_open(&walk, log);
    while (log_walk_next(&walk, &item) && item.chunk.kind != LOG_CHUNK_BEGIN) {
        if (item.chunk.kind != LOG_CHUNK_PAGE)
            continue;
        memcpy(&page, item.payload, sizeof(page));
        if (page.address == (address & ~(LOG_PAGE_SIZE - 1ull)))
            return item.payload + sizeof(page);
    }
    return NULL;
}

static bool is_random(const struct log *log, uint64_t address)
{
    uint64_t offset = address % LOG_PAGE_SIZE, size = sizeof(log->reader.header.random);
    const uint8_t *page = offset + size <= LOG_PAGE_SIZE ? page_at(log, address) : NULL;
    return page && memcmp(page + offset, log->reader.header.random, size) == 0;
}

#define WORDS (LOG_PAGE_SIZE / 8)

/* words[at] is AT_RANDOM's: adds the whole vector, if all of it is in this page. */
static bool add_vector(struct core *core, const uint64_t *words, uint32_t at)
{
    uint32_t first = at, end = at;
    while (first >= 2 && words[first - 2] != AT_NULL && words[first - 2] < 64)
        first -= 2;
    while (end + 2 <= WORDS && words[end] != AT_NULL)
        end += 2;
    if (end + 2 > WORDS || first < 1 || words[first - 1] != 0) /* the environment ends in a 0 */
        return false;
    add_note(core, NT_AUXV, "CORE", words + first, (end + 2 - first) * 8);
    return true;
}

static void add_auxiliary(struct core *core)
{
    static const uint8_t none[sizeof(core->log->reader.header.random)];
    struct log_walk walk;
    struct log_item item;
    uint64_t words[WORDS];
    if (memcmp(core->log->reader.header.random, none, sizeof(none)) == 0)
        return;
    log_walk_open(&walk, core->log);
    while (log_walk_next(&walk, &item) && item.chunk.kind != LOG_CHUNK_BEGIN) {
        if (item.chunk.kind != LOG_CHUNK_PAGE)
            continue;
        memcpy(words, item.payload + sizeof(struct log_page), sizeof(words));
        for (uint32_t at = 0; at + 1 < WORDS; at++)
            if (words[at] == AT_RANDOM && words[at + 1] % LOG_PAGE_SIZE <= LOG_PAGE_SIZE - 16 &&
                is_random(core->log, words[at + 1]) && add_vector(core, words, at))
                return;
    }
}

/* --- memory --- */

static uint64_t place_mappings(struct core *core)
{
    uint64_t headers = sizeof(Elf64_Ehdr) + (core->count + 1ull) * sizeof(Elf64_Phdr);
    uint64_t offset = (headers + core->note_bytes + LOG_PAGE_SIZE - 1) & ~(LOG_PAGE_SIZE - 1ull);
    core->headers = grow(NULL, core->count + 1ull, sizeof(Elf64_Phdr));
    core->headers[0] = (Elf64_Phdr){
        .p_type = PT_NOTE, .p_offset = headers, .p_filesz = core->note_bytes, .p_align = 4};
    for (uint32_t i = 0; i < core->count; i++) {
        const struct log_vma *vma = &core->vmas[i];
        uint64_t size = vma->end - vma->start;
        core->headers[i + 1] = (Elf64_Phdr){
            .p_type = PT_LOAD,
            .p_flags = (vma->prot & 1 ? PF_R : 0u) | (vma->prot & 2 ? PF_W : 0u) |
                       (vma->prot & 4 ? PF_X : 0u),
            .p_offset = offset,
            .p_vaddr = vma->start,
            .p_filesz = size,
            .p_memsz = size,
            .p_align = LOG_PAGE_SIZE,
        };
        offset += size;
    }
    return offset;
}

/* Pages ascend as mappings do: one pass. */
static void write_pages(const struct core *core)
{
    struct log_walk walk;
    struct log_item item;
    struct log_page page;
    uint64_t outside = 0;
    uint32_t at = 0;
    log_walk_open(&walk, core->log);
    while (log_walk_next(&walk, &item) && item.chunk.kind != LOG_CHUNK_BEGIN) {
        if (item.chunk.kind != LOG_CHUNK_PAGE)
            continue;
        memcpy(&page, item.payload, sizeof(page));
        while (at < core->count && core->vmas[at].end <= page.address)
            at++;
        if (at == core->count || page.address < core->vmas[at].start)
            outside++;
        else
            write_at(core, item.payload + sizeof(page), LOG_PAGE_SIZE,
                     core->headers[at + 1].p_offset + page.address - core->vmas[at].start);
    }
    if (outside)
        warn("%s: %" PRIu64 " pages lie in no mapping; left out", core->log->name, outside);
}

/* As Linux': otherwise gdb knows neither FS base nor the auxiliary vector. */
static void write_headers(const struct core *core)
{
    Elf64_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT,
                    ELFOSABI_LINUX},
        .e_type = ET_CORE,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_phoff = sizeof(Elf64_Ehdr),
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = (Elf64_Half)(core->count + 1),
    };
    write_at(core, &header, sizeof(header), 0);
    write_at(core, core->headers, (core->count + 1ull) * sizeof(Elf64_Phdr), sizeof(header));
    write_at(core, core->notes, core->note_bytes, core->headers[0].p_offset);
}

/* A debugger shows the first thread first; NT_PRPSINFO stands behind its registers, as in Linux'
 * own files. */
static void add_notes(struct core *core, uint32_t first)
{
    core->notes = grow(NULL, MOST_NOTES, 1);
    memset(core->notes, 0, MOST_NOTES);
    add_process(core);
    add_auxiliary(core);
    add_thread(core, first);
    for (uint32_t slot = 0; slot < core->log->reader.found.threads; slot++)
        if (slot != first)
            add_thread(core, slot);
}

void export_core(const struct log *log, uint32_t first, const char *output)
{
    struct core core = {.log = log, .name = output};
    if (!log_reader_usable(&log->reader))
        die("%s: the checkpoint is not whole", log->name);
    if (first >= log->reader.found.threads)
        die("%s: thread %u was not there at the checkpoint", log->name, first);
    read_vmas(&core);
    add_notes(&core, first);
    uint64_t size = place_mappings(&core);
    core.file = open(output, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (core.file < 0 || ftruncate(core.file, (off_t)size) != 0)
        die("%s: %s", output, strerror(errno));
    write_headers(&core);
    write_pages(&core);
    if (close(core.file) != 0)
        die("%s: %s", output, strerror(errno));
    free(core.vmas);
    free(core.headers);
    free(core.notes);
}
