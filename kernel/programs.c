/* SPDX-License-Identifier: MIT */
/* The program archive, and the loader: from a file in it to a process that can start. */
#include "kernel/programs.h"

#include "arch/x86/insn.h"
#include "arch/x86/layout.h"
#include "kernel/elf.h"
#include "kernel/elf_symbols.h"
#include "kernel/err.h"
#include "kernel/printf.h"
#include "kernel/process.h"
#include "kernel/string.h"
#include "mm/heap.h"

#define STACK_SIZE (256ull << 10)
#define STACK_TOP 0x00007fffff000000ull
#define FIRST_PID 100

static const void *archive;
static size_t archive_size;
static uint32_t next_pid = FIRST_PID; /* atomic */

void programs_init(uint64_t physical_start, uint64_t physical_end)
{
    if (physical_end <= physical_start) {
        printk("programs: the boot loader passed no archive\n");
        return;
    }
    archive = PHYS_TO_VIRT(physical_start);
    archive_size = physical_end - physical_start;
    struct ustar reader;
    struct ustar_file *file = kmalloc(sizeof(*file));
    int error = file ? 0 : ERR_NO_MEMORY;
    ustar_open(&reader, archive, archive_size);
    while (!error)
        error = ustar_next(&reader, file);
    kfree(file);
    if (error == ERR_BAD_ARCHIVE)
        printk("programs: damaged archive: %s\n", reader.reason);
}

int programs_find(const char *name, struct ustar_file *file)
{
    const char *reason;
    if (!archive)
        return ERR_NOT_FOUND;
    return ustar_find(archive, archive_size, name, file, &reason);
}

const char *programs_symbol(char *out, size_t size, const char *program, uint64_t address)
{
    struct elf_symbol symbol;
    struct ustar_file *file = kmalloc(sizeof(*file));
    out[0] = 0;
    if (file && programs_find(program, file) == 0 &&
        elf_symbol_find(file->data, file->size, address, &symbol))
        format_text(out, size, "%s+0x%llx", symbol.name, (unsigned long long)symbol.offset);
    kfree(file);
    return out;
}

int programs_for_each(program_function *function, void *argument)
{
    struct ustar reader;
    struct ustar_file *file = kmalloc(sizeof(*file));
    if (!file)
        return ERR_NO_MEMORY;
    ustar_open(&reader, archive, archive ? archive_size : 0);
    int error;
    while ((error = ustar_next(&reader, file)) == 0)
        function(file, argument);
    kfree(file);
    return error == ERR_NOT_FOUND ? 0 : error;
}

/* --- building the memory of a process --- */

/* Writes to a process that does not run yet, whatever the rights of the mapping. */
static bool put_bytes(struct process *process, uint64_t address, const void *from, uint64_t length)
{
    for (uint64_t done = 0; done < length;) {
        uint64_t at = address + done;
        uint64_t room = PAGE_SIZE - (at & ~PAGE_MASK);
        uint64_t chunk = length - done < room ? length - done : room;
        struct user_page *page = space_page(process->space, at);
        if (!page)
            return false;
        spin_lock(&page->lock);
        bool ready = space_page_ensure_frame(page);
        if (ready)
            memcpy((uint8_t *)PHYS_TO_VIRT(page->frame) + (at & ~PAGE_MASK),
                   (const uint8_t *)from + done, chunk);
        spin_unlock(&page->lock);
        if (!ready)
            return false;
        done += chunk;
    }
    return true;
}

static int add_mapping(struct process *process, uint64_t start, uint64_t end, uint32_t prot)
{
    struct space *space = process->space;
    spin_lock(&space->lock);
    int error = space_insert(space, start, end - start, prot);
    spin_unlock(&space->lock);
    return error ? ERR_NO_MEMORY : 0;
}

static int load_segments(struct process *process, const struct ustar_file *file,
                         const struct elf_image *image)
{
    for (uint32_t i = 0; i < image->segment_count; i++) {
        const struct elf_segment *segment = &image->segments[i];
        uint64_t start = segment->address & PAGE_MASK;
        uint64_t end = (segment->address + segment->memory_size + PAGE_SIZE - 1) & PAGE_MASK;
        int error = add_mapping(process, start, end, segment->protection);
        if (error)
            return error;
        if (!put_bytes(process, segment->address, file->data + segment->file_offset,
                       segment->file_size))
            return ERR_NO_MEMORY;
    }
    return 0;
}

struct found_kinds {
    bool seen[INSN_KIND_COUNT];
};

static void note_untrappable(void *context, size_t offset, const struct insn *insn)
{
    (void)offset;
    ((struct found_kinds *)context)->seen[insn->kind] = true;
}

/* Instructions whose results no recorder can trap on this CPU: the program may use them (the sweep
 * cannot tell code from data), so the recording carries a warning. */
