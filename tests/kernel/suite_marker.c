/* SPDX-License-Identifier: MIT */
/* Markers: what a hit tells, what is not evaluated, where places are; and patching: what it
 * refuses, how often it synchronises, and that it waits for a CPU with interrupts off.
 */
#include "arch/x86/cpu.h"
#include "arch/x86/layout.h"
#include "arch/x86/text_patch.h"
#include "arch/x86/timer.h"
#include "kernel/err.h"
#include "kernel/marker.h"
#include "kernel/probe.h"
#include "kernel/string.h"
#include "kernel/thread.h"
#include "kernel/wait.h"
#include "tests/kernel/marker_storm.h"
#include "tests/kernel/suite.h"

#define SPIN_NS 100000000ull

static struct {
    uint64_t args[MARKER_ARGUMENTS_MAX];
    unsigned count, hits;
    const struct marker_site *site;
    struct trap_frame frame;
    uint64_t address;
} last; /* the shell's thread only */

static void note(struct probe *probe, const struct probe_hit *hit)
{
    (void)probe;
    last.hits++;
    last.count = hit->arg_count;
    last.site = hit->site;
    last.address = hit->address;
    memcpy(last.args, hit->args, hit->arg_count * sizeof(last.args[0]));
    if (hit->frame)
        last.frame = *hit->frame;
}

static struct probe probe = {.name = "suite", .function = note};

static void begin(const char *marker)
{
    memset(&last, 0, sizeof(last));
    is_equal(probe_register(&probe, marker), 0, "a probe for %s", marker);
    is_equal(marker_set(marker, true), 0, "which is switched on");
}

static void end(const char *marker)
{
    marker_set(marker, false);
    probe_unregister(&probe);
}

/* --- what a hit tells --- */

struct narrow {
    int8_t s8;
    uint8_t u8;
    int16_t s16;
    uint16_t u16;
    int32_t s32;
    uint32_t u32;
};

static __attribute__((noinline)) void narrow_types(const struct narrow *value)
{
    MARKER(suite_narrow, MARKER_ARG(s8, value->s8), MARKER_ARG(u8, value->u8),
           MARKER_ARG(s16, value->s16), MARKER_ARG(u16, value->u16), MARKER_ARG(s32, value->s32),
           MARKER_ARG(u32, value->u32));
}

static __attribute__((noinline)) void wide_types(const struct narrow *value, const char *text,
                                                 int64_t s64)
{
    MARKER(suite_wide, MARKER_ARG(s64, s64), MARKER_ARG(u64, (uint64_t)s64),
           MARKER_ARG(flag, (bool)s64), MARKER_ARG(value, value), MARKER_ARG(text, text));
}

static bool site_is(const enum marker_type *types, unsigned count)
{
    bool same = last.site && last.site->argument_count == count && last.count == count;

    for (unsigned i = 0; same && i < count; i++)
        same = last.site->argument_types[i] == types[i];
    return same;
}

static void test_types(void)
{
    static const enum marker_type narrow[] = {MARKER_S8,  MARKER_U8,  MARKER_S16,
                                              MARKER_U16, MARKER_S32, MARKER_U32};
    static const enum marker_type wide[] = {MARKER_S64, MARKER_U64, MARKER_BOOL, MARKER_POINTER,
                                            MARKER_STRING};
    const struct narrow value = {-1, 0xff, -2, 0xffff, -3, 0xffffffff};
    static const char text[] = "text";

    begin("suite_narrow");
    narrow_types(&value);
    ok(site_is(narrow, 6), "the site says how wide its arguments are, and their signs");
    ok(last.args[0] == (uint64_t)-1 && last.args[1] == 0xff && last.args[2] == (uint64_t)-2 &&
           last.args[3] == 0xffff && last.args[4] == (uint64_t)-3 && last.args[5] == 0xffffffff,
       "they come widened by their signs");
    end("suite_narrow");
    begin("suite_wide");
    wide_types(&value, text, -4);
    ok(site_is(wide, 5), "64 bits, truth, pointers, strings");
    ok(last.args[0] == (uint64_t)-4 && last.args[1] == (uint64_t)-4 && last.args[2] == 1 &&
           last.args[3] == (uint64_t)&value && last.args[4] == (uint64_t)text,
       "come as they are");
    ok(strcmp(last.site->name, "suite_wide") == 0 &&
           strcmp(last.site->argument_names[3], "value") == 0 &&
           strcmp(last.site->function, "wide_types") == 0,
       "the site tells names and function");
    end("suite_wide");
}

