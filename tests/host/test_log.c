/* SPDX-License-Identifier: MIT */
/* The coding of events: round trips, limits, damage.
 *
 * What is decoded lies in blocks of exactly its size, so that the sanitizer sees each byte too
 * many.
 */
#include <stdlib.h>

#include "tests/host/random_event.h"
#include "tests/host/tap.h"

#define EVENTS_A_KIND 4000
#define DAMAGED_EVENTS 300

static uint64_t seed = 20240611;

/* Decodes bytes[0 … size) from a block of that size. */
static size_t decode_copy(const struct log_coder *before, const uint8_t *bytes, size_t size,
                          struct log_event *event, const char **reason)
{
    struct log_coder coder = *before;
    uint8_t *copy = malloc(size ? size : 1);

    memcpy(copy, bytes, size);
    size_t length = log_decode(&coder, size ? copy : copy + 1, size, event, reason);
    free(copy);
    return length;
}

/* --- round trips --- */

static void test_round_trip(unsigned kind)
{
    struct log_coder writer = {0}, reader = {0};
    struct log_event event, decoded;
    uint8_t bytes[LOG_EVENT_MAX_BYTES + 1];
    unsigned wrong = 0, too_long = 0;
    const char *reason;

    for (unsigned i = 0; i < EVENTS_A_KIND; i++) {
        random_event(&seed, kind, &writer.point, &event);
        size_t length = log_encode(&writer, &event, bytes);
        size_t taken = log_decode(&reader, bytes, length, &decoded, &reason);
        wrong += taken != length || reason || !events_equal(&event, &decoded);
        too_long += length > LOG_EVENT_MAX_BYTES;
    }
    is_u64(wrong, 0, "%s: %d random events are decoded as they were", log_kind_name(kind),
           EVENTS_A_KIND);
    is_u64(too_long, 0, "%s: none is longer than LOG_EVENT_MAX_BYTES", log_kind_name(kind));
}

/* Every number as long as it can be. */
static void test_longest(unsigned kind)
{
    struct log_coder coder = {.point.rip = 1ull << 63, .page_number = 1ull << 51};
    unsigned fields = log_kind_fields(kind);
    struct log_event event = {.kind = (uint8_t)kind,
                              .point = {UINT64_MAX, 0, 1ull << 63, UINT32_MAX}};
    const char *reason = NULL;
    struct log_event decoded;

    if (fields & LOG_FIELD_RIGHTS)
        event.rights = LOG_RIGHTS_WRITE | LOG_RIGHTS_EXECUTE;
    event.a = fields & LOG_FIELD_A ? UINT64_MAX : 0;
    event.b = fields & LOG_FIELD_B ? UINT64_MAX : 0;
    event.dep_count = fields & LOG_FIELD_DEPS ? LOG_MAX_DEPS : 0;
    for (unsigned i = 0; i < event.dep_count; i++)
        event.deps[i] = (struct log_dep){LOG_MAX_SLOTS - 1, UINT64_MAX};

    struct log_coder before = coder;
    uint8_t *bytes = malloc(LOG_EVENT_MAX_BYTES);
    size_t length = log_encode(&coder, &event, bytes);
    ok(length <= LOG_EVENT_MAX_BYTES, "%s: the longest possible event has %zu of at most %d bytes",
       log_kind_name(kind), length, LOG_EVENT_MAX_BYTES);
    ok(decode_copy(&before, bytes, length, &decoded, &reason) == length &&
           events_equal(&event, &decoded),
       "%s: it is decoded as it was", log_kind_name(kind));
    free(bytes);
}

/* --- damage --- */

static bool rights_known(unsigned rights)
{
    return (rights & LOG_RIGHTS_MASK) <= LOG_RIGHTS_WRITE &&
           !(rights & ~(LOG_RIGHTS_MASK | LOG_RIGHTS_EXECUTE));
}

static bool in_range(const struct log_event *event)
{
    unsigned fields = log_kind_fields(event->kind);

    if (fields == ~0u || event->page % 4096 || !rights_known(event->rights) ||
        event->dep_count > LOG_MAX_DEPS)
        return false;
    if ((event->page && !(fields & LOG_FIELD_PAGE)) || (event->a && !(fields & LOG_FIELD_A)) ||
        (event->b && !(fields & LOG_FIELD_B)) || (event->rights && !(fields & LOG_FIELD_RIGHTS)) ||
        (event->dep_count && !(fields & LOG_FIELD_DEPS)))
        return false;
    for (unsigned i = 0; i < event->dep_count; i++)
        if (event->deps[i].slot >= LOG_MAX_SLOTS || event->deps[i].event == 0)
            return false;
    return true;
}

/* Either refused with a reason, or an event that is decoded to the same again when coded anew. */
static bool sound(const struct log_coder *before, const uint8_t *bytes, size_t size)
{
    struct log_coder coder = *before;
    struct log_event event, again;
    uint8_t coded[LOG_EVENT_MAX_BYTES];
    const char *reason = NULL;
    size_t length = decode_copy(before, bytes, size, &event, &reason);

    if (length == 0)
        return reason != NULL;
    if (reason || length > size || !in_range(&event))
        return false;
    size_t canonical = log_encode(&coder, &event, coded);
    return decode_copy(before, coded, canonical, &again, &reason) == canonical &&
           events_equal(&event, &again);
}

struct damage_counts {
    unsigned cuts, flips, bytes;
};

static void damage_event(const struct log_coder *before, uint8_t *bytes, size_t length,
                         struct damage_counts *wrong)
{
    const char *reason = NULL;
    struct log_event event;

