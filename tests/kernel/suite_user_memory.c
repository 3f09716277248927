/* SPDX-License-Identifier: MIT */
/* The way to a program's memory with every kind of pointer that a program can pass.
 *
 * The test's own thread becomes one of an empty process meanwhile; it does not block then, so
 * nobody sees it.
 */
#include "mm/user_memory.h"

#include "arch/x86/cpu.h"
#include "arch/x86/layout.h"
#include "arch/x86/paging.h"
#include "kernel/err.h"
#include "kernel/process.h"
#include "kernel/string.h"
#include "mm/frames.h"
#include "mm/heap.h"
#include "tests/kernel/suite.h"

#define AREA 0x10000000ull
#define WRITABLE AREA                    /* two pages */
#define READABLE (AREA + 2 * PAGE_SIZE)  /* one */
#define NO_RIGHTS (AREA + 3 * PAGE_SIZE) /* one */
#define UNMAPPED (AREA + 4 * PAGE_SIZE)  /* from here on nothing */
#define LAST_PAGE (USER_END - PAGE_SIZE)

static struct process *process;

static int map(uint64_t start, uint64_t length, uint32_t prot)
{
    spin_lock(&process->space->lock);
    int error = space_insert(process->space, start, length, prot);
    spin_unlock(&process->space->lock);
    return error;
}

static bool begin(void)
{
    char name[] = "user memory";
    int error;

    process = process_create_empty(name, 1, &error);
    if (!process)
        return false;
    error = map(WRITABLE, 2 * PAGE_SIZE, ABI_PROT_READ | ABI_PROT_WRITE) +
            map(READABLE, PAGE_SIZE, ABI_PROT_READ) + map(NO_RIGHTS, PAGE_SIZE, 0) +
            map(LAST_PAGE, PAGE_SIZE, ABI_PROT_READ | ABI_PROT_WRITE);
    return error == 0;
}

/* --- with the process as the current thread's --- */

struct results {
    int read, write;
    size_t partial;
};

static struct results access(uint64_t address, size_t length)
{
    static uint8_t bytes[3 * PAGE_SIZE];
    struct results results;

    current_thread()->process = process;
    results.read = user_read(address, bytes, length);
    results.partial = user_read_partial(address, bytes, length);
    results.write = user_write(address, bytes, length);
    current_thread()->process = NULL;
    return results;
}

static void check(const char *what, uint64_t address, size_t length, int read, int write,
                  size_t partial)
{
    struct results results = access(address, length);

    is_equal(results.read, read, "read of %s", what);
    is_equal(results.write, write, "write to %s", what);
    is_equal(results.partial, partial, "bytes that can be read of %s", what);
    ok(spin_locks_held() == 0, "no lock is left after %s", what);
}

static void test_good_pointers(void)
{
    check("a writable page", WRITABLE + 1, 100, 0, 0, 100);
    check("two pages", WRITABLE + PAGE_SIZE - 50, 100, 0, 0, 100);
    check("a whole page", WRITABLE, PAGE_SIZE, 0, 0, PAGE_SIZE);
    check("nothing", WRITABLE, 0, 0, 0, 0);
    check("nothing, nowhere", 8, 0, 0, 0, 0);
    check("the last page", LAST_PAGE + PAGE_SIZE - 8, 8, 0, 0, 8);
}

