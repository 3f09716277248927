/* SPDX-License-Identifier: MIT */
/* The oracle's running hash: what makes no difference, and that everything else does. */
#include "tests/host/tap.h"
#include "tools/qemu-pmu/pmu_classify.h"
#include "tools/qemu-pmu/pmu_oracle_thread.h"

static unsigned chunks;
static uint64_t chunk_address;

static void on_chunk(struct oracle_thread *thread, uint64_t address)
{
    (void)thread;
    chunks++;
    chunk_address = address;
}

static struct oracle_thread begin(uint64_t step)
{
    struct oracle_thread thread;

    oracle_thread_init(&thread, step);
    thread.chunk = on_chunk;
    return thread;
}

static void start(struct oracle_thread *thread, uint64_t address, enum oracle_shape shape,
                  unsigned accesses)
{
    oracle_thread_starts(thread, oracle_pack(address, shape, accesses));
}

static void load(struct oracle_thread *thread, uint64_t address, uint64_t value)
{
    oracle_thread_access(thread, address, 3, false, value, 0);
}

static void store(struct oracle_thread *thread, uint64_t address, uint64_t value)
{
    oracle_thread_access(thread, address, 3, true, value, 0);
}

/* `push [mem]` at 0x1000, with something else before and after it. */
static uint64_t plain(uint64_t place, uint64_t from, uint64_t value, unsigned shift, bool write)
{
    struct oracle_thread thread = begin(1000);

    start(&thread, 0xfff, ORACLE_PLAIN, 0);
    start(&thread, place, ORACLE_PLAIN, 0);
    oracle_thread_access(&thread, from, shift, write, value, 7);
    store(&thread, 0x9000, value);
    start(&thread, 0x2000, ORACLE_PLAIN, 0);
    oracle_thread_ended(&thread, 0x2003);
    return thread.hash;
}

static void test_differences(void)
{
    uint64_t hash = plain(0x1000, 0x8000, 5, 3, false);

    is_u64(plain(0x1000, 0x8000, 5, 3, false), hash, "the same gives the same hash");
    ok(plain(0x1001, 0x8000, 5, 3, false) != hash, "another RIP does not");
    ok(plain(0x1000, 0x8008, 5, 3, false) != hash, "nor does another address");
    ok(plain(0x1000, 0x8000, 6, 3, false) != hash, "nor another value");
    ok(plain(0x1000, 0x8000, 5, 2, false) != hash, "nor another size");
    ok(plain(0x1000, 0x8000, 5, 4, false) != hash, "nor a wider one");
    ok(plain(0x1000, 0x8000, 5, 3, true) != hash, "nor a store instead of a load");
}

/* The same instruction after faults on its second access, with other values meanwhile. */
static void test_restarts(void)
{
    struct oracle_thread thread = begin(1000), straight = begin(1000);

    for (unsigned i = 0; i < 3; i++) {
        start(&thread, 0x1000, ORACLE_PLAIN, 0);
        load(&thread, 0x8000, i);
    }
    start(&thread, 0x1000, ORACLE_PLAIN, 0);
    load(&thread, 0x8000, 77);
    store(&thread, 0x9000, 77);
    oracle_thread_ended(&thread, 0x1006);

    start(&straight, 0x1000, ORACLE_PLAIN, 0);
    load(&straight, 0x8000, 77);
    store(&straight, 0x9000, 77);
    oracle_thread_ended(&straight, 0x1006);
    is_u64(thread.hash, straight.hash, "what did not retire is not hashed");
    is_u64(thread.count, 1, "nor counted");

    start(&thread, 0x1006, ORACLE_PLAIN, 0);
    load(&thread, 0x8000, 78);
    oracle_thread_ended(&thread, 0x1006);
    is_u64(thread.hash, straight.hash, "neither at the thread's end");
}

static void test_branches(void)
{
    struct oracle_thread thread = begin(1000);

    for (unsigned i = 0; i < 5; i++)
        start(&thread, 0x1000, ORACLE_BRANCH, 0);
    oracle_thread_ended(&thread, 0x1000);
    is_u64(thread.count, 5, "a jump to itself retires each time");

    start(&thread, 0x1000, ORACLE_BRANCH, 2);
    load(&thread, 0x8000, 1);
    start(&thread, 0x1000, ORACLE_BRANCH, 2);
    load(&thread, 0x8000, 0x1000);
    store(&thread, 0x9000, 0x1006);
    start(&thread, 0x1000, ORACLE_BRANCH, 2);
    oracle_thread_ended(&thread, 0x1000);
    is_u64(thread.count, 6, "a call to itself only with all its accesses");
}

/* rep movs of `count` elements, faulting at the store of iteration `fault` (0: never), entered anew
 * after each `slice`. Returns the hash at the end, or amid it. */
static uint64_t copy(unsigned count, unsigned fault, unsigned slice, bool amid)
{
    struct oracle_thread thread = begin(1000);

    start(&thread, 0x1000, ORACLE_REP, 2);
    for (unsigned i = 1; i <= count; i++) {
        load(&thread, 0x8000 + 8 * i, i);
        if (i == fault) {
            start(&thread, 0x1000, ORACLE_REP, 2);
            load(&thread, 0x8000 + 8 * i, i);
        }
        store(&thread, 0x9000 + 8 * i, i);
        if (i % slice == 0)
            start(&thread, 0x1000, ORACLE_REP, 2);
    }
    if (amid)
        load(&thread, 0xa000, 1);
    oracle_thread_ended(&thread, amid ? 0x1000 : 0x1003);
    is_u64(thread.count, !amid, "a rep of %u: %s", count, amid ? "not retired" : "one instruction");
    return thread.hash;
}