static void scan_segments(struct process *process, const struct ustar_file *file,
                          const struct elf_image *image)
{
    struct found_kinds found = {{false}};
    for (uint32_t i = 0; i < image->segment_count; i++)
        if (image->segments[i].protection & ABI_PROT_EXEC)
            insn_scan(file->data + image->segments[i].file_offset, image->segments[i].file_size,
                      note_untrappable, &found);
    size_t used = 0;
    for (int kind = 0; kind < INSN_KIND_COUNT; kind++)
        if (found.seen[kind] && used < sizeof(process->warnings))
            used += (size_t)format_text(process->warnings + used, sizeof(process->warnings) - used,
                                        "%s%s", used ? ", " : "", insn_kind_name(kind));
}

/* Grows downwards from the top of the stack while it is being filled. */
struct stack_builder {
    struct process *process;
    uint64_t pointer;
    bool failed;
};

static uint64_t stack_push(struct stack_builder *stack, const void *bytes, uint64_t length)
{
    stack->pointer -= length;
    if (!put_bytes(stack->process, stack->pointer, bytes, length))
        stack->failed = true;
    return stack->pointer;
}

static uint64_t push_vectors(struct stack_builder *stack, const struct elf_image *image,
                             const uint64_t *argv, uint64_t random)
{
    const uint64_t auxiliary[] = {
        ABI_AT_PHDR,   image->phdr_address,
        ABI_AT_PHENT,  image->phdr_entry_size,
        ABI_AT_PHNUM,  image->phdr_count,
        ABI_AT_PAGESZ, PAGE_SIZE,
        ABI_AT_ENTRY,  image->entry,
        ABI_AT_RANDOM, random,
        ABI_AT_NULL,   0,
    };
    uint64_t argc = (uint64_t)stack->process->argc, zero = 0;
    uint64_t total = sizeof(auxiliary) + 8 /* envp */ + (argc + 1) * 8 + 8 /* argc */;
    stack->pointer &= ~15ull;
    if ((stack->pointer - total) & 15)
        stack->pointer -= 8;
    stack_push(stack, auxiliary, sizeof(auxiliary));
    stack_push(stack, &zero, sizeof(zero));
    stack_push(stack, &zero, sizeof(zero));
    stack_push(stack, argv, argc * 8);
    return stack_push(stack, &argc, sizeof(argc));
}

/* Fixed for a program and its name, so that native runs, recordings and replays agree. */
static void make_random(struct process *process)
{
    struct hash hash;
    hash_init(&hash, PROCESS_RANDOM_BYTES);
    hash_update(&hash, process->name, strlen(process->name));
    hash_final(&hash, process->random);
}

static int build_stack(struct process *process, const struct elf_image *image, uint64_t *pointer)
{
    int error =
        add_mapping(process, STACK_TOP - STACK_SIZE, STACK_TOP, ABI_PROT_READ | ABI_PROT_WRITE);
    if (error)
        return error;
    struct stack_builder stack = {.process = process, .pointer = STACK_TOP};
    uint64_t argv[PROCESS_MAX_ARGS];
    for (int i = 0; i < process->argc; i++)
        argv[i] = stack_push(&stack, process->argv[i], strlen(process->argv[i]) + 1);
    make_random(process);
    uint64_t random = stack_push(&stack, process->random, PROCESS_RANDOM_BYTES);
    *pointer = push_vectors(&stack, image, argv, random);
    return stack.failed ? ERR_NO_MEMORY : 0;
}

static int copy_arguments(struct process *process, int count, char **words)
{
    size_t used = 0;
    if (count > PROCESS_MAX_ARGS)
        return ERR_USAGE;
    for (int i = 0; i < count; i++) {
        size_t length = strlen(words[i]) + 1;
        if (used + length > sizeof(process->arguments))
            return ERR_USAGE;
        process->argv[i] = memcpy(process->arguments + used, words[i], length);
        used += length;
    }
    process->argc = count;
    return 0;
}

static int load(struct process *process, const struct ustar_file *file, struct elf_image *image,
                int count, char **words)
{
    uint64_t stack = 0;
    int error = elf_parse(file->data, file->size, image);
    if (error)
        printk("%s: %s\n", words[0], image->reason);
    if (!error)
        error = copy_arguments(process, count, words);
    if (!error)
        error = load_segments(process, file, image);
    if (!error)
        error = build_stack(process, image, &stack);
    if (error)
        return error;
    struct thread *thread = process_add_thread(process);
    if (!thread)
        return ERR_NO_MEMORY;
    thread_user_frame(thread)->rip = image->entry;
    thread_user_frame(thread)->rsp = stack;
    scan_segments(process, file, image);
    return 0;
}

struct loader_buffers {
    struct ustar_file file;
    struct elf_image image;
};

struct process *process_create(int count, char **words, int *error)
{
    struct loader_buffers *buffers = kzalloc(sizeof(*buffers));
    struct process *process = NULL;
    *error = buffers ? programs_find(words[0], &buffers->file) : ERR_NO_MEMORY;
    if (!*error) {
        uint32_t pid = __atomic_fetch_add(&next_pid, PROCESS_MAX_THREADS, __ATOMIC_RELAXED);
        process = process_create_empty(words[0], pid, error);
    }
    if (!*error)
        *error = load(process, &buffers->file, &buffers->image, count, words);
    if (*error && process) {
        process_destroy(process);
        process = NULL;
    }
    kfree(buffers);
    return process;
}
