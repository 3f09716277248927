/* SPDX-License-Identifier: MIT */
/* The header of a new recording: program, ticks and machine. */
#include "arch/x86/context.h"
#include "arch/x86/cpu.h"
#include "arch/x86/vectors.h"
#include "kernel/cmdline.h"
#include "kernel/pmu_calibration.h"
#include "kernel/printf.h"
#include "kernel/programs.h"
#include "kernel/string.h"
#include "mm/heap.h"
#include "replay/record_session.h"

#define KERNEL_NAME "Skeleton Crew, format 2"
_Static_assert(LOG_FORMAT_VERSION == 2, "KERNEL_NAME names it");

static enum log_unit configured_unit(void)
{
    char value[8];
    if (!cmdline_get("ticks", value, sizeof(value)) || strcmp(value, "cond") == 0)
        return LOG_UNIT_COND;
    if (strcmp(value, "all") == 0)
        return LOG_UNIT_ALL;
    printk("ticks=%s: unknown unit of ticks, using cond\n", value);
    return LOG_UNIT_COND;
}

/* Without its file (a name that the archive no longer has) size and hash stay 0. */
static void describe_program(struct log_header *header, const struct process *process)
{
    struct ustar_file *file = kmalloc(sizeof(*file));
    if (file && programs_find(process->name, file) == 0) {
        struct hash hash;
        hash_init(&hash, sizeof(header->program_hash));
        hash_update(&hash, file->data, file->size);
        hash_final(&hash, header->program_hash);
        header->program_bytes = file->size;
    }
    kfree(file);
    string_copy(header->program, process->name, sizeof(header->program));
    string_copy(header->warnings, process->warnings, sizeof(header->warnings));
    header->argument_count = (uint32_t)process->argc;
    _Static_assert(sizeof(header->arguments) == sizeof(process->arguments), "one is the other");
    memcpy(header->arguments, process->arguments, sizeof(header->arguments));
    memcpy(header->random, process->random, sizeof(header->random));
    header->pid = process->pid;
    header->next_index = process->next_index;
}

static void describe_machine(struct log_header *header)
{
    uint32_t leaf[4];
    cpu_cpuid(1, 0, leaf);
    header->cpu_signature = leaf[0];
    string_copy(header->cpu_vendor, cpu_features.vendor, sizeof(header->cpu_vendor));
    string_copy(header->cpu_brand, cpu_features.brand, sizeof(header->cpu_brand));
    header->cpus = sched_usable_cpus();
    header->guards = LOG_GUARD_TSC | (cpu_features.umip ? LOG_GUARD_UMIP : 0);
    header->fpu_components = fpu_components();
    header->fpu_bytes = fpu_area_size();
    header->mxcsr_mask = fpu_mxcsr_mask();
}

static void describe_output(struct log_header *header, const struct process *process)
{
    const struct hash *hash = &process->output_hash;
    header->output_bytes = process->output_bytes;
    memcpy(header->output_state, hash->state, sizeof(header->output_state));
    memcpy(header->output_count, hash->count, sizeof(header->output_count));
    memcpy(header->output_block, hash->block, sizeof(header->output_block));
    header->output_used = hash->used;
    header->output_digest_size = hash->digest_size;
}

void record_describe(struct log_header *header, const struct process *process)
{
    *header = (struct log_header){.version = LOG_FORMAT_VERSION, .page_size = LOG_PAGE_SIZE};
    memcpy(header->magic, LOG_FILE_MAGIC, sizeof(header->magic));
    string_copy(header->kernel, KERNEL_NAME, sizeof(header->kernel));
    header->unit = configured_unit();
    describe_program(header, process);
    describe_machine(header);
    describe_output(header, process);
}

void record_describe_source(struct log_header *header, const struct tick_source *source)
{
    string_copy(header->source, source->name, sizeof(header->source));
    if (source != &tick_source_pmc)
        return;
    enum pmu_event event =
        header->unit == LOG_UNIT_ALL ? PMU_EVENT_BRANCHES : PMU_EVENT_CONDITIONAL;
    string_copy(header->source_model, pmu_capabilities.model->name, sizeof(header->source_model));
    header->source_skid = pmu_capabilities.model->skid;
    header->source_cost_syscall = pmu_calibration_entry_cost(event, VECTOR_SYSCALL);
    header->source_cost_fault = pmu_calibration_entry_cost(event, VECTOR_PAGE_FAULT);
    header->source_cost_interrupt = pmu_calibration_entry_cost(event, VECTOR_IPI_KICK);
}
