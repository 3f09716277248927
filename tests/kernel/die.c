/* SPDX-License-Identifier: MIT */
/* Mistakes that must end the kernel in a panic which names them (tests/kernel/panics.sh).
 *
 * None of them returns: the command that does has found a hole.
 */
#include <stddef.h>

#include "arch/x86/cpu.h"
#include "arch/x86/layout.h"
#include "kernel/command.h"
#include "kernel/err.h"
#include "kernel/panic.h"
#include "kernel/probe_dynamic.h"
#include "kernel/printf.h"
#include "kernel/spinlock.h"
#include "kernel/string.h"
#include "kernel/thread.h"
#include "kernel/waitqueue.h"
#include "mm/frames.h"
#include "mm/heap.h"
#include "tests/kernel/probe_targets.h"
#include "tests/kernel/suite.h"

/* Through a volatile, so that no compiler knows what it is doing. */
static void *volatile target;

static void frame_double_free(void)
{
    uint64_t frame = frame_alloc();

    frame_free(frame);
    frame_free(frame);
}

static void frame_wrong_order(void)
{
    frames_free(frames_alloc(2), 1);
}

static void frame_not_ours(void)
{
    frame_free(IMAGE_TO_PHYS(text_start));
}

static void heap_double_free(void)
{
    target = kmalloc(100);
    kfree(target);
    kfree(target);
}

static void heap_double_free_large(void)
{
    target = kmalloc(100000);
    kfree(target);
    kfree(target);
}

static void heap_inside(void)
{
    target = kmalloc(100);
    kfree((char *)target + 16);
}

static void heap_not_ours(void)
{
    kfree(PHYS_TO_VIRT(frame_alloc()));
}

/* DEBUG builds only: a freed object, and a free frame, that somebody still writes to. */
static void heap_use_after_free(void)
{
    target = kmalloc(64);
    void *neighbour = kmalloc(64); /* keeps the slab */
    kfree(target);
    ((char *)target)[20] = 1;
    for (unsigned i = 0; i < 1000; i++)
        kmalloc(64);
    kfree(neighbour);
}

static void frame_use_after_free(void)
{
    uint64_t frame = frame_alloc();

    frame_free(frame);
    ((volatile char *)PHYS_TO_VIRT(frame))[2000] = 1;
    while (frame_alloc())
        continue;
}

static struct spinlock low = SPINLOCK_INIT(LOCK_VIEW, "die, low");
static struct spinlock high = SPINLOCK_INIT(LOCK_HEAP, "die, high");

static void lock_rank(void)
{
    spin_lock(&high);
    spin_lock(&low);
}

static void lock_equal_rank(void)
{
    static struct spinlock other = SPINLOCK_INIT(LOCK_VIEW, "die, other");

    spin_lock(&low);
    spin_lock(&other);
}

static void lock_twice(void)
{
    spin_lock(&low);
    spin_lock(&low);
}

static void lock_not_held(void)
{
    spin_unlock(&low);
}

static void lock_not_initialised(void)
{
    static struct spinlock nothing;

    spin_lock(&nothing);
}

/* A command that returns with a lock is noticed by whoever called it. */
static void lock_kept(void)
{
    spin_lock(&low);
}

static void sleep_with_lock(void)
{
    spin_lock(&low);
    suite_sleep_until(timer_now_ns() + 10000000000);
}

static void mutex_not_owner(void)
{
    static struct mutex mutex;

    mutex_init(&mutex, "die");
    mutex_unlock(&mutex);
}

static void mutex_twice(void)
{
    static struct mutex mutex;

    mutex_init(&mutex, "die");
    mutex_lock(&mutex);
    mutex_lock(&mutex);
}

static void write_text(void)
{
    target = text_start;
    *(volatile char *)target = 0;
}

static void write_rodata(void)
{
    target = rodata_start;
    *(volatile char *)target = 0;
}

/* A function that returns at once, in memory that may not be executed. */
static void execute(void *memory)
{
    *(volatile uint8_t *)memory = 0xc3;
    target = memory;
    ((void (*)(void))target)();
}

static void execute_data(void)
{
    static char code[16];

    execute(code);
}

static void execute_heap(void)
{
    execute(kmalloc(16));
}

static void execute_stack(void)
{
    char code[16];

    execute(code);
}

/* An int3 that belongs to nobody. */
static void breakpoint(void)
{
    __asm__ volatile("int3");
}

/* The report is about the instruction itself, not its copy. */
static void fault_under_probe(enum text_probe_mode mode)
{
    enum insn_probe_refusal reason;

    if (probe_dynamic_add((uint64_t)target_bad_load, "count", mode, &reason) == 0)
        target_bad_load();
}

static void probed_copy(void)
{
    fault_under_probe(TEXT_PROBE_COPY);
}

static void probed_step(void)
{
    fault_under_probe(TEXT_PROBE_STEP);
}

/* --- the table --- */

static const struct {
    const char *kind;
    void (*die)(void);
} deaths[] = {
    {"frame-double-free", frame_double_free},
    {"frame-wrong-order", frame_wrong_order},
    {"frame-not-ours", frame_not_ours},
    {"frame-use-after-free", frame_use_after_free},
    {"heap-double-free", heap_double_free},
    {"heap-double-free-large", heap_double_free_large},
    {"heap-inside", heap_inside},
    {"heap-not-ours", heap_not_ours},
    {"heap-use-after-free", heap_use_after_free},
    {"lock-rank", lock_rank},
    {"lock-equal-rank", lock_equal_rank},
    {"lock-twice", lock_twice},
    {"lock-not-held", lock_not_held},
    {"lock-not-initialised", lock_not_initialised},
    {"lock-kept", lock_kept},
    {"sleep-with-lock", sleep_with_lock},
    {"mutex-not-owner", mutex_not_owner},
    {"mutex-twice", mutex_twice},
    {"write-text", write_text},
    {"write-rodata", write_rodata},
    {"execute-data", execute_data},
    {"execute-heap", execute_heap},
    {"execute-stack", execute_stack},
    {"breakpoint", breakpoint},
    {"probed-copy", probed_copy},
    {"probed-step", probed_step},
};

const char die_kinds[] = "make a mistake that must end the kernel; without KIND lists them";

int die_command(int count, char **words)
{
    for (size_t i = 0; i < sizeof deaths / sizeof deaths[0]; i++) {
        if (count < 2)
            printk("  %s\n", deaths[i].kind);
        else if (strcmp(words[1], deaths[i].kind) == 0)
            deaths[i].die();
    }
    return ERR_FAILED;
}
