/* SPDX-License-Identifier: MIT */
/* Taking samples.
 *
 * The NMI handler writes what it finds into the buffer of its CPU, which nobody else writes; `used`
 * is published last, so a reader sees whole samples. Nothing is overwritten: when a buffer is full,
 * samples are dropped and counted. A sample is words:
 *
 *   pid << 32 | name << 16 | depth << 8 | user,  rip,  depth return addresses
 *
 * Names are copied, since the process may be gone when the samples are read; while it is the
 * current one of a CPU it cannot go. Stacks are read only where stacks can be, and only after
 * paging_lookup() found the page: a wild frame pointer ends a sample and never faults.
 */
#include "kernel/profiler.h"

#include "arch/x86/cpu.h"
#include "arch/x86/layout.h"
#include "arch/x86/paging.h"
#include "arch/x86/text_probe.h"
#include "kernel/err.h"
#include "kernel/pmu_sampling.h"
#include "kernel/printf.h"
#include "kernel/process.h"
#include "kernel/string.h"
#include "mm/frames.h"

#define BUFFER_ORDER 8
#define BUFFER_WORDS ((PAGE_SIZE << BUFFER_ORDER) / sizeof(uint64_t))
#define SAMPLE_WORDS 2
#define NAMES 32
#define NAME_SIZE 32
#define NAME_OTHERS 0 /* those that found the table of names full */

/* Written in NMI by its CPU, or by the shell's thread while no counter runs. */
struct profile_cpu {
    uint64_t *words; /* fixed once it is there; BUFFER_WORDS */
    size_t used;     /* atomic */
    uint64_t dropped;
    uint32_t name_count, last_name;
    char names[NAMES][NAME_SIZE];
};
static struct profile_cpu profile_cpus[MAX_CPUS];

static void on_overflow(struct trap_frame *frame);
static struct pmu_sampler sampler = {.user = {.name = "profiler", .overflow = on_overflow}};
static bool has_samples;

/* --- a sample; NMI --- */

static uint32_t find_name(struct profile_cpu *cpu, const char *name)
{
    if (strncmp(cpu->names[cpu->last_name], name, NAME_SIZE - 1) == 0)
        return cpu->last_name;
    uint32_t i = NAME_OTHERS + 1;
    while (i < cpu->name_count && strncmp(cpu->names[i], name, NAME_SIZE - 1) != 0)
        i++;
    if (i == NAMES)
        return NAME_OTHERS;
    if (i == cpu->name_count) {
        string_copy(cpu->names[i], name, NAME_SIZE);
        cpu->name_count++;
    }
    cpu->last_name = i;
    return i;
}

static bool in_kernel_text(uint64_t address)
{
    return address >= (uint64_t)text_start && address < (uint64_t)text_end;
}

/* Device registers are not memory, and nothing else is a stack. */
static bool may_be_stack(uint64_t address)
{
    return address % 8 == 0 && ((address >= STACKS_BASE && address < MMIO_BASE) ||
                                (address >= (uint64_t)data_start && address < (uint64_t)data_end));
}

static bool readable(uint64_t address)
{
    return may_be_stack(address) &&
           paging_lookup(cpu_read_cr3() & PT_ADDRESS, address & PAGE_MASK) != 0;
}

static uint32_t walk_stack(uint64_t rbp, uint64_t *callers)
{
    uint32_t depth = 0;
    while (depth < PROFILE_DEPTH && readable(rbp) && readable(rbp + 8)) {
        const uint64_t *link = (const uint64_t *)rbp;
        if (!in_kernel_text(link[1]) || link[0] == rbp)
            break;
        callers[depth++] = link[1];
        rbp = link[0];
    }
    return depth;
}

static void take_sample(struct profile_cpu *cpu, const struct trap_frame *frame)
{
    size_t used = cpu->used;
    if (used + SAMPLE_WORDS + PROFILE_DEPTH > BUFFER_WORDS) {
        cpu->dropped++;
        return;
    }
    const struct thread *thread = current_thread();
    const struct process *process = thread->process;
    uint64_t *words = &cpu->words[used];
    bool user = frame_from_user(frame);
    uint32_t depth = user ? 0 : walk_stack(frame->rbp, words + SAMPLE_WORDS);
    uint32_t name = find_name(cpu, process ? process->name : thread->name);
    words[0] = (uint64_t)(process ? process->pid : 0) << 32 | name << 16 | depth << 8 | user;
    words[1] = text_probe_original(frame->rip);
    __atomic_store_n(&cpu->used, used + SAMPLE_WORDS + depth, __ATOMIC_RELEASE);
}

static void on_overflow(struct trap_frame *frame)
{
    take_sample(&profile_cpus[this_cpu()->index], frame);
    pmu_write(sampler.user.counter, 0 - sampler.period);
}

/* --- starting and stopping --- */

static int prepare_buffers(void)
{
    for (uint32_t i = 0; i < cpu_count; i++) {
        struct profile_cpu *cpu = &profile_cpus[i];
        if (!cpu->words) {
            uint64_t frame = frames_alloc(BUFFER_ORDER);
            if (!frame)
                return ERR_NO_MEMORY;
            cpu->words = PHYS_TO_VIRT(frame);
        }
        cpu->used = 0;
        cpu->dropped = 0;
        cpu->name_count = NAME_OTHERS + 1;
        cpu->last_name = NAME_OTHERS;
        string_copy(cpu->names[NAME_OTHERS], "(other programs)", NAME_SIZE);
    }
    return 0;
}

int profiler_start(uint64_t period)
{
    if (sampler.running) {
        printk("profiler: runs already; prof stop ends it\n");
        return ERR_BUSY;
    }
    int error = prepare_buffers();
    if (error) {
        printk("profiler: no memory for the buffers, %llu KiB a CPU\n",
               (unsigned long long)(PAGE_SIZE << BUFFER_ORDER) >> 10);
        return error;
    }
    error = pmu_sampler_start(&sampler, period);
    has_samples = has_samples || !error;
    return error;
}

void profiler_stop(void)
{
    pmu_sampler_stop(&sampler);
}

/* --- reading --- */

bool profiler_running(void)
{
    return sampler.running;
}

bool profiler_has_samples(void)
{
    return has_samples;
}

enum pmu_event profiler_event(void)
{
    return sampler.event;
}

uint64_t profiler_period(void)
{
    return sampler.period;
}

uint64_t profiler_dropped(uint32_t cpu)
{
    return __atomic_load_n(&profile_cpus[cpu].dropped, __ATOMIC_RELAXED);
}

bool profiler_next(uint32_t index, size_t *position, struct profile_sample *sample)
{
    struct profile_cpu *cpu = &profile_cpus[index];
    if (*position >= __atomic_load_n(&cpu->used, __ATOMIC_ACQUIRE))
        return false;
    const uint64_t *words = &cpu->words[*position];
    *sample = (struct profile_sample){
        .user = words[0] & 1,
        .pid = (uint32_t)(words[0] >> 32),
        .program = cpu->names[words[0] >> 16 & 0xffff],
        .rip = words[1],
        .depth = (uint32_t)(words[0] >> 8 & 0xff),
        .callers = words + SAMPLE_WORDS,
    };
    *position += SAMPLE_WORDS + sample->depth;
    return true;
}
