/* SPDX-License-Identifier: MIT */
/* The flight recorder's ring. Writer: any context of the ring's CPU. Readers: any.
 *
 * Words of events are stored and loaded one by one, as relaxed atomics: a reader may look at what
 * is being overwritten, and then throws it away.
 */
#include "kernel/flight_ring.h"

#include "arch/x86/cpu.h"
#include "arch/x86/cpu_local.h"
#include "arch/x86/layout.h"
#include "kernel/err.h"
#include "kernel/string.h"

#define RESERVE_TRIES 64
#define STRING_WORDS (FLIGHT_STRING_BYTES / 8)

_Static_assert((FLIGHT_SUBS & (FLIGHT_SUBS - 1)) == 0, "places are rests of powers of two");
_Static_assert((FLIGHT_SUB_BYTES & (FLIGHT_SUB_BYTES - 1)) == 0, "the same");

struct flight_layout flight_layout_make(unsigned arg_count, unsigned strings)
{
    unsigned string_count = 0, leading = strings ? (unsigned)__builtin_ctz(strings) : arg_count;
    for (unsigned i = 0; i < arg_count; i++)
        string_count += strings >> i & 1;
    return (struct flight_layout){
        .bytes = (uint16_t)(FLIGHT_HEADER_BYTES + 8 * (arg_count - string_count) +
                            FLIGHT_STRING_BYTES * string_count),
        .leading = (uint8_t)leading,
        .tail = leading == arg_count       ? FLIGHT_TAIL_NONE
                : leading + 1 == arg_count ? FLIGHT_TAIL_STRING
                                           : FLIGHT_TAIL_MIXED,
        .arg_count = (uint8_t)arg_count,
        .strings = (uint8_t)strings,
    };
}

void flight_ring_reset(struct flight_ring *ring, uint64_t *words, bool overwrite)
{
    *ring = (struct flight_ring){
        .words = words,
        .limit = overwrite ? UINT64_MAX : FLIGHT_RING_BYTES,
    };
    for (size_t i = 0; i < FLIGHT_RING_BYTES / 8; i++)
        words[i] = 0;
}

void flight_ring_refuse(struct flight_ring *ring)
{
    *ring = (struct flight_ring){.reserved = FLIGHT_SUB_BYTES - 8};
}

/* --- writing --- */

static inline void store(uint64_t *to, uint64_t word)
{
    __atomic_store_n(to, word, __ATOMIC_RELAXED);
}

static inline struct flight_sub *sub_at(struct flight_ring *ring, uint64_t position)
{
    return &ring->subs[position / FLIGHT_SUB_BYTES % FLIGHT_SUBS];
}

/* No loop: a jump into the middle. */
static inline void store_words(uint64_t *to, unsigned count, const uint64_t *args)
{
    switch (count) {
    case 6:
        store(to + 5, args[5]); /* fall through */
    case 5:
        store(to + 4, args[4]); /* fall through */
    case 4:
        store(to + 3, args[3]); /* fall through */
    case 3:
        store(to + 2, args[2]); /* fall through */
    case 2:
        store(to + 1, args[1]); /* fall through */
    case 1:
        store(to, args[0]);
    case 0:
        return;
    }
    __builtin_unreachable();
}

/* A string of the kernel's, whose next 31 bytes are there even if they are not its own: what is
 * behind its end, readers take away. */
static inline bool string_is_easy(uint64_t from)
{
#if __STDC_HOSTED__
    bool kernel = from != 0;
#else
    bool kernel = (int64_t)from < 0;
#endif
    return kernel && (from & 4095) <= 4096 - FLIGHT_STRING_BYTES;
}

static inline void copy_string(uint64_t *to, const uint64_t *from)
{
    _Static_assert(FLIGHT_STRING_BYTES == 32, "four words");
    store(to, from[0]);
    store(to + 1, from[1]);
    store(to + 2, from[2]);
    store(to + 3, from[3]);
}

/* --- writing: the rare parts --- */

/* Byte by byte, and nothing of another page before it is known that the string goes on there. */
NOPROBE static void store_string(uint64_t *to, uint64_t from)
{
    static const char null_text[] = "(null)";
    const char *text = from ? (const char *)from : null_text;
    bool ended = false;
#if !__STDC_HOSTED__
    if (from && from < DIRECT_MAP_BASE)
        text = null_text; /* nothing of the kernel's */
#endif
    for (unsigned i = 0; i < STRING_WORDS; i++) {
        uint64_t word = 0;
        for (unsigned k = 0; k < 8; k++) {
            uint64_t byte = ended ? 0 : (uint8_t)text[8 * i + k];
            ended = ended || byte == 0;
            word |= byte << (8 * k);
        }
        store(to + i, word);
    }
}

/* From the first string on, which is where `to` points. */
NOPROBE static void store_mixed(uint64_t *to, const struct flight_layout *layout,
                                const uint64_t *args)
{
    for (unsigned i = layout->leading; i < layout->arg_count; i++) {
        if (layout->strings >> i & 1) {
            store_string(to, args[i]);
            to += STRING_WORDS;
        } else {
            store(to++, args[i]);
        }
    }
}

