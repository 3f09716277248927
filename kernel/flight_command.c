/* SPDX-License-Identifier: MIT */
/* Shell command `trace`. Context: the shell's thread. */
#include "arch/x86/cpu.h"
#include "kernel/command.h"
#include "kernel/err.h"
#include "kernel/flight.h"
#include "kernel/printf.h"
#include "kernel/string.h"

#define DUMP_DEFAULT 32u

static int start(int count, char **words)
{
    if (count != 1)
        return ERR_USAGE;
    int error = flight_start(words[0]);
    if (error == ERR_NOT_FOUND)
        printk("trace: no marker's name matches \"%s\" (the command markers lists them)\n",
               words[0]);
    return error;
}

static int stop(int count, char **words)
{
    if (count > 1)
        return ERR_USAGE;
    return flight_stop(count == 1 ? words[0] : NULL);
}

static int dump(int count, char **words)
{
    unsigned long long events = DUMP_DEFAULT;
    if (count > 1 || (count == 1 && !string_to_u64(words[0], &events)))
        return ERR_USAGE;
    return flight_dump(events);
}

static int save(int count, char **words)
{
    (void)words;
    return count == 0 ? flight_save() : ERR_USAGE;
}

static int status(int count, char **words)
{
    (void)words;
    if (count != 0)
        return ERR_USAGE;
    for (uint32_t i = 0; i < cpu_count; i++) {
        const struct flight_ring *ring = flight_ring_of(i);
        if (ring)
            printk("  CPU %-3u %lu bytes written, the ring has %u; %lu events lost\n", i,
                   __atomic_load_n(&ring->reserved, __ATOMIC_RELAXED), FLIGHT_RING_BYTES,
                   __atomic_load_n(&ring->lost, __ATOMIC_RELAXED));
        else
            printk("  CPU %-3u has no ring\n", i);
    }
    printk("@trace traced=%u mode=%s\n", flight_traced_count(),
           flight_overwrites() ? "overwrite" : "stop");
    return 0;
}

static int mode(int count, char **words)
{
    bool overwrite = count == 1 && strcmp(words[0], "overwrite") == 0;
    if (count != 1 || (!overwrite && strcmp(words[0], "stop") != 0))
        return ERR_USAGE;
    int error = flight_set_overwrite(overwrite);
    if (error)
        printk("trace mode: something is being recorded; trace off ends that\n");
    return error;
}

static const struct {
    const char *name;
    int (*function)(int count, char **words);
} verbs[] = {
    {"on", start},  {"off", stop},      {"dump", dump},
    {"save", save}, {"status", status}, {"mode", mode},
};

static int trace_command(int count, char **words)
{
    for (unsigned i = 0; count > 1 && i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (strcmp(words[1], verbs[i].name) == 0)
            return verbs[i].function(count - 2, words + 2);
    return ERR_USAGE;
}

static struct command command = {
    .name = "trace",
    .arguments = "on GLOB | off [GLOB] | dump [N] | save | status | mode overwrite|stop",
    .help = "flight recorder: keep, print, send what markers say",
    .function = trace_command,
};

void flight_register_command(void)
{
    command_register(&command);
}
