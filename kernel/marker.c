/* SPDX-License-Identifier: MIT */
/* The table of markers, switching them, and the way from a hit to the probes.
 *
 * The sections of the linker give sites and places; marker_init() makes of them the markers in the
 * order of their names, and an index of the places by address. Both never change afterwards.
 *
 * Locks: marker_mutex for what struct marker says; it is taken before the patcher's. The way of
 * a hit takes none, and holds no marker itself.
 */
#include "kernel/marker.h"

#include "arch/x86/cpu.h"
#include "arch/x86/text_patch.h"
#include "kernel/breakpoint.h"
#include "kernel/err.h"
#include "kernel/panic.h"
#include "kernel/probe.h"
#include "kernel/probe_leaf.h"
#include "kernel/string.h"
#include "kernel/upcalls.h"
#include "kernel/waitqueue.h"
#include "mm/heap.h"

extern const struct marker_site marker_sites_start[], marker_sites_end[]; /* linker.ld */

static struct mutex marker_mutex, patch_mutex;
static struct marker *markers; /* [count], by name */
static uint32_t count;
static struct marker **marker_of;              /* atomic; [site]; NULL until all is set up */
static const struct marker_place **by_address; /* [places()] */

static size_t sites(void)
{
    return ((uintptr_t)marker_sites_end - (uintptr_t)marker_sites_start) /
           sizeof(struct marker_site);
}

static size_t places(void)
{
    return ((uintptr_t)marker_places_end - (uintptr_t)marker_places_start) /
           sizeof(struct marker_place);
}

/* --- the table --- */

const struct marker_site *marker_next_site(const struct marker_site *site)
{
    site = site ? site + 1 : marker_sites_start;
    return (uintptr_t)site < (uintptr_t)marker_sites_end ? site : NULL;
}

uint32_t marker_count(void)
{
    return count;
}

struct marker *marker_at(uint32_t index)
{
    kassert(index < count);
    return &markers[index];
}

