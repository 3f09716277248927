/* SPDX-License-Identifier: MIT */
/* Console output from all CPUs at once. Whether it came out whole, line by line, is for the script
 * to see (tests/kernel/selftest.sh): lines `# line THREAD NUMBER <same letter 60 times>`.
 */
#include "arch/x86/cpu.h"
#include "kernel/console.h"
#include "kernel/printf.h"
#include "kernel/string.h"
#include "kernel/thread.h"
#include "tests/kernel/suite.h"

#define LINES 40
#define LETTERS 60
#define LONG_LINES 30 /* 80 bytes each: together more than the console writes as one */

static void print_lines(unsigned index, void *argument)
{
    uint32_t *lines = argument;
    char letters[LETTERS + 1];

    memset(letters, 'a' + (int)(index % 26), LETTERS);
    letters[LETTERS] = 0;
    for (unsigned i = 0; i < LINES; i++) {
        printk("# line %u %u %s\n", index, i, letters);
        __atomic_add_fetch(lines, 1, __ATOMIC_RELAXED);
        if (i % 8 == 0)
            thread_yield();
    }
}

/* One text of many lines: may be cut, but only between lines. */
static void print_block(unsigned index, void *argument)
{
    static char blocks[16][LONG_LINES * (LETTERS + 32)];
    char *block = blocks[index % 16], letters[LETTERS + 1];
    size_t used = 0;
    uint32_t *lines = argument;

    memset(letters, 'A' + (int)(index % 26), LETTERS);
    letters[LETTERS] = 0;
    for (unsigned i = 0; i < LONG_LINES; i++)
        used += (size_t)format_text(block + used, sizeof blocks[0] - used, "# line %u %u %s\n",
                                    index + 100, i, letters);
    console_write(block, used);
    __atomic_add_fetch(lines, LONG_LINES, __ATOMIC_RELAXED);
}

static void run(void)
{
    uint32_t lines = 0;
    unsigned threads = 2 * cpu_count < 16 ? 2 * cpu_count : 16;

    crowd_run(threads, print_lines, &lines);
    crowd_run(threads, print_block, &lines);
    printk("# lines in all: %u\n", lines);
    is_equal(lines, threads * (LINES + LONG_LINES), "%u threads print", threads);
    printk("# an unfinished line");
    bool open = console_line_is_open();
    crowd_run(1, print_lines, &lines); /* another writer, which begins a line of its own */
    ok(open && !console_line_is_open(), "a line left unfinished is ended by the next writer");
}

const struct suite suite_console = {"console", run};