static void test_bad_pointers(void)
{
    int bad = ERR_EFAULT;

    check("a read-only page", READABLE, 8, 0, bad, 8);
    check("a page without rights", NO_RIGHTS, 8, bad, bad, 0);
    check("an unmapped page", UNMAPPED, 8, bad, bad, 0);
    check("address 0", 0, 8, bad, bad, 0);
    check("the end of the user half", USER_END, 8, bad, bad, 0);
    check("what crosses the end of the user half", USER_END - 4, 8, bad, bad, 4);
    check("the first non-canonical address", 0x0000800000000000ull, 8, bad, bad, 0);
    check("the last non-canonical address", 0xffff7fffffffffffull, 8, bad, bad, 0);
    check("the direct map", DIRECT_MAP_BASE + 0x1000, 8, bad, bad, 0);
    check("kernel text", (uint64_t)text_start, 8, bad, bad, 0);
    check("kernel data", (uint64_t)&process, 8, bad, bad, 0);
    check("the highest address", UINT64_MAX, 1, bad, bad, 0);
    check("what wraps", UINT64_MAX - 3, 8, bad, bad, 0);
    check("what runs from good to read-only", READABLE - 8, 16, 0, bad, 16);
    check("what runs from good to no rights", NO_RIGHTS - 8, 16, bad, bad, 8);
}

/* --- contents --- */

static void test_contents(void)
{
    static uint8_t out[2 * PAGE_SIZE], in[2 * PAGE_SIZE];
    uint64_t seed = 6;
    unsigned wrong = 0;

    current_thread()->process = process;
    for (unsigned i = 0; i < 300; i++) {
        uint64_t offset = suite_random(&seed) % (2 * PAGE_SIZE);
        size_t length = suite_random(&seed) % (2 * PAGE_SIZE - offset + 1);
        for (size_t at = 0; at < length; at++)
            out[at] = (uint8_t)suite_random(&seed);
        wrong += user_write(WRITABLE + offset, out, length) != 0;
        wrong += user_read(WRITABLE + offset, in, length) != 0 || memcmp(in, out, length) != 0;
    }
    current_thread()->process = NULL;
    is_equal(wrong, 0, "300 random pieces are read as they were written");
}

/* What comes before a bad page has been copied, nothing behind it. */
static void test_partial_write(void)
{
    uint8_t bytes[16], seen[8];

    memset(bytes, 0x5a, sizeof bytes);
    current_thread()->process = process;
    int error = user_write(READABLE - 8, bytes, 16);
    user_read(READABLE - 8, seen, 8);
    bool first = memcmp(seen, bytes, 8) == 0;
    user_read(READABLE, seen, 8);
    bool second = memcmp(seen, bytes, 8) != 0;
    current_thread()->process = NULL;
    ok(error == ERR_EFAULT && first && second, "a write stops at the page that refuses it");
}

/* --- looking into page tables --- */

static void test_peek(void)
{
    uint64_t root = process->space->root;
    uint32_t value = 0, text = 0x12345678;

    is_equal(user_peek(root, WRITABLE, &value, 4), 0, "what is not in the tables cannot be seen");
    space_fault(process->space, WRITABLE, true, false);
    ok(user_poke(root, WRITABLE + 8, &text, 4) && user_peek(root, WRITABLE + 8, &value, 4) == 4 &&
           value == text,
       "what is can be, and changed");
    is_equal(user_peek(root, WRITABLE + PAGE_SIZE - 2, &value, 4), 2, "up to the end of the page");
    ok(!user_poke(root, WRITABLE + PAGE_SIZE - 2, &text, 4), "half of a change is none");
    ok(!user_poke(root, (uint64_t)&text, &text, 4) &&
           user_peek(root, (uint64_t)&text, &value, 4) == 0,
       "the kernel's own memory is not the program's");
    space_fault(process->space, READABLE, false, false);
    ok(!user_poke(root, READABLE, &text, 4), "what is read-only stays so");
}

static void run(void)
{
    struct frames_stats before, after;
    uint64_t bytes = heap_bytes_in_use();

    frames_get_stats(&before);
    if (!ok(begin(), "a process with five pages"))
        return;
    test_good_pointers();
    test_bad_pointers();
    test_contents();
    test_partial_write();
    test_peek();
    process_destroy(process);
    frames_get_stats(&after);
    ok(heap_bytes_in_use() == bytes && after.free + 8 * 4 >= before.free,
       "and nothing of it is left");
}

const struct suite suite_user_memory = {"user-memory", run};
