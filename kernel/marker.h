/* SPDX-License-Identifier: MIT */
/* Markers: places in the kernel where something can be told to probes, at the cost of one NOP
 * while nobody wants to know.
 *
 *     MARKER(crew_promote, MARKER_ARG(page, page->address), MARKER_ARG(writes, is_write));
 *
 * The name is an identifier, and many markers may share it: they are switched, and their hits
 * counted, by name. Up to 6 arguments: integers, pointers, strings (char *, in memory that is never
 * freed or, if the probes at hand copy it, that lives now). They are evaluated only while the
 * marker is on. `make MARKERS=0` builds a kernel without any.
 *
 * Words: a *site* is one MARKER in the source; a *place* is where its instruction stands in the
 * image. Inlining and unrolling make several places of one site. A *marker* is a name with all its
 * sites. Sites and places are constants in the ELF section .markers.
 *
 * MARKER is the kind that the kernel uses. MARKER_IMMEDIATE and the others below are for comparison
 * (`marker bench`); docs/markers.md tells what each costs.
 *
 * A marker's place is patched while it is on and has a chain of probes. Who makes chains is the
 * probe manager (kernel/probe.h): it finds markers with marker_find() and calls marker_set_chain()
 * when a chain gets its first probe or loses its last. Hits go to probe_run().
 *
 * Locks: the markers' mutex for `on`, `chain` and what is patched; hits are each CPU's own.
 * Context of MARKER: any, NMI included; but not in what the entry of #BP and marker_hit() call.
 */
#ifndef KERNEL_MARKER_H
#define KERNEL_MARKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/x86/frame.h"
#include "arch/x86/marker_site.h"

#define MARKER_ARGUMENTS_MAX 6

/* MT(NAME, "text", signed) */
#define MARKER_TYPE_TABLE(MT)                                                                      \
    MT(BOOL, "bool", false)                                                                        \
    MT(U8, "u8", false)                                                                            \
    MT(S8, "s8", true)                                                                             \
    MT(U16, "u16", false)                                                                          \
    MT(S16, "s16", true)                                                                           \
    MT(U32, "u32", false)                                                                          \
    MT(S32, "s32", true)                                                                           \
    MT(U64, "u64", false)                                                                          \
    MT(S64, "s64", true)                                                                           \
    MT(POINTER, "pointer", false)                                                                  \
    MT(STRING, "string", false)

enum marker_type {
    MARKER_NONE,
#define MT(name, text, is_signed) MARKER_##name,
    MARKER_TYPE_TABLE(MT)
#undef MT
        MARKER_TYPES
};

static inline bool marker_type_is_signed(enum marker_type type)
{
#define MT(name, text, is_signed) | (is_signed ? 1u << MARKER_##name : 0)
    return type < MARKER_TYPES && (0u MARKER_TYPE_TABLE(MT)) >> type & 1;
#undef MT
}

/* One MARKER in the source. In .markers; readers get it from probes' hits and marker_next_site. */
struct marker_site {
    const char *name;
    const char *argument_names[MARKER_ARGUMENTS_MAX];
    const char *function, *file;
    uint32_t line;
    uint8_t kind; /* enum marker_kind */
    uint8_t argument_count;
    uint8_t argument_types[MARKER_ARGUMENTS_MAX]; /* enum marker_type */
    uint8_t reserved[44];
};
_Static_assert(sizeof(struct marker_site) == 128, "the index of a site is a shift away");

struct probe_chain; /* kernel/probe.h */

/* A name and all its sites. */
struct marker {
    const char *name;
    uint32_t index; /* in the order of names: 0 … marker_count() - 1 */
    uint32_t site_count, place_count;
    bool on;                         /* mutex; wanted by marker_set() */
    bool patched;                    /* mutex; what the text says */
    const struct probe_chain *chain; /* mutex to write, atomic to read; NULL: no probe */
    uint64_t *hits;                  /* [cpu]; each CPU its own */
};

