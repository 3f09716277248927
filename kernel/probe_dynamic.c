/* SPDX-License-Identifier: MIT */
/* Dynamic probes: which instructions, their chains, the map of the text.
 *
 * Locks: `dynamic`, a sleeping mutex, for the table and the map. A place's chain is set before its
 * int3 is, and given back after nobody can hit it.
 */
#include "kernel/probe_dynamic.h"

#include <stddef.h>

#include "arch/x86/layout.h"
#include "kernel/breakpoint.h"
#include "kernel/err.h"
#include "kernel/printf.h"
#include "kernel/string.h"
#include "kernel/symbols.h"
#include "kernel/upcalls.h"
#include "kernel/waitqueue.h"
#include "mm/heap.h"

static struct mutex dynamic;
static struct probe_dynamic places[TEXT_PROBES_MAX]; /* dynamic */
static struct text_map map;                          /* dynamic; made once, when first needed */

/* --- the hit --- */

NOPROBE void upcall_probe_hit(void *owner, struct trap_frame *frame)
{
    const struct probe_dynamic *place = owner;
    struct probe_hit hit;

    hit.site = NULL;
    hit.address = place->address;
    hit.args = NULL;
    hit.arg_count = 0;
    hit.frame = frame;
    probe_run(place->chain, &hit);
}

/* --- the map --- */

static uint64_t function_end(uint64_t address)
{
    uint64_t end;

    return symbol_next(address, &end) && end < (uint64_t)text_end ? end : (uint64_t)text_end;
}

static void sweep_functions(void)
{
    uint64_t start = (uint64_t)text_start;

    while (start < (uint64_t)text_end) {
        uint64_t end = function_end(start);
        text_map_sweep(&map, (const uint8_t *)text_start, start - map.start, end - map.start);
        start = end;
    }
}

/* Through the direct map: the image has a guard page. */
static void add_data(const char *start, const char *end)
{
    text_map_add_data(&map, PHYS_TO_VIRT(IMAGE_TO_PHYS(start)), (size_t)(end - start));
}

static int make_map(void)
{
    if (map.starts)
        return 0;
    map.start = (uint64_t)text_start;
    map.size = (size_t)((uint64_t)text_end - map.start);
    map.starts = kzalloc(map.size / 8 + 1);
    map.targets = kzalloc(map.size / 8 + 1);
    if (!map.starts || !map.targets) {
        kfree(map.starts);
        kfree(map.targets);
        map.starts = map.targets = NULL;
        return ERR_NO_MEMORY;
    }
    upcall_patch_lock(); /* no instruction is half patched */
    sweep_functions();
    upcall_patch_unlock();
    add_data(rodata_start, rodata_end);
    add_data(data_start, data_end);
    return 0;
}

/* --- where it may be --- */

static bool overlaps(uint64_t address, uint64_t length, uint64_t start, uint64_t size)
{
    return address < start + size && start < address + length;
}

static bool overlaps_marker(uint64_t address, uint64_t length)
{
    const struct marker_place *end = marker_places_end;

    for (const struct marker_place *at = marker_places_start; at != end; at++)
        if (overlaps(address, length, at->address, at->length))
            return true;
    return false;
}

static enum insn_probe_refusal check_address(uint64_t address)
{
    if (address < (uint64_t)text_start || address >= (uint64_t)text_end)
        return INSN_PROBE_NOT_TEXT;
    if (address >= (uint64_t)noprobe_start && address < (uint64_t)noprobe_end)
        return INSN_PROBE_NOPROBE;
    if (!text_map_is_start(&map, address))
        return INSN_PROBE_NOT_BOUNDARY;
    return overlaps_marker(address, 1) ? INSN_PROBE_SITE : INSN_PROBE_NONE;
}

/* --- the table; the mutex is held --- */

static struct probe_dynamic *find(uint64_t address)
{
    for (unsigned i = 0; i < TEXT_PROBES_MAX; i++)
        if (places[i].address == address)
            return &places[i];
    return NULL;
}

/* The bytes of a jump hold no other probe and no marker's place. */
static enum insn_probe_refusal check_jump(const struct probe_dynamic *place)
{
    uint64_t length = INSN_PROBE_JUMP_LENGTH;

    if (overlaps_marker(place->address, length))
        return INSN_PROBE_SITE;
    for (unsigned i = 0; i < TEXT_PROBES_MAX; i++)
        if (places[i].address && &places[i] != place &&
            overlaps(place->address, length, places[i].address, text_probe_length(places[i].text)))
            return INSN_PROBE_JUMPED;
    return INSN_PROBE_NONE;
}

static int set_jump(struct probe_dynamic *place)
{
    place->no_jump = check_jump(place);
    if (place->no_jump != INSN_PROBE_NONE)
        return 0;
    int error =
        text_probe_set_jump(place->text, &map, function_end(place->address), &place->no_jump);
    return error == ERR_NOT_PROBEABLE ? 0 : error;
}