static void test_rep(void)
{
    uint64_t hash = copy(20, 0, 1000, false);

    is_u64(copy(20, 7, 1000, false), hash, "a fault amid an iteration makes no difference");
    is_u64(copy(20, 1, 3, false), hash, "nor do interruptions");
    is_u64(copy(20, 20, 1, false), hash, "nor both after each");
    ok(copy(19, 0, 1000, false) != hash, "another count does");
    is_u64(copy(20, 3, 5, true), copy(20, 0, 1, true), "amid it whole iterations count");
    ok(copy(20, 3, 5, true) != copy(19, 3, 5, true), "all of them");
    ok(copy(20, 3, 5, true) != 0, "at all");
}

/* PUSHF: by the CPU, after a fault, or by the kernel. */
static void test_emulation(void)
{
    struct oracle_thread native = begin(1000), emulated = begin(1000);

    start(&native, 0x1000, ORACLE_QUIET, 0);
    start(&native, 0x1000, ORACLE_QUIET, 0);
    store(&native, 0x9000, 0x202);
    start(&native, 0x1001, ORACLE_PLAIN, 0);
    oracle_thread_ended(&native, 0x1002);

    start(&emulated, 0x1000, ORACLE_QUIET, 0);
    oracle_thread_emulated(&emulated, 0x1000);
    start(&emulated, 0x1001, ORACLE_PLAIN, 0);
    oracle_thread_ended(&emulated, 0x1002);
    is_u64(emulated.hash, native.hash, "the kernel carries an instruction out: the same hash");
    is_u64(emulated.count, 2, "and the same count");
}

static void test_chunks(void)
{
    struct oracle_thread thread = begin(4);

    chunks = 0;
    for (uint64_t i = 1; i <= 11; i++)
        start(&thread, 0x1000 + i, ORACLE_PLAIN, 0);
    is_u64(chunks, 2, "an entry for every step of retired instructions");
    is_u64(chunk_address, 0x1008, "with the place of the last of them");
    oracle_thread_ended(&thread, 0x100b);
    is_u64(thread.count, 10, "an instruction that only started is not counted");
}

static void test_classes(void)
{
    static const struct {
        const char *text;
        uint8_t bytes[8];
        enum oracle_shape shape;
        unsigned accesses;
    } table[] = {
        {"add rax, rbx", {0x48, 0x01, 0xd8}, ORACLE_PLAIN, 0},
        {"jz $", {0x74, 0xfe}, ORACLE_BRANCH, 0},
        {"loop $", {0xe2, 0xfe}, ORACLE_BRANCH, 0},
        {"jmp rax", {0xff, 0xe0}, ORACLE_BRANCH, 0},
        {"jmp [rax]", {0xff, 0x20}, ORACLE_BRANCH, 1},
        {"call $+5", {0xe8, 0, 0, 0, 0}, ORACLE_BRANCH, 1},
        {"call rax", {0xff, 0xd0}, ORACLE_BRANCH, 1},
        {"call [rax]", {0xff, 0x10}, ORACLE_BRANCH, 2},
        {"ret", {0xc3}, ORACLE_BRANCH, 1},
        {"rep movsq", {0xf3, 0x48, 0xa5}, ORACLE_REP, 2},
        {"repe cmpsb", {0xf3, 0xa6}, ORACLE_REP, 2},
        {"rep stosb", {0xf3, 0xaa}, ORACLE_REP, 1},
        {"repne scasb", {0xf2, 0xae}, ORACLE_REP, 1},
        {"rep lodsb", {0xf3, 0xac}, ORACLE_REP, 1},
        {"movsb", {0xa4}, ORACLE_PLAIN, 0},
        {"pushfq", {0x9c}, ORACLE_QUIET, 0},
        {"mov ss, eax", {0x8e, 0xd0}, ORACLE_QUIET, 0},
        {"fxsave [rax]", {0x0f, 0xae, 0x00}, ORACLE_QUIET, 0},
        {"xrstor [rax]", {0x0f, 0xae, 0x28}, ORACLE_QUIET, 0},
        {"ldmxcsr [rax]", {0x0f, 0xae, 0x10}, ORACLE_PLAIN, 0},
        {"lfence", {0x0f, 0xae, 0xe8}, ORACLE_PLAIN, 0},
        {"cmpxchg16b [rax]", {0x48, 0x0f, 0xc7, 0x08}, ORACLE_PLAIN, 0},
        {"xsavec [rax]", {0x0f, 0xc7, 0x20}, ORACLE_QUIET, 0},
        {"fnsave [rax]", {0xdd, 0x30}, ORACLE_QUIET, 0},
        {"fldenv [rax]", {0xd9, 0x20}, ORACLE_QUIET, 0},
        {"fld qword [rax]", {0xdd, 0x00}, ORACLE_PLAIN, 0},
        {"fld tword [rax]", {0xdb, 0x28}, ORACLE_QUIET, 0},
        {"fbstp [rax]", {0xdf, 0x30}, ORACLE_QUIET, 0},
        {"fild qword [rax]", {0xdf, 0x28}, ORACLE_PLAIN, 0},
        {"syscall", {0x0f, 0x05}, ORACLE_PLAIN, 0},
        {"not an instruction", {0x06}, ORACLE_PLAIN, 0},
    };

    for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        is_u64(pmu_classify_for_oracle(0x401000, table[i].bytes, sizeof(table[i].bytes)),
               oracle_pack(0x401000, table[i].shape, table[i].accesses), "%s", table[i].text);
}

int main(void)
{
    test_differences();
    test_restarts();
    test_branches();
    test_rep();
    test_emulation();
    test_chunks();
    test_classes();
    return done();
}
