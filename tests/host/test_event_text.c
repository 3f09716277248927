/* SPDX-License-Identifier: MIT */
/* Events as lines of text: every kind, every operand, every length of the buffer.
 */
#include <stdlib.h>

#include "kernel/abi.h"
#include "kernel/names.h"
#include "kernel/recorder.h"
#include "replay/event_text.h"
#include "tests/host/random_event.h"
#include "tests/host/tap.h"

/* --- what event_text.c needs of the kernel --- */

const char *syscall_name_x86_64(uint64_t number)
{
    return number == SYS_futex ? "futex" : "?";
}

const char *object_name(enum object_id id)
{
    return id == OBJECT_OUTPUT ? "output" : "other";
}

/* --- tests --- */

#define AT " @ ticks 40 rip 0x401020 rcx 0x5 check 0x0000beef"
#define EVENT(kind_, ...)                                                                          \
    {                                                                                              \
        .kind = LOG_##kind_, .point = {40, 0x401020, 5, 0xbeef}, __VA_ARGS__                       \
    }

static const struct {
    struct log_event event;
    const char *text;
} lines[] = {
    {EVENT(PROMOTE, .page = 0x402000, .rights = LOG_RIGHTS_WRITE, .dep_count = 2,
           .deps = {{1, 7}, {2, 3}}),
     "9 promote page 0x402000 write after 1:7 2:3" AT},
    {EVENT(PROMOTE, .page = 0x402000, .rights = LOG_RIGHTS_READ),
     "9 promote page 0x402000 read" AT},
    {EVENT(PROMOTE, .page = 0x401000, .rights = LOG_RIGHTS_READ | LOG_RIGHTS_EXECUTE),
     "9 promote page 0x401000 read execute" AT},
    {EVENT(REVOKE, .page = 0x402000, .dep_count = 1, .deps = {{2, 3}}),
     "9 revoke page 0x402000 after 2:3" AT},
    {EVENT(DEMOTE, .page = 0x7fff0000, .rights = LOG_RIGHTS_NONE),
     "9 demote page 0x7fff0000 none" AT},
    {EVENT(SYSCALL, .a = SYS_futex), "9 syscall 202 futex" AT},
    {EVENT(RESULT, .a = (uint64_t)-11), "9 result -11" AT},
    {EVENT(ORDER, .a = OBJECT_OUTPUT, .dep_count = 1, .deps = {{63, 99}}),
     "9 order output after 63:99" AT},
    {EVENT(ACCESS, .page = 0x1000, .rights = LOG_RIGHTS_READ), "9 access page 0x1000 read" AT},
    {EVENT(REFUSED, .page = 0x1000, .rights = LOG_RIGHTS_WRITE), "9 refused page 0x1000 write" AT},
    {EVENT(VALUE, .a = VALUE_TSC, .b = 123456789012), "9 value tsc 123456789012" AT},
    {EVENT(VALUE, .a = 77, .b = (uint64_t)-1), "9 value ? -1" AT},
    {EVENT(OWNER, .a = 3, .b = 0xabc), "9 owner 3 pages, hash 0xabc" AT},
    {EVENT(STOP), "9 stop" AT},
    {EVENT(EXIT, .a = 2), "9 exit status 2" AT},
    {EVENT(FATAL, .a = 14 | 6ull << 32, .b = 0x5eadbeef0000),
     "9 fatal #PF error 0x6 address 0x5eadbeef0000" AT},
    {EVENT(FATAL, .a = 0), "9 fatal #DE error 0x0 address 0x0" AT},
};
#define LINES (sizeof lines / sizeof lines[0])

static void test_lines(void)
{
    char text[512];

    for (unsigned i = 0; i < LINES; i++) {
        int length = event_format(text, sizeof text, 9, &lines[i].event);
        is_string(text, lines[i].text, "%s, event %u", log_kind_name(lines[i].event.kind), i);
        is_u64((uint64_t)length, strlen(lines[i].text), "and its length");
    }
}

static void test_all_kinds_are_here(void)
{
    for (unsigned i = 0; i < EVENT_KINDS; i++) {
        bool found = false;
        for (unsigned line = 0; line < LINES; line++)
            found |= lines[line].event.kind == event_kinds[i];
        ok(found, "%s is among them", log_kind_name(event_kinds[i]));
    }
}

/* In blocks of exactly the size that is told, so that the sanitizer sees each byte too many. */
static void test_short_buffers(void)
{
    unsigned wrong = 0;

    for (unsigned i = 0; i < LINES; i++)
        for (unsigned size = 1; size <= strlen(lines[i].text) + 1; size++) {
            char *text = malloc(size);
            event_format(text, size, 9, &lines[i].event);
            wrong += strlen(text) != size - 1 || memcmp(text, lines[i].text, size - 1) != 0;
            free(text);
        }
    is_u64(wrong, 0, "a buffer of any length gets as much as fits");
}

static void test_random(void)
{
    uint64_t seed = 3;
    struct log_point last = {0};
    struct log_event event;
    unsigned wrong = 0;

    for (unsigned i = 0; i < 20000; i++) {
        random_event(&seed, event_kinds[i % EVENT_KINDS], &last, &event);
        char *text = malloc(512);
        int length = event_format(text, 512, random_u64(&seed), &event);
        wrong += length <= 0 || strlen(text) != (length < 512 ? (size_t)length : 511u);
        free(text);
    }
    is_u64(wrong, 0, "any event has a text");
}

int main(void)
{
    test_lines();
    test_all_kinds_are_here();
    test_short_buffers();
    test_random();
    return done();
}
