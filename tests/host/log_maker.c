/* SPDX-License-Identifier: MIT */
/* The file that a recorder would have written of made threads. */
#include "tests/host/log_maker_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/hash.h"
#include "tests/host/random.h"

/* --- the file --- */

void maker_put_chunk(struct maker *maker, uint8_t *bytes, enum log_chunk_kind kind, uint32_t slot,
                     uint32_t length)
{
    struct made_log *log = maker->log;
    uint32_t total = log_chunk_seal(bytes, kind, slot, length, maker->file_id, log->chunk_count);

    if (log->size + total > maker->room) {
        maker->room = 2 * maker->room + LOG_CHUNK_MAX;
        log->bytes = realloc(log->bytes, maker->room);
    }
    if (log->chunk_count == maker->chunk_room) {
        maker->chunk_room = 2 * maker->chunk_room + 64;
        log->chunks = realloc(log->chunks, maker->chunk_room * sizeof *log->chunks);
    }
    log->chunks[log->chunk_count++] = log->size;
    memcpy(log->bytes + log->size, bytes, total);
    log->size += total;
}

/* A chunk of a structure and `more` bytes behind it. */
static void put(struct maker *maker, enum log_chunk_kind kind, uint32_t slot, const void *structure,
                size_t size, const void *more, size_t more_size)
{
    static _Alignas(8) uint8_t bytes[LOG_CHUNK_MAX];

    memcpy(bytes + sizeof(struct log_chunk), structure, size);
    if (more_size)
        memcpy(bytes + sizeof(struct log_chunk) + size, more, more_size);
    maker_put_chunk(maker, bytes, kind, slot, (uint32_t)(size + more_size));
}

void maker_put_pad(struct maker *maker)
{
    const uint8_t zeroes[4096] = {0};

    if (maker->recipe->pads)
        put(maker, LOG_CHUNK_PAD, 0, zeroes, random_below(&maker->seed, 300), NULL, 0);
}

static void fill_random(struct maker *maker, void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)bytes)[i] = (uint8_t)random_u64(&maker->seed);
}

/* --- the checkpoint --- */

static void fill_output(struct log_header *header)
{
    struct hash hash;

    header->output_bytes = 6;
    hash_init(&hash, 16);
    hash_update(&hash, "begin\n", 6);
    memcpy(header->output_state, hash.state, sizeof header->output_state);
    memcpy(header->output_count, hash.count, sizeof header->output_count);
    memcpy(header->output_block, hash.block, sizeof header->output_block);
    header->output_used = hash.used;
    header->output_digest_size = hash.digest_size;
}

static void put_header(struct maker *maker)
{
    const char *program = maker->recipe->program ? maker->recipe->program : "made";
    bool counter = random_below(&maker->seed, 2);
    struct log_header header = {
        .version = LOG_FORMAT_VERSION,
        .page_size = LOG_PAGE_SIZE,
        .kernel = "log_maker",
        .program_bytes = 12345,
        .argument_count = 2,
        .pid = 7,
        .warnings = "RDRAND at 0x401234",
        .next_index = maker->first_threads,
        .unit = counter ? LOG_UNIT_COND : (uint32_t)random_below(&maker->seed, 2),
        .source_skid = counter ? 40 : 0,
        .source_cost_syscall = counter,
        .cpus = 4,
        .cpu_vendor = "GenuineIntel",
        .cpu_brand = "a processor of the tests",
        .cpu_signature = 0x000906ea,
        .guards = LOG_GUARD_TSC | LOG_GUARD_UMIP,
        .fpu_components = maker->fpu_bytes > 512 ? 7 : 3,
        .fpu_bytes = maker->fpu_bytes,
        .mxcsr_mask = 0xffff,
    };

    memcpy(header.magic, LOG_FILE_MAGIC, sizeof header.magic);
    strncpy(header.program, program, sizeof header.program - 1);
    strncpy(header.arguments, program, sizeof header.program - 1);
    strcpy(header.arguments + strlen(header.arguments) + 1, "3");
    strcpy(header.source, counter ? "pmc" : "step");
    strcpy(header.source_model, counter ? "Skylake" : "");
    fill_random(maker, header.program_hash, sizeof header.program_hash);
    fill_random(maker, header.random, sizeof header.random);
    fill_output(&header);
    put(maker, LOG_CHUNK_HEADER, 0, &header, sizeof header, NULL, 0);
}

static void put_vmas(struct maker *maker)
{
    const struct log_vma vmas[] = {
        {.start = TEXT_BASE, .end = TEXT_BASE + 0x2000, .prot = 5},
        {.start = DATA_BASE, .end = DATA_BASE + maker->recipe->pages * LOG_PAGE_SIZE, .prot = 3},
        {.start = STACK_BASE, .end = STACK_BASE + LOG_MAX_SLOTS * LOG_PAGE_SIZE, .prot = 3},
    };

    for (size_t i = 0; i < sizeof vmas / sizeof vmas[0]; i++)
        put(maker, LOG_CHUNK_VMA, 0, &vmas[i], sizeof vmas[i], NULL, 0);
}

/* A thread as the system call start_rec finds it, FPU state as it is initially. */
static void put_thread(struct maker *maker, uint32_t slot)
{
    uint8_t fpu[1024] = {0x7f, 0x03, [24] = 0x80, [25] = 0x1f};
    struct log_thread thread = {
        .index = slot,
        .fpu_bytes = maker->fpu_bytes,
        .r15 = random_u64(&maker->seed),
        .rbx = slot,
        .rcx = maker->thread[slot].point.rcx,
        .rax = 286,
        .rip = maker->thread[slot].point.rip,
        .cs = 0x33,
        .rflags = 0x202,
        .rsp = STACK_BASE + (slot + 1) * LOG_PAGE_SIZE - 64,
        .ss = 0x2b,
        .fs_base = DATA_BASE + 8 * slot,
    };

    fill_random(maker, fpu + 160, 256); /* XMM0 … 15 */
    fpu[512] = maker->fpu_bytes > 512 ? 3 : 0;
    put(maker, LOG_CHUNK_THREAD, slot, &thread, sizeof thread, fpu, maker->fpu_bytes);
}