static __attribute__((noinline)) unsigned with_effect(unsigned effect)
{
    MARKER(suite_effect, MARKER_ARG(effect, ++effect));
    return effect;
}

/* Twice in one function: two places of one site. */
static inline __attribute__((always_inline)) void inlined(unsigned value)
{
    MARKER(suite_inlined, MARKER_ARG(value, value));
}

static __attribute__((noinline)) void two_places(void)
{
    inlined(1);
    inlined(2);
}

static void test_evaluation(void)
{
    is_equal(with_effect(5), 5, "while a marker is off its arguments are not evaluated");
    begin("suite_effect");
    is_equal(with_effect(5), 6, "while it is on they are, once");
    end("suite_effect");
    is_equal(with_effect(5), 5, "and off again not");
    is_equal(last.hits, 1, "that was one hit");
    begin("suite_inlined");
    two_places();
    is_equal(last.hits, 2, "a site that was inlined twice hits twice");
    is_equal(marker_find("suite_inlined")->place_count, 2, "having two places");
    is_equal(marker_find("suite_inlined")->site_count, 1, "of one site");
    end("suite_inlined");
}

/* --- places --- */

static void test_frame(void)
{
    const struct storm_site *site = &storm_sites[STORM_THREAD][STORM_frame];

    begin(site->name);
    site->pass(77);
    is_equal(last.args[0], 77, "a frame-jump marker recovers its argument from the registers");
    is_equal(last.frame.rip, last.address + 6, "its frame goes on behind the site");
    ok(last.frame.rsp % 8 == 0 &&
           (uint64_t)__builtin_frame_address(0) - last.frame.rsp < KERNEL_STACK_SIZE / 4,
       "and has the stack pointer of the place");
    end(site->name);
}

static const struct marker_place *place_of(const char *name)
{
    const struct marker_place *end_of_places = marker_places_end;

    for (const struct marker_place *at = marker_places_start; at != end_of_places; at++)
        if (strcmp(at->site->name, name) == 0)
            return at;
    return NULL;
}

static void test_places(void)
{
    const struct marker_place *stop = marker_places_end;
    unsigned displaced = 0, wrong = 0, unprobeable = 0;

    for (unsigned context = 0; context < STORM_CONTEXTS; context++)
        for (unsigned i = 0; i < STORM_PLACES; i++) {
            const struct storm_site *site = &storm_sites[context][i];
            const struct marker_place *place = place_of(site->name);
            displaced += !place || (site->unit && place->address % site->unit != site->offset);
        }
    is_equal(displaced, 0, "places of the storm stand across lines and pages as they should");
    for (const struct marker_place *at = marker_places_start; at != stop; at++) {
        struct text_patch patch;
        marker_place_patch(at, true, &patch);
        wrong += memcmp((const void *)at->address, patch.old_bytes, at->length) != 0;
        unprobeable +=
            at->address >= (uint64_t)noprobe_start && at->address < (uint64_t)noprobe_end;
    }
    is_equal(wrong, 0, "every place has the bytes of its kind that is off");
    is_equal(unprobeable, 0, "none is in the entry of breakpoints");
}

static void test_globs(void)
{
    ok(marker_name_matches("crew_*", "crew_fault") && marker_name_matches("*", "") &&
           marker_name_matches("*_f?ult", "crew_fault") && marker_name_matches("a*b*c", "axbxbc") &&
           marker_name_matches("same", "same"),
       "names match globs");
    ok(!marker_name_matches("crew_*", "crew") && !marker_name_matches("?", "") &&
           !marker_name_matches("a*b", "abc") && !marker_name_matches("", "a") &&
           !marker_name_matches("crew", "crew_fault"),
       "and do not");
    is_equal(marker_set("no_such_*", true), ERR_NOT_FOUND, "no name: an error");
}

/* --- patching --- */