/* What a hit tells the probes. */
struct probe_hit {
    const struct marker_site *site; /* NULL: a dynamic probe */
    uint64_t address;               /* of the instruction; 0: several places share the site */
    const uint64_t *args;           /* each widened to 64 bits by its type's sign */
    unsigned arg_count;
    struct trap_frame *frame; /* the registers there, or NULL: this kind does not have them */
};

/* --- what the shell, the recorder of events and the probe manager use --- */

/* The sites and markers that there are; markers in the order of their names. */
const struct marker_site *marker_next_site(const struct marker_site *site); /* NULL: the first */
uint32_t marker_count(void);
struct marker *marker_at(uint32_t index);
struct marker *marker_find(const char *name);                  /* NULL: none has this name */
struct marker *marker_of_site(const struct marker_site *site); /* any context */
uint64_t marker_hits(const struct marker *marker);             /* of all CPUs */
bool marker_name_matches(const char *glob, const char *name);  /* * and ? */
const char *marker_type_name(enum marker_type type);
const char *marker_kind_name(enum marker_kind kind);

/* Wants all markers whose names match on, or off; patches the places of those for which that
 * changes something, in one batch. ERR_NOT_FOUND: no name matches. Context: thread, may sleep. */
int marker_set(const char *glob, bool on);

/* The probe manager's: the chain that this marker's hits go to, or NULL. Patches, if need be,
 * before it returns; hits may be on their way to the old chain even then (its grace period is the
 * manager's affair). Context: thread, may sleep. */
int marker_set_chain(struct marker *marker, const struct probe_chain *chain);

void marker_commands_register(void); /* kernel/marker_commands.c: markers, marker */

void marker_init(void);  /* boot: the table; no marker does anything before */
void marker_start(void); /* boot, first thread: the calls of BOOT_CALL become NOPs; commands */

/* --- for the kernel's code: the kinds --- */

/* MARKER_ARG(name, expression): the name is what listings and traces show. */
#define MARKER_ARG(name, expression) (name, expression)

#ifndef MARKERS
#define MARKERS 1
#endif

#define MARKER_JOIN_(a, b) a##b
#define MARKER_JOIN(a, b) MARKER_JOIN_(a, b)
#define MARKER_COUNT_(a0, a1, a2, a3, a4, a5, count, ...) count
#define MARKER_COUNT(...) MARKER_COUNT_(__VA_ARGS__ __VA_OPT__(, ) 6, 5, 4, 3, 2, 1, 0)
#define MARKER_NAME_OF(name, expression) #name
#define MARKER_EXPRESSION_OF(name, expression) (expression)

/* MARKER_EACH(f, arguments…): f(0, argument) f(1, argument) … */
#define MARKER_EACH_0(f)
#define MARKER_EACH_1(f, a) f(0, a)
#define MARKER_EACH_2(f, a, b) MARKER_EACH_1(f, a) f(1, b)
#define MARKER_EACH_3(f, a, b, c) MARKER_EACH_2(f, a, b) f(2, c)
#define MARKER_EACH_4(f, a, b, c, d) MARKER_EACH_3(f, a, b, c) f(3, d)
#define MARKER_EACH_5(f, a, b, c, d, e) MARKER_EACH_4(f, a, b, c, d) f(4, e)
#define MARKER_EACH_6(f, a, b, c, d, e, g) MARKER_EACH_5(f, a, b, c, d, e) f(5, g)
#define MARKER_EACH(f, ...)                                                                        \
    MARKER_JOIN(MARKER_EACH_, MARKER_COUNT(__VA_ARGS__))(f __VA_OPT__(, ) __VA_ARGS__)