static void put_page(struct maker *maker, uint64_t address)
{
    struct log_page page = {.address = address};
    uint8_t content[LOG_PAGE_SIZE] = {0};

    fill_random(maker, content, 64);
    put(maker, LOG_CHUNK_PAGE, 0, &page, sizeof page, content, sizeof content);
}

static void put_checkpoint(struct maker *maker)
{
    struct log_begin begin = {.vmas = 3, .threads = maker->first_threads};

    put_header(maker);
    put_vmas(maker);
    for (uint32_t slot = 0; slot < maker->first_threads; slot++)
        put_thread(maker, slot);
    maker_put_pad(maker);
    if (maker->recipe->pages > 1)
        put_page(maker, TEXT_BASE);
    for (uint32_t i = 0; i < maker->recipe->pages && i < 8; i += 2) {
        put_page(maker, DATA_BASE + i * LOG_PAGE_SIZE);
        begin.pages++;
    }
    if (maker->recipe->pages > 1)
        put_page(maker, STACK_BASE);
    begin.pages += maker->recipe->pages > 1 ? 2 : 0;
    put(maker, LOG_CHUNK_BEGIN, 0, &begin, sizeof begin, NULL, 0);
}

/* --- the end --- */

static void put_end(struct maker *maker)
{
    bool complete = maker->recipe->end == LOG_VERDICT_COMPLETE;
    struct log_end_thread threads[LOG_MAX_SLOTS] = {0};
    struct log_end end = {
        .complete = complete,
        .slots = maker->threads,
        .elapsed_ns = 1234567,
        .ended = complete,
        .exit_status = complete ? 3 : 0,
    };

    for (uint32_t slot = 0; slot < maker->threads; slot++)
        threads[slot] =
            (struct log_end_thread){maker->thread[slot].point.ticks, maker->thread[slot].events};
    if (!complete)
        strcpy(end.reason, "the disk is full");
    if (complete) {
        fill_random(maker, end.hash, sizeof end.hash);
        fill_random(maker, end.output_hash, sizeof end.output_hash);
    }
    put(maker, LOG_CHUNK_END, 0, &end, sizeof end, threads, maker->threads * sizeof threads[0]);
}

static void begin(struct maker *maker, const struct log_recipe *recipe, struct made_log *log)
{
    assert(recipe->threads >= 1 && recipe->threads <= LOG_MAX_SLOTS);
    assert(recipe->pages >= 1 && recipe->pages <= MADE_MAX_PAGES);
    memset(maker, 0, sizeof *maker);
    memset(log, 0, sizeof *log);
    maker->recipe = recipe;
    maker->log = log;
    maker->seed = recipe->seed * 0x9e3779b97f4a7c15ull | 1;
    maker->file_id = random_u64(&maker->seed);
    maker->first_threads = maker->threads = recipe->threads - recipe->threads / 3;
    maker->fpu_bytes = random_below(&maker->seed, 2) ? 832 : 512;
    maker->page = calloc(recipe->pages, sizeof *maker->page);
    for (uint32_t i = 0; i < recipe->pages; i++)
        maker->page[i].writer = NOBODY;
    for (uint32_t slot = 0; slot < recipe->threads; slot++) {
        maker->thread[slot].block = aligned_alloc(8, LOG_CHUNK_MAX);
        maker->thread[slot].point.rip = maker_text_address(maker);
    }
}

void log_make(const struct log_recipe *recipe, struct made_log *log)
{
    static struct maker maker;

    begin(&maker, recipe, log);
    put_checkpoint(&maker);
    while (maker.events < recipe->events)
        maker_step(&maker);
    if (recipe->end == LOG_VERDICT_COMPLETE)
        maker_end_threads(&maker);
    for (uint32_t slot = 0; slot < maker.threads; slot++)
        maker_put_block(&maker, slot);
    if (recipe->end != LOG_VERDICT_CUT)
        put_end(&maker);
    if (recipe->end != LOG_VERDICT_CUT)
        maker_put_pad(&maker);
    for (uint32_t slot = 0; slot < recipe->threads; slot++)
        free(maker.thread[slot].block);
    free(maker.page);
}

void made_log_free(struct made_log *log)
{
    free(log->bytes);
    free(log->chunks);
    memset(log, 0, sizeof *log);
}

/* --- for who reads them --- */

bool log_chunk_reseal(uint8_t *bytes, size_t size)
{
    struct log_chunk chunk;
    const size_t at = offsetof(struct log_chunk, crc);

    if (size < sizeof chunk)
        return false;
    memcpy(&chunk, bytes, sizeof chunk);
    if (LOG_CHUNK_BYTES(chunk.length) > size)
        return false;
    memset(bytes + at, 0, sizeof chunk.crc);
    uint32_t crc = crc32c(0, bytes, LOG_CHUNK_BYTES(chunk.length));
    memcpy(bytes + at, &crc, sizeof crc);
    return true;
}

static bool read_memory(void *context, uint64_t offset, void *out, uint32_t length)
{
    const struct log_memory *memory = context;

    assert(offset <= memory->size && length <= memory->size - offset);
    if (memory->fails_at && offset + length > memory->fails_at)
        return false;
    memcpy(out, memory->bytes + offset, length);
    return true;
}

struct log_source log_memory_source(struct log_memory *memory)
{
    return (struct log_source){read_memory, memory, memory->size};
}
