/* SPDX-License-Identifier: MIT */
/* Shell command `prof`: samples by function, and as folded stacks for flame graphs.
 *
 * Context: the shell's thread.
 */
#include "arch/x86/cpu.h"
#include "kernel/command.h"
#include "kernel/err.h"
#include "kernel/pmu_sampling.h"
#include "kernel/printf.h"
#include "kernel/profiler.h"
#include "kernel/profiler_tally.h"
#include "kernel/programs.h"
#include "kernel/string.h"
#include "kernel/symbols.h"
#include "mm/heap.h"

#define TOP 20
#define KEY_MAX 512
#define SYMBOL_MAX 64
#define UNKNOWN "[unknown]"
#define CACHE_SLOTS 512

/* --- names of addresses --- */

/* Finding a symbol of a program reads its whole table, and most samples are of a few addresses. */
struct cached_symbol {
    uint64_t rip; /* 0: empty */
    char program[32];
    char symbol[SYMBOL_MAX];
};

static const char *user_symbol(struct cached_symbol *cache, const char *program, uint64_t rip)
{
    struct cached_symbol *cached = &cache[(rip ^ rip >> 9) % CACHE_SLOTS];
    if (cached->rip == rip && strcmp(cached->program, program) == 0)
        return cached->symbol;
    char *symbol = cached->symbol;
    programs_symbol(symbol, SYMBOL_MAX, program, rip);
    char *offset = strchr(symbol, '+');
    if (offset)
        *offset = 0;
    if (!symbol[0])
        string_copy(symbol, UNKNOWN, SYMBOL_MAX);
    cached->rip = rip;
    string_copy(cached->program, program, sizeof(cached->program));
    return symbol;
}

static const char *kernel_symbol(uint64_t address)
{
    const char *name;
    uint64_t offset;
    return symbol_find(address, &name, &offset) ? name : UNKNOWN;
}

/* --- keys to count by --- */

typedef void key_function(char *key, const struct profile_sample *sample,
                          struct cached_symbol *cache);

static void key_by_function(char *key, const struct profile_sample *sample,
                            struct cached_symbol *cache)
{
    if (sample->user)
        format_text(key, KEY_MAX, "user    %s: %s", sample->program,
                    user_symbol(cache, sample->program, sample->rip));
    else
        format_text(key, KEY_MAX, "kernel  %s", kernel_symbol(sample->rip));
}

/* Bounded: what does not fit any more is left out at the inner end. */
static void append(char *key, const char *separator, const char *frame, const char *suffix)
{
    size_t used = strlen(key);
    format_text(key + used, KEY_MAX - used, "%s%s%s", separator, frame, suffix);
}

/* Outermost first. A return address can be the first byte of the next function. Kernel functions
 * are marked as tools for flame graphs know it. */
static void key_by_stack(char *key, const struct profile_sample *sample,
                         struct cached_symbol *cache)
{
    format_text(key, KEY_MAX, "%s", sample->program);
    for (uint32_t i = sample->depth; i > 0; i--)
        append(key, ";", kernel_symbol(sample->callers[i - 1] - 1), "_[k]");
    if (sample->user)
        append(key, ";", user_symbol(cache, sample->program, sample->rip), "");
    else
        append(key, ";", kernel_symbol(sample->rip), "_[k]");
}

/* --- counting --- */

struct totals {
    uint64_t samples, dropped;
    uint64_t by_cpu[MAX_CPUS];
};

static void count_samples(struct tally *tally, struct totals *totals, key_function *make_key,
                          struct cached_symbol *cache)
{
    char key[KEY_MAX];
    struct profile_sample sample;
    for (uint32_t cpu = 0; cpu < cpu_count; cpu++) {
        size_t position = 0;
        totals->dropped += profiler_dropped(cpu);
        while (profiler_next(cpu, &position, &sample)) {
            make_key(key, &sample, cache);
            tally_add(tally, key, cpu);
            totals->by_cpu[cpu]++;
            totals->samples++;
        }
    }
}

/* NULL: no memory. */
static struct tally *count(struct totals *totals, key_function *make_key)
{
    struct tally *tally = tally_create(cpu_count);
    struct cached_symbol *cache = kzalloc(CACHE_SLOTS * sizeof(*cache));
    memset(totals, 0, sizeof(*totals));
    if (tally && cache)
        count_samples(tally, totals, make_key, cache);
    if (!cache) {
        tally_destroy(tally);
        tally = NULL;
    }
    kfree(cache);
    return tally;
}

