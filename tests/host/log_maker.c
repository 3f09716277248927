/* SPDX-License-Identifier: MIT */
/* Threads that share pages by the CREW rule, and the file that a recorder would have written. */
#include "tests/host/log_maker.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/hash.h"
#include "replay/log_codec.h"
#include "tests/host/random.h"

#define TEXT_BASE 0x401000ull
#define DATA_BASE 0x404000ull
#define STACK_BASE 0x7fff00000000ull
#define OBJECTS 19
#define NOBODY LOG_MAX_SLOTS

struct maker_thread {
    struct log_coder coder;
    struct log_point point;
    uint64_t events;                /* so far */
    uint64_t seen[LOG_MAX_SLOTS];   /* events of others that it is known to come after */
    uint32_t in_block, block_bytes; /* events, coded bytes */
    uint8_t *block;                 /* room for a chunk */
    bool has_text;
};

struct maker_page {
    uint8_t rights[LOG_MAX_SLOTS];
    uint32_t writer;
    struct log_dep last_write;
};

struct maker {
    const struct log_recipe *recipe;
    struct made_log *log;
    uint64_t seed, file_id;
    size_t room, chunk_room; /* allocated in *log */
    uint32_t first_threads, threads;
    uint32_t fpu_bytes;
    struct maker_thread thread[LOG_MAX_SLOTS];
    struct maker_page *page;
    struct log_dep object_last[OBJECTS];
    uint64_t events;
};

/* --- the file --- */

/* Appends the payload that lies behind room for a chunk's head in `bytes`. */
static void put_chunk(struct maker *maker, uint8_t *bytes, enum log_chunk_kind kind, uint32_t slot,
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
    put_chunk(maker, bytes, kind, slot, (uint32_t)(size + more_size));
}

static void put_pad(struct maker *maker)
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

