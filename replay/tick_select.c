/* SPDX-License-Identifier: MIT */
/* Which tick source new sessions use. */
#include "kernel/cmdline.h"
#include "kernel/command.h"
#include "kernel/err.h"
#include "kernel/printf.h"
#include "kernel/string.h"
#include "replay/ticks.h"

static char choice[8]; /* "": not asked the command line yet */

static const char *current_choice(void)
{
    if (!choice[0] && (!cmdline_get("source", choice, sizeof(choice)) || !choice[0]))
        string_copy(choice, "auto", sizeof(choice));
    return choice;
}

const struct tick_source *tick_source_select(enum log_unit unit)
{
    const char *wanted = current_choice();
    const char *refusal = tick_source_pmc.refusal(unit);
    if (strcmp(wanted, "step") == 0 || (strcmp(wanted, "auto") == 0 && refusal))
        return &tick_source_step;
    if (strcmp(wanted, "auto") == 0 || (strcmp(wanted, "pmc") == 0 && !refusal))
        return &tick_source_pmc;
    if (strcmp(wanted, "pmc") == 0)
        printk("source pmc cannot be used: %s\n", refusal);
    else
        printk("source=%s: there is no such tick source\n", wanted);
    return NULL;
}

static int command_source(int count, char **words)
{
    const char *refusal = tick_source_pmc.refusal(LOG_UNIT_COND);
    if (count > 2 || (count == 2 && strcmp(words[1], "auto") != 0 && strcmp(words[1], "pmc") != 0 &&
                      strcmp(words[1], "step") != 0))
        return ERR_USAGE;
    if (count == 2 && strcmp(words[1], "pmc") == 0 && refusal) {
        printk("source pmc cannot be used: %s\n", refusal);
        return ERR_FAILED;
    }
    if (count == 2)
        string_copy(choice, words[1], sizeof(choice));
    printk("source: %s; pmc: %s\n", current_choice(), refusal ? refusal : "can be used");
    return 0;
}

static struct command source_command = {
    .name = "source",
    .arguments = "[auto|pmc|step]",
    .help = "what counts ticks in recordings and replays to come",
    .function = command_source,
};

void tick_source_register_command(void)
{
    command_register(&source_command);
}