/* Pointers have too many types to list; whatever else is not listed is refused below. */
#define MARKER_TYPE_OF(expression)                                                                 \
    _Generic((expression),                                                                         \
        _Bool: MARKER_BOOL,                                                                        \
        char: MARKER_S8,                                                                           \
        signed char: MARKER_S8,                                                                    \
        unsigned char: MARKER_U8,                                                                  \
        short: MARKER_S16,                                                                         \
        unsigned short: MARKER_U16,                                                                \
        int: MARKER_S32,                                                                           \
        unsigned: MARKER_U32,                                                                      \
        long: MARKER_S64,                                                                          \
        long long: MARKER_S64,                                                                     \
        unsigned long: MARKER_U64,                                                                 \
        unsigned long long: MARKER_U64,                                                            \
        char *: MARKER_STRING,                                                                     \
        const char *: MARKER_STRING,                                                               \
        default: MARKER_POINTER)
#define MARKER_CLASS_POINTER 5 /* of __builtin_classify_type */

#define MARKER_SITE_NAME(n, argument) MARKER_NAME_OF argument,
#define MARKER_SITE_TYPE(n, argument) MARKER_TYPE_OF(MARKER_EXPRESSION_OF argument),
#define MARKER_CHECK(n, argument)                                                                  \
    _Static_assert(MARKER_TYPE_OF(MARKER_EXPRESSION_OF argument) != MARKER_POINTER ||              \
                       __builtin_classify_type(MARKER_EXPRESSION_OF argument) ==                   \
                           MARKER_CLASS_POINTER,                                                   \
                   "a marker's arguments are integers, pointers and strings");
#define MARKER_INPUT_REGISTER(n, argument) , [a##n] "r"((uint64_t)MARKER_EXPRESSION_OF argument)
#define MARKER_INPUT_ANY(n, argument) , [a##n] "nr"((uint64_t)MARKER_EXPRESSION_OF argument)
#define MARKER_VALUE(n, argument) (uint64_t) MARKER_EXPRESSION_OF argument,
#define MARKER_UNUSED(n, argument) (void)sizeof(MARKER_EXPRESSION_OF argument);

#define MARKER_SITE(name_, kind_, ...)                                                             \
    MARKER_EACH(MARKER_CHECK, __VA_ARGS__)                                                         \
    static const struct marker_site marker_site_                                                   \
        __attribute__((section(".markers.sites"), aligned(8))) = {                                 \
            .name = #name_,                                                                        \
            .argument_names = {MARKER_EACH(MARKER_SITE_NAME, __VA_ARGS__)},                        \
            .function = __func__,                                                                  \
            .file = __FILE__,                                                                      \
            .line = __LINE__,                                                                      \
            .kind = kind_,                                                                         \
            .argument_count = MARKER_COUNT(__VA_ARGS__),                                           \
            .argument_types = {MARKER_EACH(MARKER_SITE_TYPE, __VA_ARGS__)},                        \
    }

/* The indirection lets the count expand before it is joined. */
#define MARKER_WITH_COUNT(code, ...) code(__VA_ARGS__)
#define MARKER_EVALUATE(...)                                                                       \
    MARKER_WITH_COUNT(MARKER_CALL_OUT_OF_LINE, &marker_site_, MARKER_COUNT(__VA_ARGS__),           \
                      MARKER_EACH(MARKER_INPUT_REGISTER, __VA_ARGS__))
#define MARKER_DESCRIBE(code, ...)                                                                 \
    MARKER_WITH_COUNT(code, &marker_site_, MARKER_COUNT(__VA_ARGS__),                              \
                      MARKER_EACH(MARKER_INPUT_ANY, __VA_ARGS__))

/* Out of line, and nothing of it computed ahead (clang knows no cold labels, and may compute pure
 * arithmetic ahead of a loop). */
#ifdef __clang__
#define MARKER_COLD
#else
#define MARKER_COLD __attribute__((cold))
#endif

#if defined(__CPPCHECK__) /* by tools/lint/lint.sh: it knows no __VA_OPT__ */

