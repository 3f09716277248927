/* SPDX-License-Identifier: MIT */
/* Turning branch history on and off on all CPUs, and printing it.
 *
 * Locks: none; on and off are commands of the shell's thread. Memory of a CPU's stubs is kept once
 * they are built, since a CPU may be in one.
 */
#include "kernel/lbr.h"

#include "arch/x86/cpu.h"
#include "arch/x86/layout.h"
#include "arch/x86/lbr.h"
#include "arch/x86/vectors.h"
#include "kernel/err.h"
#include "kernel/ipi_call.h"
#include "kernel/lbr_command.h"
#include "kernel/printf.h"
#include "kernel/programs.h"
#include "kernel/string.h"
#include "kernel/symbols.h"
#include "mm/frames.h"

#define PLACE_MAX 128

static bool is_on;      /* shell's thread writes, atomic */
static uint32_t filter; /* shell's thread */

const char *lbr_refusal(void)
{
    return lbr_machine.kind == LBR_NONE ? lbr_machine.reason : NULL;
}

bool lbr_is_on(void)
{
    return __atomic_load_n(&is_on, __ATOMIC_RELAXED);
}

void lbr_register(void)
{
    lbr_detect();
    lbr_command_register();
}

/* --- on and off --- */

static int build_cpu(uint32_t cpu)
{
    if (lbr_cpu_is_built(cpu))
        return 0;
    uint64_t data = frames_alloc(LBR_DATA_ORDER);
    uint64_t code = frames_alloc(LBR_CODE_ORDER);
    if (data && code && lbr_build_cpu(cpu, data, code))
        return 0;
    if (data)
        frames_free(data, LBR_DATA_ORDER);
    if (code)
        frames_free(code, LBR_CODE_ORDER);
    return ERR_NO_MEMORY;
}

struct start {
    uint64_t select;
    uint32_t refused; /* atomic: CPUs */
};

static void start_here(void *argument)
{
    struct start *start = argument;
    if (!lbr_start_here(start->select))
        __atomic_add_fetch(&start->refused, 1, __ATOMIC_RELAXED);
}

static void stop_here(void *argument)
{
    (void)argument;
    lbr_stop_here();
}

int lbr_turn_on(void)
{
    struct start start = {.select = lbr_models_select(&lbr_machine, filter)};

    if (lbr_refusal())
        return ERR_NOT_FOUND;
    for (uint32_t cpu = 0; cpu < cpu_count; cpu++) {
        int error = build_cpu(cpu);
        if (error)
            return error;
    }
    ipi_call_all(start_here, &start, "branch records to start");
    __atomic_store_n(&is_on, true, __ATOMIC_RELAXED);
    if (start.refused == 0)
        return 0;
    lbr_turn_off();
    printk("lbr: %u CPUs refuse to record\n", start.refused);
    return ERR_FAILED;
}

void lbr_turn_off(void)
{
    if (!lbr_is_on())
        return;
    ipi_call_all(stop_here, NULL, "branch records to stop");
    __atomic_store_n(&is_on, false, __ATOMIC_RELAXED);
}

int lbr_set_filter(uint32_t wanted)
{
    if (!lbr_machine.select) {
        printk("lbr: this CPU has no filter of branch records\n");
        return ERR_NOT_FOUND;
    }
    filter = wanted;
    return lbr_is_on() ? lbr_turn_on() : 0;
}

/* --- printing --- */

/* "crash_jump+0x1f kernel/shell_panic.c:75", "stub of #PF+0x0", "main+0x24", "0x401234". */
static const char *format_place(char *out, uint64_t address, const char *program)
{
    const char *file;
    uint32_t line;
    uint64_t offset;
    const char *vector = lbr_stub_at(address, &offset);

    out[0] = 0;
    if (vector)
        format_text(out, PLACE_MAX, "stub of %s+0x%lx", vector, offset);
    else if (program && address <= USER_END)
        programs_symbol(out, PLACE_MAX, program, address);
    if (out[0])
        return out;
    symbol_format(out, PLACE_MAX, address);
    if (symbol_line(address, &file, &line)) {
        size_t used = strlen(out);
        format_text(out + used, PLACE_MAX - used, " %s:%u", file, line);
    }
    return out;
}