/* Where the name is, or belongs. */
static uint32_t position(const char *name)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (strcmp(markers[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct marker *marker_find(const char *name)
{
    uint32_t at = position(name);
    return at < count && strcmp(markers[at].name, name) == 0 ? &markers[at] : NULL;
}

struct marker *marker_of_site(const struct marker_site *site)
{
    struct marker **table = __atomic_load_n(&marker_of, __ATOMIC_ACQUIRE);
    return table ? table[site - marker_sites_start] : NULL;
}

uint64_t marker_hits(const struct marker *marker)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < cpu_count; i++)
        sum += __atomic_load_n(&marker->hits[i], __ATOMIC_RELAXED);
    return sum;
}

bool marker_name_matches(const char *glob, const char *name)
{
    for (; *glob != '*'; glob++, name++) {
        if (*glob == '\0' || *name == '\0')
            return *glob == *name;
        if (*glob != '?' && *glob != *name)
            return false;
    }
    for (;; name++) {
        if (marker_name_matches(glob + 1, name))
            return true;
        if (*name == '\0')
            return false;
    }
}

const char *marker_type_name(enum marker_type type)
{
    static const char *const names[MARKER_TYPES] = {[MARKER_NONE] = "none",
#define MT(name, text, is_signed) [MARKER_##name] = text,
                                                    MARKER_TYPE_TABLE(MT)
#undef MT
    };
    return type < MARKER_TYPES ? names[type] : "unknown";
}

const char *marker_kind_name(enum marker_kind kind)
{
    static const char *const names[MARKER_KINDS] = {
#define MK(name, text) [MARKER_##name] = text,
        MARKER_KIND_TABLE(MK)
#undef MK
    };
    return kind < MARKER_KINDS ? names[kind] : "unknown";
}

/* --- hits --- */

/* Counts it. NULL: nothing is to be run; a BOOT_CALL may come before the table is there. */
static inline const struct probe_chain *count_hit(const struct marker_site *site, uint64_t cpu)
{
    struct marker **table = __atomic_load_n(&marker_of, __ATOMIC_ACQUIRE);
    if (!table)
        return NULL;
    struct marker *marker = table[site - marker_sites_start];
    cpu_local_increment(&marker->hits[cpu]);
    return __atomic_load_n(&marker->chain, __ATOMIC_ACQUIRE);
}

__attribute__((noinline)) static void
run_chain(const struct probe_chain *chain, const struct marker_site *site, const uint64_t *args)
{
    struct probe_hit hit = {.site = site, .args = args, .arg_count = site->argument_count};
    probe_run(chain, &hit);
}

void marker_hit(const struct marker_site *site, const uint64_t *args)
{
    uint64_t cpu = this_cpu()->index;
    const struct probe_chain *chain = count_hit(site, cpu);
    if (chain && !probe_run_leaf(chain, cpu, site, args))
        run_chain(chain, site, args);
}

static void hit_place(const struct marker_place *place, const struct trap_frame *registers,
                      struct trap_frame *frame)
{
    const struct marker_site *site = place->site;
    uint64_t args[MARKER_ARGUMENTS_MAX];
    for (unsigned i = 0; i < site->argument_count; i++)
        args[i] = marker_place_operand(place, i, registers);
    struct probe_hit hit = {.site = site,
                            .address = place->address,
                            .args = args,
                            .arg_count = site->argument_count,
                            .frame = frame};
    const struct probe_chain *chain = count_hit(site, this_cpu()->index);
    if (chain)
        probe_run(chain, &hit);
}

void marker_hit_frame(struct trap_frame *frame, const struct marker_place *place)
{
    hit_place(place, frame, frame);
}

/* NULL: no place is there, or the table is not. */
static const struct marker_place *place_at(uint64_t address)
{
    size_t low = 0, high = marker_of ? places() : 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (by_address[middle]->address == address)
            return by_address[middle];
        if (by_address[middle]->address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

void marker_hit_call(uint64_t address, const struct trap_frame *registers)
{
    const struct marker_place *place = place_at(address);
    if (!place)
        panic("a marker's stub was called from 0x%llx, where no marker is",
              (unsigned long long)address);
    hit_place(place, registers, NULL);
}

static bool on_breakpoint(struct trap_frame *frame)
{
    const struct marker_place *place = place_at(frame->rip - 1);
    if (!place || place->kind != MARKER_INT3)
        return false;
    hit_place(place, frame, frame);
    return true;
}

static struct breakpoint_handler breakpoint = {.name = "markers", .handle = on_breakpoint};

/* --- patching --- */

void upcall_patch_lock(void)
{
    mutex_lock(&patch_mutex);
}

void upcall_patch_unlock(void)
{
    mutex_unlock(&patch_mutex);
}

static bool wants_patch(const struct marker *marker)
{
    return marker->on && marker->chain;
}

/* Brings the text of all markers to what they want, in one batch. */
static int update(void)
{
    struct text_patch *patches = kmalloc(places() * sizeof(*patches));
    size_t used = 0;
    if (!patches)
        return places() ? ERR_NO_MEMORY : 0;
    for (size_t i = 0; i < places(); i++) {
        struct marker *marker = marker_of_site(by_address[i]->site);
        if (wants_patch(marker) != marker->patched)
            marker_place_patch(by_address[i], wants_patch(marker), &patches[used++]);
    }
    uint64_t bad = 0;
    int error = text_patch_apply(patches, used, &bad);
    for (uint32_t i = 0; !error && i < count; i++)
        markers[i].patched = wants_patch(&markers[i]);
    kfree(patches);
    return error;
}

int marker_set(const char *glob, bool on)
{
    int error = ERR_NOT_FOUND;
    mutex_lock(&marker_mutex);
    for (uint32_t i = 0; i < count; i++)
        if (marker_name_matches(glob, markers[i].name)) {
            markers[i].on = on;
            error = 0;
        }
    if (!error)
        error = update();
    mutex_unlock(&marker_mutex);
    return error;
}

int marker_set_chain(struct marker *marker, const struct probe_chain *chain)
{
    mutex_lock(&marker_mutex);
    __atomic_store_n(&marker->chain, chain, __ATOMIC_RELEASE);
    int error = update();
    mutex_unlock(&marker_mutex);
    return error;
}

/* --- boot --- */

static void *allocate(size_t size)
{
    void *memory = kzalloc(size ? size : 1);
    if (!memory)
        panic("out of memory for the table of markers");
    return memory;
}

static void insert_name(const char *name)
{
    uint32_t at = position(name);
    if (at < count && strcmp(markers[at].name, name) == 0)
        return;
    memmove(&markers[at + 1], &markers[at], (count - at) * sizeof(*markers));
    markers[at] = (struct marker){.name = name};
    count++;
}

static void make_markers(void)
{
    markers = allocate(sites() * sizeof(*markers));
    for (const struct marker_site *site = NULL; (site = marker_next_site(site));)
        insert_name(site->name);
    for (uint32_t i = 0; i < count; i++) {
        markers[i].index = i;
        markers[i].hits = allocate(MAX_CPUS * sizeof(uint64_t));
    }
}

static void sort_places(void)
{
    by_address = allocate(places() * sizeof(*by_address));
    for (size_t i = 0; i < places(); i++) {
        const struct marker_place *place = &marker_places_start[i];
        size_t at = i;
        for (; at > 0 && by_address[at - 1]->address > place->address; at--)
            by_address[at] = by_address[at - 1];
        by_address[at] = place;
    }
}

void marker_init(void)
{
    mutex_init(&marker_mutex, "markers");
    mutex_init(&patch_mutex, "text patching");
    make_markers();
    sort_places();
    struct marker **table = allocate(sites() * sizeof(struct marker *));
    for (size_t i = 0; i < sites(); i++) {
        table[i] = marker_find(marker_sites_start[i].name);
        table[i]->site_count++;
    }
    __atomic_store_n(&marker_of, table, __ATOMIC_RELEASE);
    for (size_t i = 0; i < places(); i++)
        marker_of_site(marker_places_start[i].site)->place_count++;
    breakpoint_register(&breakpoint);
}

/* BOOT_CALL is on in the image. */
static void patch_calls_out(void)
{
    struct text_patch *patches = allocate(places() * sizeof(*patches));
    size_t used = 0;
    for (size_t i = 0; i < places(); i++)
        if (by_address[i]->kind == MARKER_BOOT_CALL)
            marker_place_patch(by_address[i], false, &patches[used++]);
    int error = text_patch_apply(patches, used, NULL);
    if (error)
        panic("markers that are calls cannot be turned off: %s", err_text(error));
    kfree(patches);
}

void marker_start(void)
{
    patch_calls_out();
    marker_commands_register();
}
