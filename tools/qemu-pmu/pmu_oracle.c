/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The oracle: an independent witness of what the threads of recordings and replays execute.
 *
 * The guest's kernel says by writes to MSRs (pmu_bits.h) whose user instructions a CPU is about to
 * run; nothing is deduced from what it does. All user code is instrumented, and does something
 * while a thread is watched. A thread is on one vCPU at a time, so its state needs no lock: the
 * guest's own handing over of the thread orders the accesses.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tools/qemu-pmu/pmu_bits.h"
#include "tools/qemu-pmu/pmu_classify.h"
#include "tools/qemu-pmu/pmu_oracle_file.h"
#include "tools/qemu-pmu/pmu_plugin.h"
#include "tools/qemu-pmu/pmu_qemu.h"

#define BUFFERED_ENTRIES 256

struct run;

struct watched_thread {
    struct oracle_thread thread; /* first: the callbacks get this one */
    struct run *run;
    uint32_t slot;
    uint32_t entries;
    struct oracle_entry entry[BUFFERED_ENTRIES];
};

struct run {
    struct run *next;
    uint32_t number;
    struct watched_thread *threads[ORACLE_MAX_SLOTS]; /* from their first instruction on */
};

static pthread_mutex_t runs_lock = PTHREAD_MUTEX_INITIALIZER;
static struct run *runs; /* runs_lock; those that have not ended */

/* --- threads and runs ------------------------------------------------------------------------ */

static void *allocate(size_t size)
{
    void *memory = calloc(1, size);

    if (!memory)
        pmu_fatal("oracle: out of memory");
    return memory;
}

static void flush_entries(struct watched_thread *watched)
{
    const struct oracle_thread *thread = &watched->thread;
    struct oracle_record record = {
        .kind = ORACLE_ENTRIES,
        .run = watched->run->number,
        .slot = watched->slot,
        .entries = watched->entries,
        .number = (thread->count / thread->step - watched->entries + 1) * thread->step,
    };

    if (watched->entries)
        oracle_file_write(&record, watched->entry);
    watched->entries = 0;
}

static void add_entry(struct oracle_thread *thread, uint64_t address)
{
    struct watched_thread *watched = (struct watched_thread *)thread;

    watched->entry[watched->entries++] = (struct oracle_entry){address, thread->hash};
    if (watched->entries == BUFFERED_ENTRIES)
        flush_entries(watched);
}

static struct watched_thread *create_thread(struct run *run, uint32_t slot)
{
    struct watched_thread *watched = allocate(sizeof(*watched));

    oracle_thread_init(&watched->thread, machine.options.oracle_step);
    watched->thread.chunk = add_entry;
    watched->run = run;
    watched->slot = slot;
    return watched;
}

static struct run *find_run(uint32_t number)
{
    struct run *run;

    pthread_mutex_lock(&runs_lock);
    for (run = runs; run && run->number != number;)
        run = run->next;
    pthread_mutex_unlock(&runs_lock);
    return run;
}

static struct run *need_run(uint32_t number)
{
    struct run *run = find_run(number);

    if (!run)
        pmu_fatal("oracle: the guest speaks of run %u, which is not under way", number);
    return run;
}

static struct watched_thread *need_thread(uint32_t number, uint32_t slot)
{
    struct run *run = need_run(number);

    if (slot >= ORACLE_MAX_SLOTS) {
        pmu_fatal("oracle: the guest speaks of thread %u, of %u that there can be", slot,
                  ORACLE_MAX_SLOTS);
        return NULL;
    }
    if (!run->threads[slot])
        run->threads[slot] = create_thread(run, slot);
    return run->threads[slot];
}

static void begin_run(uint32_t number, uint64_t replayed)
{
    struct oracle_record record = {.kind = ORACLE_BEGIN, .run = number, .number = replayed};
    struct run *run = allocate(sizeof(*run));

    if (find_run(number))
        pmu_fatal("oracle: the guest begins run %u twice", number);
    run->number = number;
    pthread_mutex_lock(&runs_lock);
    run->next = runs;
    runs = run;
    pthread_mutex_unlock(&runs_lock);
    oracle_file_write(&record, NULL);
}

static void end_thread(struct watched_thread *watched, uint64_t address)
{
    struct oracle_record record = {
        .kind = ORACLE_ENDED,
        .run = watched->run->number,
        .slot = watched->slot,
        .rip = address,
    };

    oracle_thread_ended(&watched->thread, address);
    flush_entries(watched);
    record.number = watched->thread.count;
    record.hash = watched->thread.hash;
    oracle_file_write(&record, NULL);
}