/* Those whose jump covers the address go back to an int3. */
static int clear_jumps(uint64_t address)
{
    int error = 0;

    for (unsigned i = 0; i < TEXT_PROBES_MAX && !error; i++)
        if (places[i].address && places[i].address != address &&
            overlaps(address, 1, places[i].address, text_probe_length(places[i].text))) {
            places[i].no_jump = INSN_PROBE_JUMPED;
            error = text_probe_clear_jump(places[i].text);
        }
    return error;
}

/* Those that had to give their jump up for a probe that has gone. */
static int set_jumps_again(void)
{
    int error = 0;

    for (unsigned i = 0; i < TEXT_PROBES_MAX && !error; i++)
        if (places[i].address && places[i].no_jump == INSN_PROBE_JUMPED)
            error = set_jump(&places[i]);
    return error;
}

static int arm(struct probe_dynamic *place, enum text_probe_mode mode,
               enum insn_probe_refusal *reason)
{
    int error = clear_jumps(place->address);

    if (!error)
        error = text_probe_arm(place->address, mode, place, &place->text, reason);
    if (error || mode != TEXT_PROBE_BEST)
        return error;
    error = set_jump(place);
    if (error)
        text_probe_disarm(place->text);
    return error;
}

static void name_place(char name[PROBE_NAME_MAX], uint64_t address)
{
    symbol_format(name, PROBE_NAME_MAX, address);
}

static int make_place(uint64_t address, enum text_probe_mode mode, enum insn_probe_refusal *reason)
{
    struct probe_dynamic *place = find(0);
    char name[PROBE_NAME_MAX];

    *reason = check_address(address);
    if (*reason != INSN_PROBE_NONE)
        return ERR_NOT_PROBEABLE;
    if (!place)
        return ERR_TABLE_FULL;
    name_place(name, address);
    place->chain = probe_chain_get(name);
    if (!place->chain)
        return ERR_TABLE_FULL;
    place->address = address;
    place->no_jump = INSN_PROBE_NONE;
    int error = arm(place, mode, reason);
    if (error) {
        probe_chain_release(place->chain);
        place->address = 0;
    }
    return error;
}

static int drop_place(struct probe_dynamic *place)
{
    int error = text_probe_disarm(place->text);

    if (error)
        return error;
    probe_chain_release(place->chain);
    place->address = 0;
    return set_jumps_again();
}

/* --- for all --- */

/* A number behind a '+', or alone. */
static bool parse_number(const char *text, uint64_t *out)
{
    unsigned long long value;

    if (!string_to_u64(text, &value))
        return false;
    *out = value;
    return true;
}

int probe_parse_place(const char *place, uint64_t *address)
{
    char name[PROBE_NAME_MAX];
    uint64_t offset = 0;
    const char *plus = strchr(place, '+');
    size_t length = plus ? (size_t)(plus - place) : strlen(place);

    if (parse_number(place, address))
        return 0;
    if (length >= sizeof(name) || (plus && !parse_number(plus + 1, &offset)))
        return ERR_NO_SYMBOL;
    memcpy(name, place, length);
    name[length] = 0;
    if (!symbol_address(name, address))
        return ERR_NO_SYMBOL;
    *address += offset;
    return 0;
}

static int add(uint64_t address, const char *type_name, enum text_probe_mode mode,
               enum insn_probe_refusal *reason)
{
    char name[PROBE_NAME_MAX];
    bool is_new = !find(address);
    int error = make_map();

    if (!error && is_new)
        error = make_place(address, mode, reason);
    if (error)
        return error;
    name_place(name, address);
    error = probe_attach(type_name, name);
    if (error && is_new)
        drop_place(find(address));
    return error;
}

int probe_dynamic_add(uint64_t address, const char *type_name, enum text_probe_mode mode,
                      enum insn_probe_refusal *reason)
{
    *reason = INSN_PROBE_NONE;
    if (!probe_type_find(type_name))
        return ERR_NO_PROBE;
    mutex_lock(&dynamic);
    int error = address ? add(address, type_name, mode, reason) : ERR_NOT_PROBEABLE;
    if (!address)
        *reason = INSN_PROBE_NOT_TEXT;
    mutex_unlock(&dynamic);
    return error;
}

int probe_dynamic_remove(uint64_t address, const char *type_name)
{
    char name[PROBE_NAME_MAX];

    name_place(name, address);
    mutex_lock(&dynamic);
    struct probe_dynamic *place = address ? find(address) : NULL;
    int error = place ? probe_detach(type_name, name) : ERR_NO_PROBE;
    if (!error && probe_chain_empty(place->chain))
        error = drop_place(place);
    mutex_unlock(&dynamic);
    return error;
}

void probe_dynamic_for_each(void (*function)(const struct probe_dynamic *, void *), void *argument)
{
    mutex_lock(&dynamic);
    for (unsigned i = 0; i < TEXT_PROBES_MAX; i++)
        if (places[i].address)
            function(&places[i], argument);
    mutex_unlock(&dynamic);
}

void probe_dynamic_init(void)
{
    static struct breakpoint_handler handler = {
        .name = "dynamic probes",
        .handle = text_probe_breakpoint,
    };

    mutex_init(&dynamic, "dynamic probes");
    breakpoint_register(&handler);
}
