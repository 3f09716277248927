/* SPDX-License-Identifier: MIT */
/* Shell command `lbr`. Context: the shell's thread. */
#include "kernel/lbr_command.h"

#include <stddef.h>

#include "arch/x86/lbr.h"
#include "kernel/command.h"
#include "kernel/err.h"
#include "kernel/lbr.h"
#include "kernel/printf.h"
#include "kernel/string.h"

static int refuse(void)
{
    printk("lbr: %s\n", lbr_refusal());
    return ERR_NOT_FOUND;
}

static int turn_on(void)
{
    return lbr_refusal() ? refuse() : lbr_turn_on();
}

static int turn_off(void)
{
    lbr_turn_off();
    return 0;
}

static int info(void)
{
    lbr_print_info();
    return 0;
}

static int dump(void)
{
    return lbr_refusal() ? refuse() : lbr_print_dump();
}

static const struct {
    const char *word;
    int (*function)(void);
} subcommands[] = {
    {"on", turn_on}, {"off", turn_off}, {"dump", dump}, {"info", info}, {"bench", lbr_bench},
};

static const struct {
    const char *word;
    uint32_t filter;
} filters[] = {
    {"user", LBR_FILTER_USER},       {"kernel", LBR_FILTER_KERNEL}, {"calls", LBR_FILTER_CALLS},
    {"returns", LBR_FILTER_RETURNS}, {"jumps", LBR_FILTER_JUMPS},   {"all", 0},
};

static bool add_filter(const char *word, uint32_t *filter)
{
    for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++)
        if (strcmp(word, filters[i].word) == 0) {
            *filter |= filters[i].filter;
            return true;
        }
    return false;
}

static int set_filter(int count, char **words)
{
    uint32_t filter = 0;

    for (int i = 0; i < count; i++)
        if (!add_filter(words[i], &filter))
            return ERR_USAGE;
    return lbr_refusal() ? refuse() : lbr_set_filter(filter);
}

static int command_lbr(int count, char **words)
{
    if (count > 2 && strcmp(words[1], "filter") == 0)
        return set_filter(count - 2, words + 2);
    for (size_t i = 0; count == 2 && i < sizeof(subcommands) / sizeof(subcommands[0]); i++)
        if (strcmp(words[1], subcommands[i].word) == 0)
            return subcommands[i].function();
    return ERR_USAGE;
}

static struct command command = {
    .name = "lbr",
    .arguments = "on | off | dump | info | filter WORDS | bench",
    .help = "branches; WORDS all user kernel calls returns jumps",
    .function = command_lbr,
};

void lbr_command_register(void)
{
    command_register(&command);
}