#define MARKER(...) (void)0
#define MARKER_IMMEDIATE(...) (void)0
#define MARKER_FRAME_JUMP(...) (void)0
#define MARKER_CALL_STUB(...) (void)0
#define MARKER_BOOT_CALL(...) (void)0
#define MARKER_INT3(...) (void)0

#elif MARKERS

/* A NOP of 5 bytes, patched into a jump to code that evaluates the arguments. */
#define MARKER(name, ...)                                                                          \
    do {                                                                                           \
        __label__ marker_on_;                                                                      \
        MARKER_SITE(name, MARKER_NOP_JMP, __VA_ARGS__);                                            \
        MARKER_CODE_NOP_JMP(&marker_site_, marker_on_);                                            \
        if (0) {                                                                                   \
        marker_on_:                                                                                \
            MARKER_COLD;                                                                           \
            MARKER_EVALUATE(__VA_ARGS__);                                                          \
        }                                                                                          \
    } while (0)

/* An immediate 0 that is tested, patched into a 1. */
#define MARKER_IMMEDIATE(name, ...)                                                                \
    do {                                                                                           \
        MARKER_SITE(name, MARKER_IMMEDIATE, __VA_ARGS__);                                          \
        uint32_t marker_immediate_;                                                                \
        MARKER_CODE_IMMEDIATE(&marker_site_, marker_immediate_);                                   \
        if (__builtin_expect(marker_immediate_ != 0, 0))                                           \
            MARKER_EVALUATE(__VA_ARGS__);                                                          \
    } while (0)

/* A NOP of 6 bytes, patched into a jump; the probe gets all registers, and goes on behind it. */
#define MARKER_FRAME_JUMP(name, ...)                                                               \
    do {                                                                                           \
        MARKER_SITE(name, MARKER_FRAME_JUMP, __VA_ARGS__);                                         \
        MARKER_DESCRIBE(MARKER_CODE_FRAME_JUMP, __VA_ARGS__);                                      \
    } while (0)

/* A NOP of 5 bytes, patched into the call of a stub; arguments are recovered from registers. */
#define MARKER_CALL_STUB(name, ...)                                                                \
    do {                                                                                           \
        MARKER_SITE(name, MARKER_CALL_STUB, __VA_ARGS__);                                          \
        MARKER_DESCRIBE(MARKER_CODE_CALL_STUB, __VA_ARGS__);                                       \
    } while (0)

/* A call, patched into a NOP at boot; the arguments are always evaluated. */
#define MARKER_BOOT_CALL(name, ...)                                                                \
    do {                                                                                           \
        MARKER_SITE(name, MARKER_BOOT_CALL, __VA_ARGS__);                                          \
        const uint64_t marker_values_[] = {MARKER_EACH(MARKER_VALUE, __VA_ARGS__) 0};              \
        MARKER_CODE_BOOT_CALL(&marker_site_, marker_values_);                                      \
    } while (0)

/* A NOP of one byte, patched into an int3. */
#define MARKER_INT3(name, ...)                                                                     \
    do {                                                                                           \
        MARKER_SITE(name, MARKER_INT3, __VA_ARGS__);                                               \
        MARKER_DESCRIBE(MARKER_CODE_INT3, __VA_ARGS__);                                            \
    } while (0)

#else

#define MARKER(name, ...)                                                                          \
    do {                                                                                           \
        MARKER_EACH(MARKER_UNUSED, __VA_ARGS__)                                                    \
    } while (0)
#define MARKER_IMMEDIATE(...) MARKER(__VA_ARGS__)
#define MARKER_FRAME_JUMP(...) MARKER(__VA_ARGS__)
#define MARKER_CALL_STUB(...) MARKER(__VA_ARGS__)
#define MARKER_BOOT_CALL(...) MARKER(__VA_ARGS__)
#define MARKER_INT3(...) MARKER(__VA_ARGS__)

#endif
#endif
