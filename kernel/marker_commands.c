/* SPDX-License-Identifier: MIT */
/* Shell commands `markers` and `marker`. Context: the shell's thread. */
#include "arch/x86/text_patch.h"
#include "kernel/command.h"
#include "kernel/err.h"
#include "kernel/marker.h"
#include "kernel/marker_bench.h"
#include "kernel/printf.h"
#include "kernel/probe.h"
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

static void print_site(const struct marker_site *site)
{
    char where[80];
    const struct marker_place *end = marker_places_end;
    printk("    %s %s:%u %s", marker_kind_name(site->kind), site->file, site->line, site->function);
    print_arguments(site);
    for (const struct marker_place *place = marker_places_start; place != end; place++)
        if (place->site == site)
            printk(" %s", symbol_format(where, sizeof(where), place->address));
    printk("\n");
}

static void print_marker(const struct marker *marker)
{
    struct probe_chain *chain = probe_chain_find(marker->name);
    printk("%-24s %-3s %-9s %u sites, %u places, %llu hits\n", marker->name,
           marker->on ? "on" : "off", marker->patched ? "(patched)" : "(nop)", marker->site_count,
           marker->place_count, (unsigned long long)marker_hits(marker));
    if (chain)
        probe_chain_print(chain);
    for (const struct marker_site *site = NULL; (site = marker_next_site(site));)
        if (marker_of_site(site) == marker)
            print_site(site);
}

static int command_markers(int count, char **words)
{
    uint32_t shown = 0;
    if (count > 2)
        return ERR_USAGE;
    for (uint32_t i = 0; i < marker_count(); i++)
        if (count == 1 || marker_name_matches(words[1], marker_at(i)->name)) {
            print_marker(marker_at(i));
            shown++;
        }
    if (count > 1 && shown == 0)
        return ERR_NOT_FOUND;
    printk("@markers names=%u shown=%u\n", marker_count(), shown);
    return 0;
}

/* --- marker --- */

static const char *default_probe(void)
{
    return probe_type_find("flight") ? "flight" : "count";
}

/* One that is there already is no error. */
static int attach_to_all(const char *glob, const char *probe)
{
    int error = 0;
    for (uint32_t i = 0; !error && i < marker_count(); i++)
        if (marker_name_matches(glob, marker_at(i)->name)) {
            error = probe_attach(probe, marker_at(i)->name);
            error = error == ERR_BUSY ? 0 : error;
        }
    return error;
}

static int detach_from_all(const char *glob, const char *probe)
{
    bool found = false;
    for (uint32_t i = 0; i < marker_count(); i++)
        if (marker_name_matches(glob, marker_at(i)->name))
            found = probe_detach(probe, marker_at(i)->name) == 0 || found;
    return found ? 0 : ERR_NO_PROBE;
}

static void print_batch(const struct text_patch_stats *before)
{
    struct text_patch_stats after;
    text_patch_get_stats(&after);
    printk("@marker patches=%llu synchronisations=%llu\n",
           (unsigned long long)(after.patches - before->patches),
           (unsigned long long)(after.synchronisations - before->synchronisations));
}

static bool any_matches(const char *glob)
{
    for (uint32_t i = 0; i < marker_count(); i++)
        if (marker_name_matches(glob, marker_at(i)->name))
            return true;
    return false;
}

static int switch_markers(const char *glob, bool on, const char *probe)
{
    struct text_patch_stats before;
    int error = 0;
    if (!any_matches(glob)) {
        printk("marker: no marker matches '%s'\n", glob);
        return ERR_NOT_FOUND;
    }
    text_patch_get_stats(&before);
    if (!error && on)
        error = attach_to_all(glob, probe ? probe : default_probe());
    if (!error && !on && probe)
        error = detach_from_all(glob, probe);
    else if (!error)
        error = marker_set(glob, on);
    if (!error)
        print_batch(&before);
    return error;
}

static int command_marker(int count, char **words)
{
    if (count == 2 && strcmp(words[1], "bench") == 0)
        return marker_bench();
    if (count != 3 && count != 4)
        return ERR_USAGE;
    bool on = strcmp(words[1], "on") == 0;
    if (!on && strcmp(words[1], "off") != 0)
        return ERR_USAGE;
    return switch_markers(words[2], on, count == 4 ? words[3] : NULL);
}

static struct command table[] = {
    {.name = "markers",
     .arguments = "[NAME|GLOB]",
     .help = "list markers: state, hits, probes, sites",
     .function = command_markers},
    {.name = "marker",
     .arguments = "on|off NAME|GLOB [PROBE] | bench",
     .help = "switch markers, add or take a probe; compare kinds",
     .function = command_marker},
};

void marker_commands_register(void)
{
    for (unsigned i = 0; i < sizeof table / sizeof table[0]; i++)
        command_register(&table[i]);
}
