/* SPDX-License-Identifier: MIT */
/* wreck KIND: dies as the shell's `crash KIND` does, in ring 3: jump ret stack null gp.
 *
 * What it died of shows in the branch history of its crash report (`lbr on` before).
 */
#include <stddef.h>
#include <stdint.h>

#include "user/lib/print.h"
#include "user/lib/string.h"

extern const uint64_t wreck_victim_middle; /* wreck_victim.asm */

/* Through volatiles, so that no compiler knows what is behind the pointers. */
static volatile uint64_t sink;
static uint64_t volatile *volatile target;

static void wreck_jump(void)
{
    static uint64_t (*volatile handle)(uint64_t, uint64_t, uint64_t, uint64_t);

    handle = (uint64_t(*)(uint64_t, uint64_t, uint64_t, uint64_t))(uintptr_t)wreck_victim_middle;
    sink = handle(1, 2, 3, 0x5ace);
    sink++; /* so that the call is none to the function's end */
}

__attribute__((noinline)) static void smash_return(uint64_t to)
{
    volatile uint64_t *link = __builtin_frame_address(0);

    link[1] = to;
}

static void wreck_ret(void)
{
    smash_return(0x5bad0000);
    sink++;
}

__attribute__((noinline)) static uint64_t use_up_stack(uint64_t depth)
{
    volatile uint64_t space[16];

    space[depth % 16] = depth;
    if (sink == depth + 1)
        return depth;
    return use_up_stack(depth + 1) + space[depth % 16];
}

static void wreck_stack(void)
{
    sink = 0;
    sink = use_up_stack(1);
}

static void wreck_null(void)
{
    target = (uint64_t volatile *)0x10;
    sink = *target;
}

static void wreck_gp(void)
{
    target = (uint64_t volatile *)0x8000000000000000;
    sink = *target;
}

static const struct {
    const char *kind;
    void (*wreck)(void);
} kinds[] = {
    {"jump", wreck_jump}, {"ret", wreck_ret}, {"stack", wreck_stack},
    {"null", wreck_null}, {"gp", wreck_gp},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(argv[1], kinds[i].kind) == 0)
            kinds[i].wreck();
    printf("wreck: jump, ret, stack, null or gp\n");
    return 1;
}
