/* SPDX-License-Identifier: MIT */
/* The shell command `probe`. Context: the shell's thread. */
#include <stddef.h>

#include "kernel/command.h"
#include "kernel/err.h"
#include "kernel/printf.h"
#include "kernel/probe_dynamic.h"
#include "kernel/probe_internal.h"
#include "kernel/string.h"

#define DEFAULT_TYPE "count"

static const struct {
    const char *word;
    enum text_probe_mode mode;
} modes[] = {
    {"best", TEXT_PROBE_BEST},
    {"int3", TEXT_PROBE_INT3},
    {"copy", TEXT_PROBE_COPY},
    {"step", TEXT_PROBE_STEP},
};

static bool find_mode(const char *word, enum text_probe_mode *mode)
{
    for (unsigned i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        if (strcmp(modes[i].word, word) == 0) {
            *mode = modes[i].mode;
            return true;
        }
    return false;
}

/* --- lists --- */

static void print_probe(const struct probe *probe, void *argument)
{
    uint64_t hits, misses;

    (void)argument;
    probe_totals(probe, &hits, &misses);
    printk("    %-12s priority %-5d hits %llu misses %llu\n", probe->name, probe->priority,
           (unsigned long long)hits, (unsigned long long)misses);
}

void probe_chain_print(struct probe_chain *chain)
{
    probe_chain_for_each(chain, print_probe, NULL);
}

static void print_place(const struct probe_dynamic *place, void *argument)
{
    unsigned *count = argument;

    (*count)++;
    printk("  %-36s %-8s %2u bytes", probe_chain_name(place->chain), text_probe_way(place->text),
           text_probe_length(place->text));
    if (place->no_jump != INSN_PROBE_NONE)
        printk("  no jump: %s", insn_probe_refusal_text(place->no_jump));
    printk("\n");
    probe_chain_print(place->chain);
}

static void print_markers(void)
{
    for (struct probe_chain *chain = NULL; (chain = probe_chain_next(chain));) {
        struct marker *marker = marker_find(probe_chain_name(chain));
        if (!marker || probe_chain_empty(chain))
            continue;
        printk("  %-36s marker   %s\n", marker->name, marker->on ? "on" : "off");
        probe_chain_print(chain);
    }
}

static int list(void)
{
    unsigned count = 0;

    probe_dynamic_for_each(print_place, &count);
    print_markers();
    printk("@probes dynamic=%u\n", count);
    return 0;
}

static int types(void)
{
    for (const struct probe_type *type = NULL; (type = probe_type_next(type));)
        printk("  %-12s priority %-5d %s%s\n", type->name, type->priority, type->help,
               type->flags & PROBE_NMI_SAFE ? "" : " (not in NMI)");
    return 0;
}

/* --- changes --- */

/* add PLACE|MARKER [PROBE] [MODE] */
static int add(int count, char **words)
{
    enum insn_probe_refusal reason;
    enum text_probe_mode mode = TEXT_PROBE_BEST;
    uint64_t address;

    if (count > 2 && !find_mode(words[2], &mode))
        return ERR_USAGE;
    if (count == 2 && find_mode(words[1], &mode))
        count = 1;
    const char *type = count > 1 ? words[1] : DEFAULT_TYPE;
    if (marker_find(words[0]))
        return probe_attach(type, words[0]);
    int error = probe_parse_place(words[0], &address);
    if (error)
        return error;
    error = probe_dynamic_add(address, type, mode, &reason);
    if (error && reason != INSN_PROBE_NONE)
        printk("probe: %s: %s\n", words[0], insn_probe_refusal_text(reason));
    return error;
}

static int remove(int count, char **words)
{
    const char *type = count > 1 ? words[1] : NULL;
    uint64_t address;

    if (marker_find(words[0]))
        return probe_detach(type, words[0]);
    int error = probe_parse_place(words[0], &address);
    return error ? error : probe_dynamic_remove(address, type);
}

static int command_probe(int count, char **words)
{
    if (count == 1 || (count == 2 && strcmp(words[1], "list") == 0))
        return list();
    if (count == 2 && strcmp(words[1], "types") == 0)
        return types();
    if (count >= 3 && count <= 5 && strcmp(words[1], "add") == 0)
        return add(count - 2, words + 2);
    if (count >= 3 && count <= 4 && strcmp(words[1], "remove") == 0)
        return remove(count - 2, words + 2);
    return ERR_USAGE;
}

static struct command command = {
    .name = "probe",
    .arguments = "add PLACE [PROBE] [MODE] | remove PLACE [PROBE] | list | types",
    .help = "at MARKER or SYMBOL+0x12; MODE best int3 copy step",
    .function = command_probe,
};

void probe_commands_register(void)
{
    command_register(&command);
}