/* --- printing --- */

#define LINE_MAX 900

static void append_percent(char *line, uint64_t part, uint64_t whole)
{
    size_t used = strlen(line);
    uint64_t tenths = whole ? part * 1000 / whole : 0;
    format_text(line + used, LINE_MAX - used, " %4llu.%llu%%", (unsigned long long)(tenths / 10),
                (unsigned long long)(tenths % 10));
}

static void print_heading(void)
{
    char line[LINE_MAX] = "    total";
    for (uint32_t cpu = 0; cpu < cpu_count; cpu++) {
        size_t used = strlen(line);
        format_text(line + used, LINE_MAX - used, "  CPU %-2u", cpu);
    }
    printk("%s  where\n", line);
}

static void print_entry(const struct tally_entry *entry, const struct totals *totals)
{
    char line[LINE_MAX] = "  ";
    append_percent(line, entry->total, totals->samples);
    for (uint32_t cpu = 0; cpu < cpu_count; cpu++)
        append_percent(line, entry->counts[cpu], totals->by_cpu[cpu]);
    printk("%s  %s\n", line, entry->key);
}

static void print_totals(const struct totals *totals)
{
    printk("@profile samples=%llu dropped=%llu cpus=%u period=%llu event=\"%s\" running=%s\n",
           (unsigned long long)totals->samples, (unsigned long long)totals->dropped, cpu_count,
           (unsigned long long)profiler_period(), pmu_event_name(profiler_event()),
           profiler_running() ? "yes" : "no");
}

static int report(unsigned long long lines)
{
    struct totals totals;
    struct tally *tally = count(&totals, key_by_function);
    const struct tally_entry *entry;
    if (!tally)
        return ERR_NO_MEMORY;
    print_heading();
    for (; lines > 0 && (entry = tally_take_largest(tally)) != NULL; lines--)
        print_entry(entry, &totals);
    print_totals(&totals);
    tally_destroy(tally);
    return 0;
}

static int print_folded(void)
{
    struct totals totals;
    struct tally *tally = count(&totals, key_by_stack);
    const struct tally_entry *entry;
    if (!tally)
        return ERR_NO_MEMORY;
    while ((entry = tally_take_largest(tally)) != NULL)
        printk("%s %llu\n", entry->key, (unsigned long long)entry->total);
    print_totals(&totals);
    tally_destroy(tally);
    return 0;
}

/* --- the command --- */

static int start(int words_count, char **words)
{
    unsigned long long period = PROFILE_PERIOD;
    if (words_count > 3 || (words_count == 3 && !string_to_u64(words[2], &period)))
        return ERR_USAGE;
    if (period < PMU_SAMPLING_PERIOD_MIN || period > PMU_SAMPLING_PERIOD_MAX) {
        printk("prof start: the period must be from %llu to %llu events\n", PMU_SAMPLING_PERIOD_MIN,
               PMU_SAMPLING_PERIOD_MAX);
        return ERR_USAGE;
    }
    int error = profiler_start(period);
    if (error)
        return error == ERR_BUSY ? ERR_BUSY : ERR_FAILED;
    printk("profiler: a sample every %llu %s of each CPU\n", period,
           pmu_event_name(profiler_event()));
    return 0;
}

static int stop(void)
{
    if (!profiler_running()) {
        printk("profiler: does not run\n");
        return ERR_FAILED;
    }
    profiler_stop();
    return 0;
}

static int command_prof(int words_count, char **words)
{
    unsigned long long lines = TOP;
    const char *what = words_count > 1 ? words[1] : "";
    if (strcmp(what, "start") == 0)
        return start(words_count, words);
    if (words_count == 2 && strcmp(what, "stop") == 0)
        return stop();
    bool folded = words_count == 2 && strcmp(what, "folded") == 0;
    if (!folded && (strcmp(what, "report") != 0 || words_count > 3 ||
                    (words_count == 3 && (!string_to_u64(words[2], &lines) || lines == 0))))
        return ERR_USAGE;
    if (!profiler_has_samples()) {
        printk("profiler: no samples; prof start takes some\n");
        return ERR_FAILED;
    }
    return folded ? print_folded() : report(lines);
}

static struct command command = {
    .name = "prof",
    .arguments = "start [PERIOD] | stop | report [N] | folded",
    .help = "sampling profiler: by function, or as folded stacks",
    .function = command_prof,
};

void profiler_register(void)
{
    command_register(&command);
}
