/* SPDX-License-Identifier: MIT */
/* Points of execution: their order, and what their check notices.
 */
#include <stddef.h>
#include <stdlib.h>

#include "replay/point.h"
#include "tests/host/random.h"
#include "tests/host/tap.h"

#define ROUNDS 200

static uint64_t seed = 99;

static void random_frame(struct trap_frame *frame)
{
    uint64_t *words = (uint64_t *)frame;

    for (size_t i = 0; i < sizeof *frame / sizeof *words; i++)
        words[i] = random_u64(&seed);
}

/* How many of the bits in mask of that word of a frame the check does not notice. */
static unsigned unnoticed(size_t offset, uint64_t mask)
{
    struct trap_frame frame;
    unsigned count = 0;

    for (unsigned round = 0; round < ROUNDS; round++) {
        random_frame(&frame);
        struct log_point before = point_make(5, &frame);
        for (uint64_t bits = mask; bits; bits &= bits - 1) {
            uint64_t *word = (uint64_t *)((char *)&frame + offset);
            *word ^= bits & -bits;
            count += point_make(5, &frame).check == before.check;
            *word ^= bits & -bits;
        }
    }
    return count;
}

#define REGISTER(name)                                                                             \
    {                                                                                              \
#name, offsetof(struct trap_frame, name)                                                   \
    }

static void test_registers(void)
{
    static const struct {
        const char *name;
        size_t offset;
    } registers[] = {
        REGISTER(r15), REGISTER(r14), REGISTER(r13), REGISTER(r12), REGISTER(r11), REGISTER(r10),
        REGISTER(r9),  REGISTER(r8),  REGISTER(rbp), REGISTER(rdi), REGISTER(rsi), REGISTER(rdx),
        REGISTER(rcx), REGISTER(rbx), REGISTER(rax), REGISTER(rsp),
    };

    for (size_t i = 0; i < sizeof registers / sizeof registers[0]; i++)
        is_u64(unnoticed(registers[i].offset, UINT64_MAX), 0, "every bit of %s is noticed",
               registers[i].name);
}

/* An emulator may have dropped them at a fault, and TF, RF and IF are the kernel's. */
static void test_flags(void)
{
    size_t flags = offsetof(struct trap_frame, rflags);

    is_u64(unnoticed(flags, UINT64_MAX), 64 * ROUNDS, "no flag is noticed");
}

static void test_rest_of_frame(void)
{
    static const size_t offsets[] = {
        offsetof(struct trap_frame, vector), offsetof(struct trap_frame, error),
        offsetof(struct trap_frame, cs), offsetof(struct trap_frame, ss)};
    unsigned noticed = 0;

    for (unsigned i = 0; i < 4; i++)
        noticed += 64 * ROUNDS - unnoticed(offsets[i], UINT64_MAX);
    is_u64(noticed, 0, "how the kernel was entered does not change the point");
}

/* A hash that only added the registers up would not see this. */
static void test_exchanged_registers(void)
{
    unsigned same = 0;

    for (unsigned round = 0; round < ROUNDS; round++) {
        struct trap_frame frame, exchanged;
        random_frame(&frame);
        exchanged = frame;
        uint64_t *words = (uint64_t *)&exchanged;
        unsigned i = (unsigned)random_below(&seed, 15);
        unsigned j = (i + 1 + (unsigned)random_below(&seed, 14)) % 15;
        uint64_t word = words[i];
        words[i] = words[j];
        words[j] = word;
        same += point_make(1, &frame).check == point_make(1, &exchanged).check;
    }
    is_u64(same, 0, "two registers with each other's values are noticed");
}

static void test_make(void)
{
    struct trap_frame frame;

    random_frame(&frame);
    struct log_point point = point_make(1234, &frame);
    ok(point.ticks == 1234 && point.rip == frame.rip && point.rcx == frame.rcx,
       "a point has the ticks, RIP and RCX of its frame");
    struct log_point again = point_make(1234, &frame);
    ok(log_point_equal(&point, &again), "and is the same for the same registers");
}

static enum point_order relation(struct log_point here, struct log_point event)
{
    return point_relation(&here, &event);
}

static void test_relation(void)
{
    struct log_point event = {10, 0x401000, 3, 0xabcd};

    ok(relation(event, event) == POINT_AT, "equal points: at");
    ok(relation((struct log_point){9, 0x401000, 3, 0xabcd}, event) == POINT_BEFORE,
       "fewer ticks: before");
    ok(relation((struct log_point){11, 0x401000, 3, 0xabcd}, event) == POINT_PAST,
       "more ticks: past");
    ok(relation((struct log_point){10, 0x401001, 3, 0xabcd}, event) == POINT_BEFORE,
       "the same ticks elsewhere: not there yet, as far as can be told");
    ok(relation((struct log_point){10, 0x401000, 2, 0xabcd}, event) == POINT_BEFORE,
       "another iteration of a rep: likewise");
    ok(relation((struct log_point){10, 0x401000, 3, 0xabce}, event) == POINT_BEFORE,
       "other registers: likewise");
    ok(relation((struct log_point){UINT64_MAX, 0, 0, 0}, event) == POINT_PAST &&
           relation(event, (struct log_point){UINT64_MAX, 0, 0, 0}) == POINT_BEFORE,
       "ticks are compared as unsigned numbers");
}

static void test_text(void)
{
    struct log_point point = {12, 0x401000, 3, 0x1234};
    const char *expected = "ticks 12 rip 0x401000 rcx 0x3 check 0x00001234";
    char text[96];

    is_u64((uint64_t)point_format(text, sizeof text, &point), strlen(expected), "length as text");
    is_string(text, expected, "a point as text");
    char *small = malloc(10);
    point_format(small, 10, &point);
    is_string(small, "ticks 12 ", "cut off where there is no room");
    free(small);
}

int main(void)
{
    test_make();
    test_registers();
    test_flags();
    test_rest_of_frame();
    test_exchanged_registers();
    test_relation();
    test_text();
    return done();
}
