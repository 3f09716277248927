/* SPDX-License-Identifier: MIT */
/* Deliberate crashes, by `crash KIND` or `panic KIND`. None of them returns: the command that does
 * has found a hole. */
#include "kernel/shell_panic.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/x86/cpu.h"
#include "kernel/command.h"
#include "kernel/err.h"
#include "kernel/panic.h"
#include "kernel/printf.h"
#include "kernel/spinlock.h"
#include "kernel/string.h"

extern const uint64_t crash_victim_middle; /* arch/x86/crash_victim.asm */

/* Read through a volatile, so that no compiler knows what is behind the pointer. */
static volatile uint64_t sink;
static uint64_t volatile *volatile target;

static void crash_null(void)
{
    target = (uint64_t volatile *)0x10;
    sink = *target;
}

/* A read of a non-canonical address. */
static void crash_gp(void)
{
    target = (uint64_t volatile *)0x8000000000000000ull;
    sink = *target;
}

static void crash_ud(void)
{
    __builtin_trap();
}

/* `volatile` keeps each frame, the addition behind the call the recursion. */
__attribute__((noinline)) static uint64_t use_up_stack(uint64_t depth)
{
    volatile uint64_t space[16];

    space[depth % 16] = depth;
    if (sink == depth + 1)
        return depth;
    return use_up_stack(depth + 1) + space[depth % 16];
}

static void crash_stack(void)
{
    sink = 0;
    sink = use_up_stack(1);
}

/* As it was seen in the field: a pointer to a function was overwritten and now points into the
 * middle of another one, which goes on with registers and a stack that are not its own. */
static void crash_jump(void)
{
    static struct {
        const char *name;
        uint64_t (*volatile handle)(uint64_t, uint64_t, uint64_t, uint64_t);
    } device = {.name = "crash test"};

    device.handle =
        (uint64_t(*)(uint64_t, uint64_t, uint64_t, uint64_t))(uintptr_t)crash_victim_middle;
    sink = device.handle(1, 2, 3, 0x5ace);
    sink++; /* so that the call is none to the function's end */
}

/* The function's own return address, as a buffer that runs over would leave it. */
__attribute__((noinline)) static void smash_return(uint64_t address)
{
    volatile uint64_t *link = __builtin_frame_address(0);

    link[1] = address;
}

static void crash_ret(void)
{
    smash_return(0x5bad0000);
    sink++;
}

static void crash_lock(void)
{
    static struct spinlock low = SPINLOCK_INIT(LOCK_VIEW, "panic test, low");
    static struct spinlock high = SPINLOCK_INIT(LOCK_HEAP, "panic test, high");

    spin_lock(&high);
    spin_lock(&low);
}

static void crash_assert(void)
{
    sink = 4;
    kassert(sink == 5);
}

/* What the watchdog is there for. Without it this lasts until somebody ends the machine. */
static void crash_lockup(void)
{
    sink = 0;
    irq_disable();
    while (sink == 0)
        ;
}

static const struct {
    const char *kind;
    void (*crash)(void);
} crashes[] = {
    {"null", crash_null}, {"gp", crash_gp},         {"ud", crash_ud},
    {"jump", crash_jump}, {"ret", crash_ret},       {"stack", crash_stack},
    {"lock", crash_lock}, {"assert", crash_assert}, {"lockup", crash_lockup},
};

/* Returns only when there is no such kind, or it did not crash. With interrupts off: one between
 * the wrong branch and the fault would leave its own branches in the history. */
static bool crash_by_kind(const char *kind)
{
    for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++)
        if (strcmp(kind, crashes[i].kind) == 0) {
            irq_disable();
            crashes[i].crash();
            irq_enable();
            printk("crash: \"%s\" did not stop the kernel\n", kind);
            return true;
        }
    return false;
}

int shell_crash_command(int count, char **words)
{
    if (count == 2 && crash_by_kind(words[1]))
        return ERR_FAILED;
    return ERR_USAGE;
}

int shell_panic_command(int count, char **words)
{
    char text[128] = "on request";
    size_t used = 0;

    if (count == 2 && crash_by_kind(words[1]))
        return ERR_FAILED;
    for (int i = 1; i < count && used < sizeof text; i++)
        used +=
            (size_t)format_text(text + used, sizeof text - used, i > 1 ? " %s" : "%s", words[i]);
    panic("%s", text);
}