static void print_record(uint32_t number, const struct lbr_record *record, const char *program)
{
    char from[PLACE_MAX], to[PLACE_MAX], cycles[24] = "";

    if (record->flags & LBR_HAS_CYCLES && record->cycles)
        format_text(cycles, sizeof(cycles), ", %u cycles", record->cycles);
    printk("  %2u  0x%016lx %s -> 0x%016lx %s%s%s%s%s\n", number, record->from,
           format_place(from, record->from, program), record->to,
           format_place(to, record->to, program),
           record->flags & LBR_MISPREDICTED ? ", mispredicted" : "",
           record->flags & LBR_IN_TX ? ", in transaction" : "",
           record->flags & LBR_ABORT ? ", aborted" : "", cycles);
}

static void print_history(const char *what, const struct lbr_history *history, const char *program)
{
    if (history->missing) {
        printk("no %s: %s\n", what, history->missing);
        return;
    }
    printk("%s of CPU %u, newest first:\n", what, history->cpu);
    for (uint32_t i = 0; i < history->count; i++)
        print_record(i, &history->records[i], program);
}

void lbr_report(const struct trap_frame *frame, const char *program)
{
    struct lbr_history history;

    if (frame)
        lbr_find(frame, &history);
    else
        lbr_read_live(&history);
    print_history("branch history", &history, program);
    if (frame && history.inside) {
        printk("This %s came in the handler of another one:\n", vector_mnemonic(history.vector));
        lbr_find_outer(&history, &history);
        print_history("branch history before that one", &history, program);
    }
}

static void print_filter(void)
{
    printk("  filter  %s%s%s%s%s%s\n", filter ? "" : "all", filter & LBR_FILTER_USER ? "user " : "",
           filter & LBR_FILTER_KERNEL ? "kernel " : "", filter & LBR_FILTER_CALLS ? "calls " : "",
           filter & LBR_FILTER_RETURNS ? "returns " : "", filter & LBR_FILTER_JUMPS ? "jumps" : "");
}

void lbr_print_info(void)
{
    const struct lbr_machine *machine = &lbr_machine;

    if (lbr_refusal()) {
        printk("LBR: %s\n@lbr kind=none on=no\n", lbr_refusal());
        return;
    }
    printk("LBR: %s, %u entries, %s\n", machine->name, machine->depth, lbr_is_on() ? "on" : "off");
    printk("  MSRs    from 0x%x, to 0x%x, info 0x%x, newest 0x%x, control 0x%x, select 0x%x\n",
           machine->from, machine->to, machine->info, machine->top, machine->control,
           machine->select);
    print_filter();
    printk("@lbr kind=%s depth=%u format=%u on=%s\n",
           machine->kind == LBR_ARCH     ? "arch"
           : machine->kind == LBR_LEGACY ? "legacy"
                                         : "amd",
           machine->depth, machine->format, lbr_is_on() ? "yes" : "no");
}

int lbr_print_dump(void)
{
    struct lbr_history history;

    for (uint32_t cpu = 0; cpu < cpu_count; cpu++)
        for (uint32_t i = 0; i < LBR_VECTORS; i++) {
            if (!lbr_newest(cpu, lbr_vectors[i], 0, &history))
                continue;
            printk("CPU %u, %s: %llu, of them %llu inside of another; the newest at 0x%llx\n", cpu,
                   vector_mnemonic(lbr_vectors[i]), (unsigned long long)history.arrivals,
                   (unsigned long long)history.nested, (unsigned long long)history.rip);
            print_history("branch history", &history, NULL);
        }
    return 0;
}
