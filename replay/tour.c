/* SPDX-License-Identifier: MIT */
/* The tour: a race, its recording, its replays, each explained in a line. What `make run` shows. */
#include "kernel/command.h"
#include "kernel/commands.h"
#include "kernel/err.h"
#include "kernel/printf.h"
#include "kernel/string.h"
#include "replay/replay_commands.h"
#include "replay/replay_session.h"

#define NATIVE_RUNS 5
#define REPLAYS 5

static char *tour_program[] = {"racey"};

static int run_natively(bool *differ)
{
    uint8_t first[16], hash[16];
    *differ = false;
    printk("\n1. racey, natively, %u times: threads mix the elements of a shared array without\n"
           "   locks, so the result depends on how they race.\n",
           NATIVE_RUNS);
    for (uint32_t n = 1; n <= NATIVE_RUNS; n++) {
        int error = program_run(1, tour_program, n, n == 1 ? first : hash);
        if (error)
            return error;
        *differ = *differ || (n > 1 && memcmp(first, hash, sizeof(hash)) != 0);
    }
    printk(*differ ? "   The results differ: it races.\n"
                   : "   The results are equal this time: with one CPU the threads hardly race.\n");
    return 0;
}

static int replay_often(struct recording *recording)
{
    printk(
        "\n3. Replayed %u times, in parallel again: every thread gets and loses its pages at the\n"
        "   very instructions at which it did before, so it reads what it read before.\n",
        REPLAYS);
    for (uint32_t n = 1; n <= REPLAYS; n++) {
        int error = replay_run(recording, n);
        if (error)
            return error;
    }
    printk("   All %u ended with the recorded memory, registers and output.\n", REPLAYS);
    return 0;
}

static int command_tour(int count, char **words)
{
    struct recording *recording;
    bool differ;
    (void)count;
    (void)words;
    int error = run_natively(&differ);
    if (error)
        return error;
    printk("\n2. Recorded once, on %u CPU%s: each page has many readers or one writer, and every\n"
           "   change of hands is logged with the instruction at which it happened.\n",
           sched_usable_cpus(), sched_usable_cpus() == 1 ? "" : "s");
    error = record_program(1, tour_program, &recording);
    if (!error)
        error = replay_often(recording);
    if (!error)
        printk("\nNow you: `help` lists the commands, `programs` what to run.\n\n");
    return error;
}

static struct command tour_command = {
    .name = "tour",
    .arguments = "",
    .help = "a race, its recording and its replays, explained",
    .function = command_tour,
};

void tour_register_command(void)
{
    command_register(&tour_command);
}