static void test_batches(void)
{
    struct text_patch_stats before, after;

    for (unsigned i = 0; i < STORM_PLACES; i++)
        is_equal(probe_attach("count", storm_sites[STORM_THREAD][i].name), 0, "counted: %s",
                 storm_sites[STORM_THREAD][i].name);
    text_patch_get_stats(&before);
    is_equal(marker_set("storm_thread_*", true), 0, "many places are switched on at once");
    text_patch_get_stats(&after);
    is_equal(after.patches - before.patches, STORM_PLACES, "all of them were patched");
    is_equal(after.batches - before.batches, 1, "in one batch");
    is_equal(after.synchronisations - before.synchronisations, 4, "with four synchronisations");
    marker_set("storm_thread_*", true);
    text_patch_get_stats(&before);
    is_equal(before.synchronisations, after.synchronisations, "nothing to do: none");
    marker_set("storm_thread_*", false);
    for (unsigned i = 0; i < STORM_PLACES; i++)
        probe_detach("count", storm_sites[STORM_THREAD][i].name);
}

static int apply_two(const struct text_patch *first, const struct text_patch *second)
{
    struct text_patch patches[2] = {*first, *second};
    uint64_t bad = 0;
    int error = text_patch_apply(patches, 2, &bad);

    return error && bad != second->address ? ERR_FAILED : error;
}

/* The second is wrong in each way; then the first must not be written either. */
static void test_refusals(void)
{
    struct text_patch good, bad, overlap;
    const struct marker_place *place = place_of("storm_thread_nop");
    const struct marker_place *other = place_of("storm_thread_nop_page4");
    uint8_t before[TEXT_PATCH_MAX];

    marker_place_patch(place, true, &good);
    marker_place_patch(other, true, &bad);
    memcpy(before, (const void *)place->address, place->length);
    bad.old_bytes[4] ^= 1;
    is_equal(apply_two(&good, &bad), ERR_TEXT_BYTES, "an old byte that differs is refused");
    bad.old_bytes[4] ^= 1;
    bad.new_bytes[0] = 0x0f;
    bad.new_bytes[1] = 0x0b;
    is_equal(apply_two(&good, &bad), ERR_TEXT_OPCODE, "what cannot be emulated is refused");
    bad.address = (uint64_t)rodata_start;
    is_equal(apply_two(&good, &bad), ERR_TEXT_RANGE, "constants are no text");
    bad.address = (uint64_t)noprobe_start;
    is_equal(apply_two(&bad, &bad), ERR_TEXT_RANGE, "nor is the entry of breakpoints");
    overlap = good;
    overlap.address += 2;
    is_equal(text_patch_apply((struct text_patch[]){good, overlap}, 2, NULL), ERR_TEXT_RANGE,
             "two patches of one byte are refused");
    ok(memcmp(before, (const void *)place->address, place->length) == 0,
       "then nothing has been written");
}

static struct {
    bool spins, done; /* atomic */
} spinner;

static void spin_with_interrupts_off(void *unused)
{
    (void)unused;
    irq_disable();
    __atomic_store_n(&spinner.spins, true, __ATOMIC_RELEASE);
    uint64_t until = timer_now_ns() + SPIN_NS;
    while (timer_now_ns() < until)
        cpu_pause();
    __atomic_store_n(&spinner.done, true, __ATOMIC_RELEASE);
    irq_enable();
}

static void test_interrupts_off(void)
{
    struct thread *thread =
        cpu_count > 1 ? thread_create_kernel("spin", spin_with_interrupts_off, NULL) : NULL;
    if (!thread) {
        suite_skip("a CPU that spins with interrupts off", "needs two CPUs");
        return;
    }
    probe_attach("count", "suite_effect");
    thread->cpu = (this_cpu()->index + 1) % cpu_count;
    thread->pinned = true;
    spinner.spins = spinner.done = false;
    thread_start(thread);
    wait_until(__atomic_load_n(&spinner.spins, __ATOMIC_ACQUIRE), "the spinning thread");
    is_equal(marker_set("suite_effect", true), 0, "a patch while a CPU has interrupts off");
    ok(__atomic_load_n(&spinner.done, __ATOMIC_ACQUIRE), "has waited for that CPU");
    marker_set("suite_effect", false);
    probe_detach("count", "suite_effect");
}

static void run(void)
{
    test_types();
    test_evaluation();
    test_frame();
    test_places();
    test_globs();
    test_batches();
    test_refusals();
    test_interrupts_off();
}

const struct suite suite_marker = {"marker", run};
