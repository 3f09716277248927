/* SPDX-License-Identifier: MIT */
/* Shell commands about programs and the machine. */
#include "kernel/commands.h"

#include "arch/x86/timer.h"
#include "kernel/command.h"
#include "kernel/err.h"
#include "kernel/printf.h"
#include "kernel/process.h"
#include "kernel/programs.h"
#include "kernel/string.h"
#include "mm/frames.h"
#include "mm/heap.h"

const char *hash_text(char out[33], const uint8_t hash[16])
{
    for (int i = 0; i < 16; i++)
        format_text(out + 2 * i, 3, "%02x", hash[i]);
    return out;
}

int program_end_status(const struct process *process)
{
    if (process->end.killed) {
        printk("%s: killed: %s\n", process->name, process->end.reason);
        return ERR_KILLED;
    }
    if (process->end.exit_status != 0) {
        printk("%s: exit status %u\n", process->name, process->end.exit_status);
        return ERR_FAILED;
    }
    return 0;
}

int program_run(int count, char **words, uint32_t n, uint8_t *output_hash)
{
    int error;
    struct process *process = process_create(count, words, &error);
    if (!process)
        return error;
    uint64_t started = timer_now_ns();
    process_start(process);
    process_wait(process);
    uint64_t elapsed = timer_now_ns() - started;
    uint8_t digest[HASH_MAX_DIGEST];
    char text[33];
    struct hash output = process->output_hash; /* its own is still needed, if it is recorded */
    hash_final(&output, digest);
    if (output_hash)
        memcpy(output_hash, digest, 16);
    printk("@native prog=%s n=%u hash=%s ns=%llu\n", process->name, n, hash_text(text, digest),
           (unsigned long long)elapsed);
    int status = program_end_status(process);
    process_destroy(process);
    return status;
}

static int command_run(int count, char **words)
{
    static uint32_t runs;
    if (count < 2)
        return ERR_USAGE;
    return program_run(count - 1, words + 1, ++runs, NULL);
}

static void print_program(const struct ustar_file *file, void *argument)
{
    (void)argument;
    printk("  %-20s %7zu bytes\n", file->name, file->size);
}

static int command_programs(int count, char **words)
{
    (void)count;
    (void)words;
    return programs_for_each(print_program, NULL);
}

static void print_thread(struct thread *thread, void *argument)
{
    (void)argument;
    const char *state = thread->state == THREAD_BLOCKED ? "waits for"
                        : thread->state == THREAD_DEAD  ? "not started or ending"
                        : thread->running               ? "runs"
                                                        : "ready";
    const char *what = thread->state == THREAD_BLOCKED ? thread->waits_for : NULL;
    printk("  %4u  CPU %-3u %-24s %s%s%s\n", thread->id, thread->cpu, thread->name, state,
           what ? " " : "", what ? what : "");
}

static int command_threads(int count, char **words)
{
    (void)count;
    (void)words;
    thread_for_each(print_thread, NULL);
    return 0;
}

static int command_cpus(int count, char **words)
{
    unsigned long long usable = sched_usable_cpus();
    if (count > 2 ||
        (count == 2 && (!string_to_u64(words[1], &usable) || usable < 1 || usable > cpu_count)))
        return ERR_USAGE;
    sched_use_cpus((uint32_t)usable);
    for (uint32_t i = 0; i < cpu_count; i++)
        printk("  CPU %-3u APIC ID %-5u ACPI ID %-5u %-8s kicks %llu\n", i, cpus[i]->apic_id,
               cpus[i]->acpi_id, sched_cpu_idle(i) ? "idle" : "busy",
               (unsigned long long)cpus[i]->kick_count);
    printk("%s, %s\n@cpus n=%u usable=%u\n", cpu_features.vendor, cpu_features.brand, cpu_count,
           sched_usable_cpus());
    return 0;
}

static int command_mem(int count, char **words)
{
    struct frames_stats stats;
    (void)count;
    (void)words;
    frames_get_stats(&stats);
    printk("  frames  %llu of %llu free (%llu MiB of %llu), largest block %llu KiB\n"
           "  heap    %llu KiB in use\n@mem total=%llu free=%llu heap=%llu\n",
           (unsigned long long)stats.free, (unsigned long long)stats.total,
           (unsigned long long)stats.free >> 8, (unsigned long long)stats.total >> 8,
           (unsigned long long)stats.largest_free * 4,
           (unsigned long long)heap_bytes_in_use() >> 10,
           (unsigned long long)stats.total * PAGE_SIZE, (unsigned long long)stats.free * PAGE_SIZE,
           (unsigned long long)heap_bytes_in_use());
    return 0;
}

static struct command table[] = {
    {.name = "programs",
     .arguments = "",
     .help = "list the programs",
     .function = command_programs},
    {.name = "run",
     .arguments = "PROG [ARGS]",
     .help = "run a program natively, not recorded",
     .function = command_run},
    {.name = "threads", .arguments = "", .help = "list all threads", .function = command_threads},
    {.name = "cpus",
     .arguments = "[N]",
     .help = "list the CPUs; let threads run on the first N only",
     .function = command_cpus},
    {.name = "mem", .arguments = "", .help = "memory in use", .function = command_mem},
};

void commands_register(void)
{
    for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        command_register(&table[i]);
}
