/* SPDX-License-Identifier: MIT */
/* fpu [threads=6] [rounds=20]: each thread's vector and x87 registers are its own.
 *
 * The threads keep different values in xmm, ymm (where there is AVX) and x87 registers, MXCSR and
 * the x87 control word across sched_yield and across preemption, and compare bit by bit.
 */
#include <stdint.h>

#include "user/lib/argument.h"
#include "user/lib/check.h"
#include "user/lib/hash.h"
#include "user/lib/print.h"
#include "user/lib/string.h"
#include "user/lib/team.h"

#define YIELDS 8
#define SPINS 2000
#define MXCSR_DEFAULT 0x1f80
#define X87_CONTROL_DEFAULT 0x37f

typedef void fpu_hold(const void *in, void *out, long yields, long spins);

struct sse_image {
    uint64_t registers[16][2];
    uint32_t mxcsr;
};

struct avx_image {
    uint64_t registers[16][4];
};

struct __attribute__((packed)) x87_image {
    struct __attribute__((packed)) {
        uint64_t mantissa;
        uint16_t exponent;
    } registers[8];
    uint16_t control;
};

fpu_hold fpu_hold_sse, fpu_hold_avx, fpu_hold_x87;
int fpu_has_avx(void);
void fpu_read_control(uint32_t *mxcsr, uint16_t *control_word);

static unsigned long rounds;
static int has_avx;

static void fill_random(void *image, unsigned long size, uint64_t *random)
{
    for (unsigned long i = 0; i + 8 <= size; i += 8) {
        uint64_t value = random_next(random);
        memcpy((char *)image + i, &value, 8);
    }
}

/* Any rounding mode; exceptions masked. */
static void check_sse(uint64_t *random)
{
    struct sse_image in, out = {0};

    fill_random(in.registers, sizeof(in.registers), random);
    in.mxcsr = MXCSR_DEFAULT | (uint32_t)(*random & 3) << 13;
    fpu_hold_sse(&in, &out, YIELDS, SPINS);
    check_equal("xmm registers", memcmp(in.registers, out.registers, sizeof(in.registers)), 0);
    check_equal("mxcsr", out.mxcsr, in.mxcsr);
}

static void check_avx(uint64_t *random)
{
    struct avx_image in, out = {0};

    fill_random(in.registers, sizeof(in.registers), random);
    fpu_hold_avx(&in, &out, YIELDS, SPINS);
    check_equal("ymm registers", memcmp(in.registers, out.registers, sizeof(in.registers)), 0);
}

/* Normal numbers, so that storing gives back what was loaded. */
static void check_x87(uint64_t *random)
{
    struct x87_image in, out = {0};

    for (int i = 0; i < 8; i++) {
        in.registers[i].mantissa = random_next(random) | 1ul << 63;
        in.registers[i].exponent = (uint16_t)(0x3f00 + (*random & 0xff));
    }
    in.control = (uint16_t)(X87_CONTROL_DEFAULT | (*random & 3) << 10);
    fpu_hold_x87(&in, &out, YIELDS, SPINS);
    check_equal("x87 registers", memcmp(in.registers, out.registers, sizeof(in.registers)), 0);
    check_equal("x87 control word", out.control, in.control);
}

static uint64_t fpu_work(const struct team_member *member)
{
    uint64_t random = hash_mix(7, member->index);

    for (unsigned long i = 0; i < rounds; i++) {
        check_sse(&random);
        if (has_avx)
            check_avx(&random);
        check_x87(&random);
    }
    return 0;
}

int main(int argc, char **argv)
{
    uint32_t mxcsr;
    uint16_t control;
    unsigned threads =
        (unsigned)argument_number(argc, argv, &(struct argument){1, "threads", 6, 1, TEAM_MAX});
    rounds = argument_number(argc, argv, &(struct argument){2, "rounds", 20, 1, 1000000});

    check_begin("fpu");
    fpu_read_control(&mxcsr, &control);
    check_equal("mxcsr at the start", mxcsr, MXCSR_DEFAULT);
    check_equal("x87 control word at the start", control, X87_CONTROL_DEFAULT);
    has_avx = fpu_has_avx();
    printf("fpu: %u threads, avx %s\n", threads, has_avx ? "yes" : "no");
    team_run(threads, fpu_work);
    return check_end();
}