/* The sub-buffer that starts there may be entered. The time is noted before anybody does; when
 * several contexts try, that of any of them will do. */
static inline bool open_sub(struct flight_ring *ring, uint64_t start, uint64_t now)
{
    struct flight_sub *sub = sub_at(ring, start);
    uint64_t laps = start / FLIGHT_RING_BYTES;
    if (start >= ring->limit ||
        __atomic_load_n(&sub->committed, __ATOMIC_RELAXED) != laps * FLIGHT_SUB_BYTES)
        return false;
    store(&sub->opened, now);
    return true;
}

/* Whoever reserved across the end of a sub-buffer, which is one context each time. */
static inline void close_sub(struct flight_ring *ring, uint64_t position, uint64_t start)
{
    struct flight_sub *sub = sub_at(ring, position);
    store(&sub->content, position % FLIGHT_SUB_BYTES);
    store(&sub->lost, ring->lost);
    cpu_local_add(&sub->committed, start - position);
}

static inline bool lose(struct flight_ring *ring)
{
    cpu_local_add(&ring->lost, 1);
    return false;
}

/* Where an event goes, and its time. */
struct place {
    uint64_t position, time;
};

static inline bool reserve(struct flight_ring *ring, uint32_t bytes, struct place *place)
{
    uint64_t position, start, now;
    unsigned tries = RESERVE_TRIES;
    do {
        position = __atomic_load_n(&ring->reserved, __ATOMIC_RELAXED);
        if (tries-- == 0)
            return lose(ring);
        now = cpu_rdtsc();
        start = position;
        if (position % FLIGHT_SUB_BYTES + bytes >= FLIGHT_SUB_BYTES) {
            start = (position | (FLIGHT_SUB_BYTES - 1)) + 1;
            /* An interrupt may have entered it just now: then the compare-exchange fails, too. */
            if (!open_sub(ring, start, now) &&
                __atomic_load_n(&ring->reserved, __ATOMIC_RELAXED) == position)
                return lose(ring);
        }
    } while (!cpu_local_compare_exchange(&ring->reserved, position, start + bytes));
    if (start != position)
        close_sub(ring, position, start);
    *place = (struct place){start, now};
    return true;
}

NOPROBE static int write_slowly(struct flight_ring *ring, const struct flight_layout *layout,
                                uint64_t id, const uint32_t *thread, const uint64_t *args)
{
    struct place place;
    if (!reserve(ring, layout->bytes, &place))
        return ERR_LOG_FULL;
    uint64_t *to = ring->words + place.position % FLIGHT_RING_BYTES / 8;
    store(to + 1, (uint64_t)*thread << 32 | id);
    store_words(to + 2, layout->leading, args);
    store_mixed(to + 2 + layout->leading, layout, args);
    store(to, place.time);
    cpu_local_add(&sub_at(ring, place.position)->committed, layout->bytes);
    return 0;
}

/* --- writing: the way of most events --- */

/* Every instruction counts here: with the way from a marker it must not be more than 150. So there
 * is no loop, no call in the middle, few values are needed at one time, and it is compiled twice.
 */
__attribute__((always_inline, no_sanitize("address"))) static inline int
write_fast(struct flight_ring *ring, const struct flight_layout *layout, uint64_t id,
           const uint32_t *thread, const uint64_t *args, bool string)
{
    uint64_t position = __atomic_load_n(&ring->reserved, __ATOMIC_RELAXED);
    uint64_t time = cpu_rdtsc();
    if (__builtin_expect(
            position % FLIGHT_SUB_BYTES + layout->bytes >= FLIGHT_SUB_BYTES ||
                !cpu_local_compare_exchange(&ring->reserved, position, position + layout->bytes),
            0))
        return write_slowly(ring, layout, id, thread, args);
    uint64_t *to = ring->words + position % FLIGHT_RING_BYTES / 8;
    store(to + 1, (uint64_t)*thread << 32 | id);
    store_words(to + 2, layout->leading, args);
    if (string)
        copy_string(to + 2 + layout->leading, (const uint64_t *)args[layout->leading]);
    store(to, time); /* last: of what was interrupted for ever it is of an earlier lap */
    cpu_local_add(&sub_at(ring, position)->committed, layout->bytes);
    return 0;
}

NOPROBE __attribute__((no_sanitize("address"))) int
flight_ring_write(struct flight_ring *ring, const struct flight_layout *layout, uint64_t id,
                  const uint32_t *thread, const uint64_t *args)
{
    if (__builtin_expect(layout->tail == FLIGHT_TAIL_NONE, 1))
        return write_fast(ring, layout, id, thread, args, false);
    if (layout->tail == FLIGHT_TAIL_STRING && string_is_easy(args[layout->leading]))
        return write_fast(ring, layout, id, thread, args, true);
    return write_slowly(ring, layout, id, thread, args);
}

/* --- reading --- */