    for (size_t cut = 0; cut < length; cut++)
        if (decode_copy(before, bytes, cut, &event, &reason) != 0 || !reason ||
            strcmp(reason, "event is cut off") != 0)
            wrong->cuts++;
    for (size_t bit = 0; bit < length * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        wrong->flips += !sound(before, bytes, length);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (unsigned i = 0; i < 32; i++) {
        size_t place = random_below(&seed, length);
        uint8_t old = bytes[place];
        bytes[place] = (uint8_t)random_u64(&seed);
        wrong->bytes += !sound(before, bytes, length);
        bytes[place] = old;
    }
}

static void test_damage(unsigned kind)
{
    struct log_coder coder = {0};
    struct damage_counts wrong = {0};
    uint8_t bytes[LOG_EVENT_MAX_BYTES] = {0};
    struct log_event event;

    for (unsigned i = 0; i < DAMAGED_EVENTS; i++) {
        struct log_coder before = coder;
        random_event(&seed, kind, &coder.point, &event);
        damage_event(&before, bytes, log_encode(&coder, &event, bytes), &wrong);
    }
    is_u64(wrong.cuts, 0, "%s: an event cut off anywhere is refused as such", log_kind_name(kind));
    is_u64(wrong.flips, 0, "%s: a flipped bit gives an error or a sound event",
           log_kind_name(kind));
    is_u64(wrong.bytes, 0, "%s: so does another byte", log_kind_name(kind));
}

static void test_garbage(void)
{
    struct log_coder zero = {0};
    uint8_t bytes[64];
    unsigned wrong = 0;

    for (unsigned i = 0; i < 200000; i++) {
        size_t size = random_below(&seed, sizeof bytes + 1);
        for (size_t at = 0; at < size; at++)
            bytes[at] = (uint8_t)random_u64(&seed);
        if (size && i % 2)
            bytes[0] = (uint8_t)(random_below(&seed, EVENT_KINDS + 1) | (i % 4 == 1 ? 0x80 : 0));
        wrong += !sound(&zero, bytes, size);
    }
    is_u64(wrong, 0, "200000 blocks of random bytes give errors or sound events");
}

static void refused(const char *what, const char *expected, const uint8_t *bytes, size_t size)
{
    struct log_coder coder = {.point.ticks = UINT64_MAX, .page_number = (1ull << 52) - 1};
    const char *reason = NULL;
    struct log_event event;
    size_t length = decode_copy(&coder, bytes, size, &event, &reason);

    is_u64(length, 0, "%s: refused", what);
    is_string(reason, expected, "%s: by name", what);
}

#define REFUSED(what, reason, ...)                                                                 \
    refused(what, reason, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))
#define SAME(kind) (LOG_##kind | LOG_SAME_POINT)

static void test_refusals(void)
{
    REFUSED("kind 0", "unknown kind of event", 0);
    REFUSED("kind 127", "unknown kind of event", 0xff);
    REFUSED("ticks that wrap", "tick count beyond 64 bits", LOG_STOP, 1, 0, 0, 0, 0, 0, 0);
    REFUSED("a page behind the last", "page number out of range", SAME(DEMOTE), 2, 0);
    REFUSED("rights 3", "unknown rights", SAME(DEMOTE), 0, 3);
    REFUSED("rights 8", "unknown rights", SAME(DEMOTE), 0, 8);
    REFUSED("rights 7", "unknown rights", SAME(DEMOTE), 0, 7);
    REFUSED("65 bits", "number of more than 64 bits", SAME(EXIT), 0x80, 0x80, 0x80, 0x80, 0x80,
            0x80, 0x80, 0x80, 0x80, 2);
    REFUSED("eleven groups", "number of more than 64 bits", SAME(EXIT), 0x80, 0x80, 0x80, 0x80,
            0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0);
    REFUSED("a needless group", "number longer than it need be", SAME(EXIT), 0x80, 0);
    REFUSED("ten groups, the last one needless", "number longer than it need be", SAME(EXIT), 0x80,
            0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0);
    REFUSED("a needless group of a difference", "number longer than it need be", SAME(DEMOTE), 0x82,
            0, 0);
    REFUSED("65 dependencies", "too many dependencies", SAME(ORDER), 0, LOG_MAX_DEPS + 1);
    REFUSED("slot 64", "dependency out of range", SAME(ORDER), 0, 1, LOG_MAX_SLOTS, 1);
    REFUSED("event 0", "dependency out of range", SAME(ORDER), 0, 1, 1, 0);
}

static void test_names(void)
{
    is_string(log_kind_name(0), "?", "kind 0 has no name");
    is_string(log_kind_name(255), "?", "kind 255 has no name");
    ok(log_kind_fields(0) == ~0u && log_kind_fields(200) == ~0u, "unknown kinds have no fields");
    is_string(log_rights_name(LOG_RIGHTS_WRITE), "write", "rights have names");
    is_string(log_rights_name(LOG_RIGHTS_READ | LOG_RIGHTS_EXECUTE), "read execute", "all of them");
    is_string(log_rights_name(3), "?", "unknown rights have none");
    is_string(log_rights_name(255), "?", "nor do those far off");
    ok(log_kind_asynchronous(LOG_DEMOTE) && log_kind_asynchronous(LOG_STOP) &&
           !log_kind_asynchronous(LOG_PROMOTE) && !log_kind_asynchronous(99),
       "demotions and stops are what does not come by itself");
}

int main(void)
{
    test_names();
    for (unsigned i = 0; i < EVENT_KINDS; i++) {
        test_round_trip(event_kinds[i]);
        test_longest(event_kinds[i]);
        test_damage(event_kinds[i]);
    }
    test_garbage();
    test_refusals();
    return done();
}
