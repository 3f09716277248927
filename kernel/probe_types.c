/* SPDX-License-Identifier: MIT */
/* Probes that people ask for by name: the types, and the probes made of them.
 *
 * Locks: the manager's mutex for both tables. A type is never taken away.
 */
#include <stddef.h>

#include "kernel/err.h"
#include "kernel/printf.h"
#include "kernel/probe_dynamic.h"
#include "kernel/probe_internal.h"
#include "kernel/string.h"
#include "kernel/symbols.h"
#include "mm/heap.h"

/* A probe of the manager's own, and the list that says so. */
struct attached {
    struct probe probe;
    const struct probe_type *type;
    struct attached *next; /* manager */
};

static const struct probe_type *types[PROBE_TYPES_MAX]; /* manager; set once */
static struct attached *attached;                       /* manager */

int probe_type_register(const struct probe_type *type)
{
    int error = ERR_TABLE_FULL;

    if (probe_type_find(type->name))
        return ERR_BUSY;
    probe_lock();
    for (unsigned i = 0; i < PROBE_TYPES_MAX && error; i++)
        if (!types[i]) {
            types[i] = type;
            error = 0;
        }
    probe_unlock();
    return error;
}

const struct probe_type *probe_type_find(const char *name)
{
    for (unsigned i = 0; i < PROBE_TYPES_MAX && types[i]; i++)
        if (strcmp(types[i]->name, name) == 0)
            return types[i];
    return NULL;
}

const struct probe_type *probe_type_next(const struct probe_type *type)
{
    unsigned i = 0;

    while (type && i < PROBE_TYPES_MAX && types[i] != type)
        i++;
    if (type)
        i++;
    return i < PROBE_TYPES_MAX ? types[i] : NULL;
}

int probe_attach(const char *type_name, const char *marker_name)
{
    const struct probe_type *type = probe_type_find(type_name);

    if (!type)
        return ERR_NO_PROBE;
    struct attached *new = kzalloc(sizeof(*new));
    if (!new)
        return ERR_NO_MEMORY;
    new->type = type;
    new->probe = (struct probe){
        .name = type->name,
        .priority = type->priority,
        .flags = type->flags,
        .function = type->function,
        .leaf = type->leaf,
        .data = type->data,
    };
    probe_lock();
    int error = probe_link(&new->probe, marker_name);
    if (!error) {
        new->next = attached;
        attached = new;
    }
    probe_unlock();
    if (error)
        kfree(new);
    return error;
}

static bool is_wanted(const struct attached *at, const char *type_name,
                      const struct probe_chain *chain)
{
    return at->probe.chain == chain && (!type_name || strcmp(at->type->name, type_name) == 0);
}

int probe_detach(const char *type_name, const char *marker_name)
{
    int error = ERR_NO_PROBE;

    probe_lock();
    const struct probe_chain *chain = probe_chain_lookup(marker_name);
    for (struct attached **place = &attached; chain && *place;) {
        struct attached *at = *place;
        if (!is_wanted(at, type_name, chain)) {
            place = &at->next;
            continue;
        }
        *place = at->next;
        error = probe_unlink(&at->probe);
        kfree(at);
    }
    probe_unlock();
    return error;
}

/* --- the built-in types --- */

/* The manager counts. */
static void count_hit(struct probe *probe, const struct probe_hit *hit)
{
    (void)probe;
    (void)hit;
}

static void print_hit(struct probe *probe, const struct probe_hit *hit)
{
    char text[256], symbol[PROBE_NAME_MAX];
    int length = format_text(text, sizeof(text), "probe %s at %s:", probe_chain_name(probe->chain),
                             symbol_format(symbol, sizeof(symbol), hit->address));

    for (unsigned i = 0; i < hit->arg_count && (size_t)length < sizeof(text); i++)
        length += format_text(text + length, sizeof(text) - (size_t)length, " 0x%lx", hit->args[i]);
    if (hit->frame && (size_t)length < sizeof(text))
        format_text(text + length, sizeof(text) - (size_t)length,
                    " rdi 0x%lx rsi 0x%lx rdx 0x%lx rcx 0x%lx rax 0x%lx rsp 0x%lx", hit->frame->rdi,
                    hit->frame->rsi, hit->frame->rdx, hit->frame->rcx, hit->frame->rax,
                    hit->frame->rsp);
    printk("%s\n", text);
}

static const struct probe_type built_in[] = {
    {.name = "count",
     .help = "count hits",
     .priority = 100,
     .flags = PROBE_NMI_SAFE,
     .function = count_hit},
    {.name = "print",
     .help = "one line on the console for each hit",
     .priority = -100,
     .flags = PROBE_PRINTS,
     .function = print_hit},
};

void probe_init(void)
{
    probe_manager_init();
    for (unsigned i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++)
        probe_type_register(&built_in[i]);
    probe_dynamic_init();
    probe_commands_register();
}