static void end_run(struct run *ended, uint64_t given_up)
{
    struct oracle_record record = {.kind = ORACLE_END, .run = ended->number, .number = given_up};
    struct run **link = &runs;

    pthread_mutex_lock(&runs_lock);
    while (*link != ended)
        link = &(*link)->next;
    *link = ended->next;
    pthread_mutex_unlock(&runs_lock);
    for (unsigned i = 0; i < ORACLE_MAX_SLOTS; i++)
        free(ended->threads[i]);
    free(ended);
    oracle_file_write(&record, NULL);
}

/* --- what the guest says --------------------------------------------------------------------- */

bool oracle_owns_msr(uint32_t msr)
{
    return machine.options.oracle && msr >= MSR_ORACLE_THREAD && msr <= MSR_ORACLE_END;
}

static void watch(unsigned index, uint64_t who)
{
    struct vcpu *vcpu = &machine.vcpu[index];

    vcpu->watched = who ? &need_thread(who >> 32, (uint32_t)who - 1)->thread : NULL;
    machine_words(index)->watched = who != 0;
}

void oracle_write_msr(unsigned index, uint32_t msr, uint64_t value)
{
    uint64_t subject = machine.vcpu[index].oracle_subject;
    uint32_t run = subject >> 32, slot = (uint32_t)subject;

    switch (msr) {
    case MSR_ORACLE_THREAD:
        watch(index, value);
        break;
    case MSR_ORACLE_SUBJECT:
        machine.vcpu[index].oracle_subject = value;
        break;
    case MSR_ORACLE_BEGIN:
        begin_run(run, value);
        break;
    case MSR_ORACLE_EMULATED:
        oracle_thread_emulated(&need_thread(run, slot)->thread, value & (ORACLE_USER_END - 1));
        break;
    case MSR_ORACLE_ENDED:
        end_thread(need_thread(run, slot), value);
        break;
    case MSR_ORACLE_END:
        end_run(need_run(run), value);
        break;
    }
}

void oracle_cpuid(uint32_t registers[4])
{
    static const char signature[] = CPUID_ORACLE_SIGNATURE;

    registers[0] = CPUID_ORACLE;
    memcpy(&registers[1], signature, 4);
    memcpy(&registers[3], signature + 4, 4);
    memcpy(&registers[2], signature + 8, 4);
}

/* --- what the threads do --------------------------------------------------------------------- */

static void on_instruction(unsigned index, void *packed)
{
    oracle_thread_starts(machine.vcpu[index].watched, (uintptr_t)packed);
}

/* What an instruction reads of the kernel's memory (descriptors, say) is not the program's. */
static void on_access(unsigned index, uint32_t info, uint64_t address, void *unused)
{
    struct oracle_thread *thread = machine.vcpu[index].watched;
    qemu_plugin_mem_value value;

    (void)unused;
    if (!thread || address >= ORACLE_USER_END)
        return;
    value = qemu_plugin_mem_get_value(info);
    oracle_thread_access(thread, address, qemu_plugin_mem_size_shift(info),
                         qemu_plugin_mem_is_store(info), value.data.low, value.data.high);
}

static void watch_instruction(struct qemu_plugin_insn *insn)
{
    qemu_plugin_u64 watched = {machine.words, offsetof(struct vcpu_words, watched)};
    uint64_t address = qemu_plugin_insn_vaddr(insn);
    uint8_t bytes[16];
    size_t length = qemu_plugin_insn_data(insn, bytes, sizeof(bytes));
    uint64_t packed = pmu_classify_for_oracle(address, bytes, length);

    qemu_plugin_register_vcpu_insn_exec_cond_cb(insn, on_instruction, QEMU_PLUGIN_CB_NO_REGS,
                                                QEMU_PLUGIN_COND_NE, watched, 0,
                                                (void *)(uintptr_t)packed);
    qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
                                     NULL);
}

/* Until the CPU's state is known, no code of ring 3 has run. */
void oracle_block(struct qemu_plugin_tb *tb)
{
    size_t count = qemu_plugin_tb_n_insns(tb);

    if (!machine.options.oracle || !pmu_qemu_is_learnt() || pmu_qemu_cpl() != 3)
        return;
    for (size_t i = 0; i < count; i++)
        watch_instruction(qemu_plugin_tb_get_insn(tb, i));
}

/* --- begin and end of QEMU ------------------------------------------------------------------- */

/* QEMU keeps the option's text no longer than it loads the plugin. */
bool oracle_open(void)
{
    struct pmu_options *options = &machine.options;

    if (options->oracle)
        options->oracle = strdup(options->oracle);
    return !options->oracle || oracle_file_open(options->oracle, options->oracle_step);
}

void oracle_close(void)
{
    if (machine.options.oracle)
        oracle_file_close();
}