void flight_ring_range(const struct flight_ring *ring, uint64_t *first, uint64_t *end)
{
    uint64_t reserved = __atomic_load_n(&ring->reserved, __ATOMIC_ACQUIRE);
    *end = (reserved + FLIGHT_SUB_BYTES - 1) / FLIGHT_SUB_BYTES;
    *first = *end > FLIGHT_SUBS ? *end - FLIGHT_SUBS : 0;
}

/* How much of a sub-buffer is to be read, and whether all of that is known to be whole. */
struct extent {
    uint32_t bytes;
    uint64_t lost;
    bool whole;
};

/* committed is read before reserved: if they agree, nothing was being written when it was read. */
static struct extent look(const struct flight_ring *ring, uint64_t sequence)
{
    const struct flight_sub *sub = &ring->subs[sequence % FLIGHT_SUBS];
    uint64_t before = sequence / FLIGHT_SUBS * FLIGHT_SUB_BYTES;
    uint64_t committed = __atomic_load_n(&sub->committed, __ATOMIC_ACQUIRE) - before;
    uint64_t reserved = __atomic_load_n(&ring->reserved, __ATOMIC_ACQUIRE);
    uint64_t lost = __atomic_load_n(&ring->lost, __ATOMIC_RELAXED);
    if (committed == FLIGHT_SUB_BYTES)
        return (struct extent){
            (uint32_t)__atomic_load_n(&sub->content, __ATOMIC_RELAXED),
            __atomic_load_n(&sub->lost, __ATOMIC_RELAXED),
            true,
        };
    if (reserved / FLIGHT_SUB_BYTES == sequence) {
        uint32_t bytes = (uint32_t)(reserved % FLIGHT_SUB_BYTES);
        return (struct extent){bytes, lost, committed == bytes};
    }
    return (struct extent){FLIGHT_SUB_BYTES, lost, false};
}

static void copy_words(uint64_t *to, const uint64_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = __atomic_load_n(from + i, __ATOMIC_RELAXED);
}

/* What stands before the first event that was not filled in: there stands a time of an earlier lap.
 */
static uint32_t whole_prefix(const uint64_t *words, uint32_t bytes, uint64_t not_before,
                             const struct flight_layouts *layouts)
{
    uint32_t offset = 0, good = 0;
    struct flight_event event;
    while (flight_event_next(words, bytes, &offset, layouts, &event) &&
           event.timestamp >= not_before) {
        not_before = event.timestamp;
        good = offset;
    }
    return good;
}

/* As they are to be read: without what was copied from behind their end. */
static void clean_string(char *text)
{
    size_t length = strnlen(text, FLIGHT_STRING_BYTES - 1);
    memset(text + length, 0, FLIGHT_STRING_BYTES - length);
    if (length == 0)
        memcpy(text, "(empty)", sizeof("(empty)"));
}

static void clean_strings(uint64_t *words, uint32_t bytes, const struct flight_layouts *layouts)
{
    uint32_t offset = 0, start = 0;
    struct flight_event event;
    for (; flight_event_next(words, bytes, &offset, layouts, &event); start = offset) {
        struct flight_layout layout = layouts->table[event.id];
        uint64_t *arg = words + (start + FLIGHT_HEADER_BYTES) / 8;
        for (unsigned i = 0; layout.strings && i < layout.arg_count; i++) {
            bool string = layout.strings >> i & 1;
            if (string)
                clean_string((char *)arg);
            arg += string ? STRING_WORDS : 1;
        }
    }
}

bool flight_ring_copy(const struct flight_ring *ring, uint64_t sequence,
                      const struct flight_layouts *layouts, unsigned patience, uint64_t *out,
                      struct flight_packet *packet)
{
    struct extent extent = look(ring, sequence);
    for (; !extent.whole && patience > 0; patience--) {
        cpu_pause();
        extent = look(ring, sequence);
    }
    copy_words(out, ring->words + sequence % FLIGHT_SUBS * FLIGHT_SUB_BYTES / 8, extent.bytes / 8);
    uint64_t not_before =
        __atomic_load_n(&ring->subs[sequence % FLIGHT_SUBS].opened, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(&ring->reserved, __ATOMIC_RELAXED) >
        (sequence + FLIGHT_SUBS) * FLIGHT_SUB_BYTES)
        return false;
    if (!extent.whole)
        extent.bytes = whole_prefix(out, extent.bytes, not_before, layouts);
    clean_strings(out, extent.bytes, layouts);
    *packet = (struct flight_packet){
        .sequence = sequence,
        .bytes = extent.bytes,
        .lost = extent.lost,
        .incomplete = !extent.whole,
    };
    return true;
}

bool flight_event_next(const uint64_t *words, uint32_t bytes, uint32_t *offset,
                       const struct flight_layouts *layouts, struct flight_event *event)
{
    const uint64_t *at = words + *offset / 8;
    if (*offset + FLIGHT_HEADER_BYTES > bytes || at[0] == 0)
        return false;
    uint32_t id = (uint32_t)at[1];
    if (id >= layouts->count || *offset + layouts->table[id].bytes > bytes)
        return false;
    *event = (struct flight_event){at[0], id, (uint32_t)(at[1] >> 32), at + 2};
    *offset += layouts->table[id].bytes;
    return true;
}
