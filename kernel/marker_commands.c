/* SPDX-License-Identifier: MIT */
/* Shell commands `markers` and `marker`. Context: the shell's thread. */
#include "kernel/command.h"
#include "kernel/err.h"
#include "kernel/marker.h"
#include "kernel/marker_bench.h"
#include "kernel/printf.h"
#include "kernel/string.h"
#include "kernel/symbols.h"

/* --- markers --- */

static void print_arguments(const struct marker_site *site)
{
    printk("(");
    for (unsigned i = 0; i < site->argument_count; i++)
        printk("%s%s %s", i ? ", " : "", marker_type_name(site->argument_types[i]),
               site->argument_names[i]);
    printk(")");
}

static void print_places(const struct marker_site *site)
{
    char where[80];
    const struct marker_place *end = marker_places_end;
    printk("    %s %s:%u ", marker_kind_name(site->kind), site->file, site->line);
    print_arguments(site);
    for (const struct marker_place *place = marker_places_start; place != end; place++)
        if (place->site == site)
            printk(" %s", symbol_format(where, sizeof(where), place->address));
    printk("\n");
}

static void print_marker(const struct marker *marker)
{
    printk("%-24s %-4s %-8s %-9s hits %llu\n", marker->name, marker->on ? "on" : "off",
           marker->patched ? "patched" : "nop", marker->chain ? "probed" : "no probe",
           (unsigned long long)marker_hits(marker));
    for (const struct marker_site *site = NULL; (site = marker_next_site(site));)
        if (marker_of_site(site) == marker)
            print_places(site);
}

static int command_markers(int count, char **words)
{
    bool found = false;
    for (uint32_t i = 0; i < marker_count(); i++)
        if (count == 1 || marker_name_matches(words[1], marker_at(i)->name)) {
            print_marker(marker_at(i));
            found = true;
        }
    if (count > 1 && !found)
        return ERR_NOT_FOUND;
    printk("@markers names=%u\n", marker_count());
    return 0;
}

/* --- marker --- */

static int command_marker(int count, char **words)
{
    if (count == 2 && strcmp(words[1], "bench") == 0)
        return marker_bench();
    if (count != 3)
        return ERR_USAGE;
    if (strcmp(words[1], "on") == 0)
        return marker_set(words[2], true);
    if (strcmp(words[1], "off") == 0)
        return marker_set(words[2], false);
    return ERR_USAGE;
}

static struct command table[] = {
    {.name = "markers",
     .arguments = "[NAME|GLOB]",
     .help = "markers: state, probes, hits; their places",
     .function = command_markers},
    {.name = "marker",
     .arguments = "on|off NAME|GLOB | bench",
     .help = "switch markers; compare their kinds",
     .function = command_marker},
};

void marker_commands_register(void)
{
    for (unsigned i = 0; i < sizeof table / sizeof table[0]; i++)
        command_register(&table[i]);
}