static uint64_t text_address(struct maker *maker)
{
    uint64_t text = maker->recipe->size ? maker->recipe->text : TEXT_BASE;
    uint64_t size = maker->recipe->size ? maker->recipe->size : 0x2000;
    uint64_t near = random_below(&maker->seed, 4) ? size / 8 + 1 : size; /* some code is hotter */

    return text + random_below(&maker->seed, near);
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
    put_pad(maker);
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

/* --- the streams --- */

static void put_block(struct maker *maker, uint32_t slot)
{
    struct maker_thread *thread = &maker->thread[slot];
    struct log_block block = {.first_event = thread->events - thread->in_block + 1,
                              .events = thread->in_block};

    if (!thread->in_block)
        return;
    memcpy(thread->block + sizeof(struct log_chunk), &block, sizeof block);
    put_chunk(maker, thread->block, LOG_CHUNK_STREAM, slot,
              (uint32_t)sizeof block + thread->block_bytes);
    memset(&thread->coder, 0, sizeof thread->coder);
    thread->in_block = thread->block_bytes = 0;
    if (random_below(&maker->seed, 8) == 0)
        put_pad(maker);
}

/* Gives the event the thread's point and appends it; returns its number. */
static uint64_t add_event(struct maker *maker, uint32_t slot, struct log_event *event)
{
    struct maker_thread *thread = &maker->thread[slot];
    uint8_t *start = thread->block + sizeof(struct log_chunk) + sizeof(struct log_block);

    if (thread->block_bytes + LOG_EVENT_MAX_BYTES > LOG_BLOCK_BYTES)
        put_block(maker, slot);
    event->point = thread->point;
    thread->block_bytes += (uint32_t)log_encode(&thread->coder, event, start + thread->block_bytes);
    thread->in_block++;
    maker->events++;
    return ++thread->events;
}

/* The thread runs for a while. */
static void run(struct maker *maker, uint32_t slot)
{
    struct log_point *point = &maker->thread[slot].point;
    uint64_t ticks = random_below(&maker->seed, 1ull << random_below(&maker->seed, 12));

    *point = (struct log_point){
        .ticks = point->ticks + ticks,
        .rip = text_address(maker),
        .rcx = random_below(&maker->seed, 3) ? point->rcx : random_below(&maker->seed, 1000),
        .check = (uint32_t)random_u64(&maker->seed),
    };
}

/* The event comes after event `number` of another thread, unless that is known already. */
static void add_dep(struct maker *maker, uint32_t slot, struct log_event *event, struct log_dep dep)
{
    uint64_t *seen = &maker->thread[slot].seen[dep.slot];

    if (dep.event == 0 || dep.slot == slot || *seen >= dep.event)
        return;
    *seen = dep.event;
    event->deps[event->dep_count++] = dep;
}

/* Takes from `victim` what is in the way of the access, as the event that it is. */
static void demote(struct maker *maker, uint32_t victim, uint32_t index, uint8_t rights,
                   struct log_event *promotion, uint32_t slot)
{
    struct maker_page *page = &maker->page[index];
    struct log_event event = {
        .kind = LOG_DEMOTE, .page = DATA_BASE + index * LOG_PAGE_SIZE, .rights = rights};

    if (victim == slot || page->rights[victim] <= rights)
        return;
    run(maker, victim);
    uint64_t number = add_event(maker, victim, &event);
    if (page->writer == victim)
        page->last_write = (struct log_dep){victim, number};
    page->rights[victim] = rights;
    add_dep(maker, slot, promotion, (struct log_dep){victim, number});
}

static void acquire(struct maker *maker, uint32_t slot, uint32_t index, uint8_t rights)
{
    struct maker_page *page = &maker->page[index];
    struct log_event event = {
        .kind = LOG_PROMOTE, .page = DATA_BASE + index * LOG_PAGE_SIZE, .rights = rights};
    uint8_t left = rights == LOG_RIGHTS_WRITE ? LOG_RIGHTS_NONE : LOG_RIGHTS_READ;

    if (page->rights[slot] >= rights)
        return;
    for (uint32_t victim = 0; victim < maker->threads; victim++)
        demote(maker, victim, index, left, &event, slot);
    add_dep(maker, slot, &event, page->last_write);
    add_event(maker, slot, &event);
    page->rights[slot] = rights;
    page->writer = rights == LOG_RIGHTS_WRITE ? slot : NOBODY;
}

static void add(struct maker *maker, uint32_t slot, enum log_kind kind, uint64_t a, uint64_t b)
{
    struct log_event event = {.kind = (uint8_t)kind, .a = a, .b = b};

    add_event(maker, slot, &event);
}

static void use_object(struct maker *maker, uint32_t slot, uint32_t object)
{
    struct log_event event = {.kind = LOG_ORDER, .a = object};

    add_dep(maker, slot, &event, maker->object_last[object]);
    uint64_t number = add_event(maker, slot, &event);
    maker->object_last[object] = (struct log_dep){slot, number};
}

static void call_write(struct maker *maker, uint32_t slot, uint32_t index)
{
    struct log_event event = {
        .kind = LOG_ACCESS, .page = DATA_BASE + index * LOG_PAGE_SIZE, .rights = LOG_RIGHTS_READ};

    add(maker, slot, LOG_SYSCALL, 1, 0);
    use_object(maker, slot, 2);
    acquire(maker, slot, index, LOG_RIGHTS_READ);
    add_event(maker, slot, &event);
    add(maker, slot, LOG_RESULT, 1 + random_below(&maker->seed, 100), 0);
}

static void call_refused(struct maker *maker, uint32_t slot)
{
    struct log_event event = {.kind = LOG_REFUSED, .page = 0x1000, .rights = LOG_RIGHTS_WRITE};

    add(maker, slot, LOG_SYSCALL, 228, 0);
    add(maker, slot, LOG_VALUE, 2, random_u64(&maker->seed) >> 20);
    add_event(maker, slot, &event);
    add(maker, slot, LOG_RESULT, (uint64_t)-14, 0);
}

static void call_futex(struct maker *maker, uint32_t slot)
{
    add(maker, slot, LOG_SYSCALL, 202, 0);
    use_object(maker, slot, 3 + (uint32_t)random_below(&maker->seed, OBJECTS - 3));
    add(maker, slot, LOG_VALUE, 3, (uint64_t) - (int64_t)random_below(&maker->seed, 2) * 110);
    add(maker, slot, LOG_RESULT, 0, 0);
}

/* A page is given back; its views lose it, whoever they are. */
static void call_mprotect(struct maker *maker, uint32_t slot, uint32_t index)
{
    struct log_event promotion = {.kind = LOG_REVOKE, .page = DATA_BASE + index * LOG_PAGE_SIZE};
    struct maker_page *page = &maker->page[index];

    add(maker, slot, LOG_SYSCALL, 10, 0);
    use_object(maker, slot, 0);
    for (uint32_t victim = 0; victim < maker->threads; victim++)
        demote(maker, victim, index, LOG_RIGHTS_NONE, &promotion, slot);
    page->rights[slot] = LOG_RIGHTS_NONE;
    page->writer = NOBODY;
    page->last_write = (struct log_dep){slot, add_event(maker, slot, &promotion)};
    add(maker, slot, LOG_RESULT, 0, 0);
}

static void call_clone(struct maker *maker, uint32_t slot)
{
    uint32_t child = maker->threads;

    add(maker, slot, LOG_SYSCALL, 56, 0);
    use_object(maker, slot, 1);
    add(maker, slot, LOG_RESULT, 7 + child, 0);
    maker->threads++;
    run(maker, child);
    maker->thread[child].point.ticks = 0;
    use_object(maker, child, 1);
}

/* A thread's first events: its code. */
static void take_text(struct maker *maker, uint32_t slot)
{
    struct maker_thread *thread = &maker->thread[slot];
    struct log_event event = {.kind = LOG_PROMOTE,
                              .page = thread->point.rip & ~4095ull,
                              .rights = LOG_RIGHTS_READ | LOG_RIGHTS_EXECUTE};

    if (!thread->has_text)
        add_event(maker, slot, &event);
    thread->has_text = true;
}

/* Some pages are wanted much more than others. */
static uint32_t choose_page(struct maker *maker)
{
    uint32_t pages = maker->recipe->pages;

    if (random_below(&maker->seed, 3))
        pages = (pages + 7) / 8;
    return (uint32_t)random_below(&maker->seed, pages);
}

static void step(struct maker *maker)
{
    uint32_t slot = (uint32_t)random_below(&maker->seed, maker->threads);
    uint32_t index = choose_page(maker);

    take_text(maker, slot);
    run(maker, slot);
    switch (random_below(&maker->seed, 24)) {
    case 0:
        call_write(maker, slot, index);
        break;
    case 1:
        call_futex(maker, slot);
        break;
    case 2:
        if (random_below(&maker->seed, 4) == 0)
            call_refused(maker, slot);
        break;
    case 3:
        if (random_below(&maker->seed, 8) == 0)
            call_mprotect(maker, slot, index);
        break;
    case 4:
        add(maker, slot, LOG_VALUE, 1, maker->events * 1000);
        break;
    case 5:
        if (maker->threads < maker->recipe->threads)
            call_clone(maker, slot);
        break;
    case 6:
        if (random_below(&maker->seed, 8) == 0)
            add(maker, slot, LOG_OWNER, index, random_u64(&maker->seed));
        break;
    default:
        acquire(maker, slot, index,
                random_below(&maker->seed, 2) ? LOG_RIGHTS_WRITE : LOG_RIGHTS_READ);
    }
}

/* --- the end --- */

static void end_threads(struct maker *maker)
{
    for (uint32_t slot = 0; slot < maker->threads; slot++) {
        run(maker, slot);
        if (slot == 0) {
            add(maker, slot, LOG_SYSCALL, 231, 0);
            add(maker, slot, LOG_EXIT, 3, 0);
        } else {
            add(maker, slot, LOG_STOP, 0, 0);
        }
    }
}

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
        maker->thread[slot].point.rip = text_address(maker);
    }
}

void log_make(const struct log_recipe *recipe, struct made_log *log)
{
    static struct maker maker;

    begin(&maker, recipe, log);
    put_checkpoint(&maker);
    while (maker.events < recipe->events)
        step(&maker);
    if (recipe->end == LOG_VERDICT_COMPLETE)
        end_threads(&maker);
    for (uint32_t slot = 0; slot < maker.threads; slot++)
        put_block(&maker, slot);
    if (recipe->end != LOG_VERDICT_CUT)
        put_end(&maker);
    if (recipe->end != LOG_VERDICT_CUT)
        put_pad(&maker);
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
