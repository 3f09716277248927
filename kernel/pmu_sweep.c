/* SPDX-License-Identifier: MIT */
/* A counter of all instructions, of both rings, overflows with a period that grows by one each
 * time, while every CPU runs system calls. So the NMIs walk over all instructions on the way in and
 * out: the SYSCALL entry before it has a stack, both sides of SWAPGS, the last instruction before
 * IRETQ.
 *
 * Each NMI checks what a wrong GS base or stack would break. What the program sees is checked by
 * the number of system calls that it makes.
 */
#include "kernel/pmu_sweep.h"

#include "arch/x86/layout.h"
#include "kernel/command.h"
#include "kernel/err.h"
#include "kernel/ipi_call.h"
#include "kernel/pmu_loops.h"
#include "kernel/pmu_owner.h"
#include "kernel/printf.h"
#include "kernel/string.h"

#define SHORTEST 3000ull /* instructions; well above what an NMI takes itself */
#define SPREAD 1000ull
#define INSTRUCTIONS_PER_CALL 400ull /* at the least */
#define MAX_PATH 2048
#define DEFAULT_INTERRUPTS 10000ull
#define MAX_INTERRUPTS 10000000ull
#define CANARY 0x5ce1e706c4e35ull

extern const char trap_entry[]; /* entry.asm: the paths are from here to context_switch() */

static void on_overflow(struct trap_frame *frame);
static struct pmu_user sweep_user = {.name = "test: sweep", .overflow = on_overflow};

/* Each CPU its own. */
static struct {
    uint64_t canary;
    uint64_t interrupts, in_path, damaged;
} states[MAX_CPUS];
static uint8_t seen[MAX_PATH]; /* offsets in the path that were interrupted; any CPU sets */

static bool frame_is_sane(const struct trap_frame *frame)
{
    if (frame_from_user(frame))
        return frame->cs == SELECTOR_USER_CODE && frame->rip < USER_END;
    return frame->cs == SELECTOR_KERNEL_CODE && layout_is_code(frame->rip);
}

static void on_overflow(struct trap_frame *frame)
{
    struct cpu *cpu = this_cpu();
    uint32_t index = cpu->index;
    uint64_t offset = frame->rip - (uint64_t)trap_entry;
    if (cpu->self != cpu || cpus[index] != cpu || states[index].canary != CANARY + index ||
        !frame_is_sane(frame))
        states[index].damaged++;
    if (offset < (uint64_t)context_switch - (uint64_t)trap_entry && offset < MAX_PATH) {
        seen[offset] = 1;
        states[index].in_path++;
    }
    pmu_write(sweep_user.counter, 0 - (SHORTEST + states[index].interrupts++ % SPREAD));
}

static void start(void *argument)
{
    uint32_t index = this_cpu()->index;
    (void)argument;
    memset(&states[index], 0, sizeof(states[index]));
    states[index].canary = CANARY + index;
    pmu_user_armed(&sweep_user, true);
    pmu_start(sweep_user.counter, PMU_EVENT_INSTRUCTIONS,
              PMU_COUNT_USER | PMU_COUNT_KERNEL | PMU_INTERRUPT, 0 - SHORTEST);
}

static void stop(void *argument)
{
    (void)argument;
    pmu_stop(sweep_user.counter);
    pmu_user_armed(&sweep_user, false);
}

static int report(int error)
{
    uint64_t interrupts = 0, in_path = 0, damaged = 0, places = 0;
    for (uint32_t i = 0; i < cpu_count; i++) {
        interrupts += states[i].interrupts;
        in_path += states[i].in_path;
        damaged += states[i].damaged;
    }
    for (unsigned i = 0; i < MAX_PATH; i++)
        places += seen[i];
    bool good = !error && damaged == 0 && in_path > 0;
    printk("@sweep cpus=%u interrupts=%llu in_path=%llu places=%llu damaged=%llu ok=%s\n",
           cpu_count, (unsigned long long)interrupts, (unsigned long long)in_path,
           (unsigned long long)places, (unsigned long long)damaged, good ? "yes" : "no");
    return good ? 0 : error ? error : ERR_FAILED;
}

/* 0, ERR_FAILED (a canary, or a program's registers, are damaged), or why it could not be done. */
static int sweep(uint64_t interrupts)
{
    if (!pmu_has_event(PMU_EVENT_INSTRUCTIONS))
        return ERR_NOT_FOUND;
    int error = pmu_reserve(&sweep_user);
    if (error)
        return error;
    memset(seen, 0, sizeof(seen));
    ipi_call_all(start, NULL, "the sweep's counters to start");
    error = pmu_loops_system_calls(interrupts * (SHORTEST + SPREAD / 2) / INSTRUCTIONS_PER_CALL);
    ipi_call_all(stop, NULL, "the sweep's counters to stop");
    pmu_release(&sweep_user);
    return report(error);
}

static int command_sweep(int count, char **words)
{
    unsigned long long interrupts = DEFAULT_INTERRUPTS;
    if (count > 2 ||
        (count == 2 && (!string_to_u64(words[1], &interrupts) || interrupts > MAX_INTERRUPTS)))
        return ERR_USAGE;
    return sweep(interrupts);
}

static struct command sweep_command = {
    .name = "sweep",
    .arguments = "[N]",
    .help = "NMIs into every instruction of entries and exits",
    .function = command_sweep,
};

void pmu_sweep_register_command(void)
{
    command_register(&sweep_command);
}
