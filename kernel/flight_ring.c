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

#define RESERVE_TRIES 64
#define STRING_WORDS (FLIGHT_STRING_BYTES / 8)
#define LOW_BITS 0x0101010101010101ull
#define HIGH_BITS 0x8080808080808080ull
#define NULL_TEXT 0x296c6c756e28ull    /* "(null)", as it lies in memory */
#define EMPTY_TEXT 0x297974706d6528ull /* "(empty)" */

_Static_assert((FLIGHT_SUBS & (FLIGHT_SUBS - 1)) == 0, "places are rests of powers of two");
_Static_assert((FLIGHT_SUB_BYTES & (FLIGHT_SUB_BYTES - 1)) == 0, "the same");

struct flight_layout flight_layout_make(unsigned arg_count, unsigned strings)
{
    unsigned string_count = 0;
    for (unsigned i = 0; i < arg_count; i++)
        string_count += strings >> i & 1;
    return (struct flight_layout){
        .bytes = (uint16_t)(FLIGHT_HEADER_BYTES + 8 * (arg_count - string_count) +
                            FLIGHT_STRING_BYTES * string_count),
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

/* --- writing --- */

static inline struct flight_sub *sub_at(struct flight_ring *ring, uint64_t position)
{
    return &ring->subs[position / FLIGHT_SUB_BYTES % FLIGHT_SUBS];
}

static inline void store(uint64_t *to, uint64_t word)
{
    __atomic_store_n(to, word, __ATOMIC_RELAXED);
}

/* Programs' memory is never looked at, nor what is no address. */
static inline bool may_read(uint64_t address)
{
#if __STDC_HOSTED__
    return address != 0;
#else
    return address >= DIRECT_MAP_BASE;
#endif
}

/* Eight bytes from `at` on, as far as the string goes, zeros behind its end. May read behind that,
 * but never the next page before it is known that the string goes on there. */
__attribute__((no_sanitize("address"))) static inline uint64_t string_word(uint64_t at, bool *ended)
{
    uint64_t word = 0;
    if ((at & 4095) > 4096 - 8) {
        for (unsigned i = 0; i < 8; i++) {
            uint64_t byte = *(const uint8_t *)(at + i);
            *ended = byte == 0;
            if (*ended)
                break;
            word |= byte << (8 * i);
        }
        return word;
    }
    __builtin_memcpy(&word, (const void *)at, 8);
    uint64_t zeros = (word - LOW_BITS) & ~word & HIGH_BITS;
    if (zeros == 0)
        return word;
    *ended = true;
    return word & (((zeros & -zeros) >> 7) - 1);
}

static inline void store_string(uint64_t *to, uint64_t from)
{
    bool ended = !may_read(from);
    uint64_t word = ended ? NULL_TEXT : string_word(from, &ended);
    store(to, word ? word : EMPTY_TEXT);
    for (unsigned i = 1; i < STRING_WORDS; i++) {
        word = ended ? 0 : string_word(from + 8 * i, &ended);
        store(to + i, i < STRING_WORDS - 1 ? word : word & ~0ull >> 8);
    }
}

static inline void store_args(uint64_t *to, struct flight_layout layout, const uint64_t *args)
{
    for (unsigned i = 0; i < layout.arg_count; i++) {
        if (layout.strings >> i & 1) {
            store_string(to, args[i]);
            to += STRING_WORDS;
        } else {
            store(to++, args[i]);
        }
    }
}

/* The sub-buffer that starts there may be entered. The time is noted before anybody does; when
 * several contexts try, that of any of them will do. */
static bool open_sub(struct flight_ring *ring, uint64_t start, uint64_t now)
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
static void close_sub(struct flight_ring *ring, uint64_t position, uint64_t start)
{
    struct flight_sub *sub = sub_at(ring, position);
    store(&sub->content, position % FLIGHT_SUB_BYTES);
    store(&sub->lost, ring->lost);
    cpu_local_add(&sub->committed, start - position);
}

static bool lose(struct flight_ring *ring)
{
    cpu_local_add(&ring->lost, 1);
    return false;
}

bool flight_ring_write(struct flight_ring *ring, struct flight_layout layout, uint32_t id,
                       uint32_t thread, const uint64_t *args)
{
    uint64_t position, start, now;
    unsigned tries = RESERVE_TRIES;
    do {
        position = __atomic_load_n(&ring->reserved, __ATOMIC_RELAXED);
        if (tries-- == 0)
            return lose(ring);
        now = cpu_rdtsc();
        start = position;
        if (__builtin_expect(position % FLIGHT_SUB_BYTES + layout.bytes >= FLIGHT_SUB_BYTES, 0)) {
            start = (position | (FLIGHT_SUB_BYTES - 1)) + 1;
            /* An interrupt may have entered it just now: then the compare-exchange fails, too. */
            if (!open_sub(ring, start, now) &&
                __atomic_load_n(&ring->reserved, __ATOMIC_RELAXED) == position)
                return lose(ring);
        }
    } while (!cpu_local_compare_exchange(&ring->reserved, position, start + layout.bytes));
    if (__builtin_expect(start != position, 0))
        close_sub(ring, position, start);
    uint64_t *to = ring->words + start % FLIGHT_RING_BYTES / 8;
    store(to + 1, (uint64_t)thread << 32 | id);
    store_args(to + 2, layout, args);
    store(to, now); /* last: of what was interrupted for ever the time is that of an earlier lap */
    cpu_local_add(&sub_at(ring, start)->committed, layout.bytes);
    return true;
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
