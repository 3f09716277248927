/* SPDX-License-Identifier: MIT */
/* Compares the runs of an oracle's file (format.h): each replay with its recording, thread by
 * thread, and names the first difference.
 *
 *   compare FILE [--program ELF] [--runs A B]
 *
 * --program: names places by its symbols, with addr2line. --runs: compares these two runs instead,
 * whatever they are. Exit status: 0 equal, 1 something differs, 2 the file or the call is wrong,
 * or there is nothing to compare.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/oracle/read.h"

static const char *program;

/* --- reporting ------------------------------------------------------------------------------- */

/* ` (function at file:line)`, or nothing. */
static void print_symbol(uint64_t rip)
{
    char command[1200], line[400];
    FILE *pipe;

    if (!program)
        return;
    snprintf(command, sizeof(command), "addr2line -fspe '%s' 0x%" PRIx64, program, rip);
    pipe = popen(command, "r");
    if (pipe && fgets(line, sizeof(line), pipe)) {
        line[strcspn(line, "\n")] = 0;
        printf(" (%s)", line);
    }
    if (pipe)
        pclose(pipe);
}

static void print_place(const char *who, uint64_t rip)
{
    printf("%s RIP 0x%" PRIx64, who, rip);
    print_symbol(rip);
    putchar('\n');
}

/* How many threads have ended, and their instructions. */
static unsigned count_threads(const struct run *run, uint64_t *instructions)
{
    unsigned threads = 0;

    *instructions = 0;
    for (unsigned slot = 0; slot < ORACLE_MAX_SLOTS; slot++) {
        if (!run->threads[slot].ended)
            continue;
        *instructions += run->threads[slot].ended->number;
        threads++;
    }
    return threads;
}

/* --- comparing ------------------------------------------------------------------------------- */

struct cursor {
    const struct thread *thread;
    size_t record;
    uint32_t entry;
    uint64_t number; /* of the entry that was returned last */
};

static const struct oracle_entry *next_entry(struct cursor *cursor)
{
    const struct oracle_record *record;

    if (cursor->record == cursor->thread->count)
        return NULL;
    record = cursor->thread->records[cursor->record];
    cursor->number = record->number + cursor->entry * oracle_step;
    const struct oracle_entry *entry = (const struct oracle_entry *)(record + 1) + cursor->entry;
    if (++cursor->entry == record->entries) {
        cursor->record++;
        cursor->entry = 0;
    }
    return entry;
}

/* What differs lies behind instruction `before` and not behind instruction `until`. */
static void print_difference(unsigned slot, uint64_t before, uint64_t until)
{
    if (until == before + 1)
        printf("  thread %u: instruction %" PRIu64 " is the first one that differs\n", slot, until);
    else
        printf("  thread %u: the first difference is one of the instructions %" PRIu64 " … %" PRIu64
               " (oracle-step=1 would name it)\n",
               slot, before + 1, until);
}

static void print_end(const char *who, const struct thread *thread)
{
    printf("    %s: ends after %" PRIu64 " instructions;", who, thread->ended->number);
    print_place("", thread->ended->rip);
}

/* All entries that both have are equal. */
static bool compare_ends(unsigned slot, const struct thread *a, const struct thread *b,
                         uint64_t equal_until)
{
    uint64_t shorter = a->ended->number < b->ended->number ? a->ended->number : b->ended->number;

    if (a->ended->number == b->ended->number && a->ended->hash == b->ended->hash &&
        a->ended->rip == b->ended->rip)
        return true;
    if (a->ended->number != b->ended->number && shorter == equal_until)
        printf("  thread %u: equal up to instruction %" PRIu64 ", where one of them ends\n", slot,
               shorter);
    else
        print_difference(slot, equal_until, shorter > equal_until ? shorter : equal_until + 1);
    print_end("first", a);
    print_end("second", b);
    return false;
}

static bool compare_threads(unsigned slot, const struct thread *a, const struct thread *b)
{
    struct cursor at_a = {.thread = a}, at_b = {.thread = b};
    const struct oracle_entry *entry_a, *entry_b, *equal = NULL;
    uint64_t equal_until = 0;

    for (;;) {
        entry_a = next_entry(&at_a);
        entry_b = next_entry(&at_b);
        if (!entry_a || !entry_b)
            return compare_ends(slot, a, b, equal_until);
        if (at_a.number != at_b.number)
            oracle_die("damaged file: entries of thread %u are missing", slot);
        if (entry_a->rip != entry_b->rip || entry_a->hash != entry_b->hash)
            break;
        equal_until = at_a.number;
        equal = entry_a;
    }
    print_difference(slot, equal_until, at_a.number);
    if (equal)
        print_place("    last equal:", equal->rip);
    printf("    at instruction %" PRIu64 "%s:\n", at_a.number,
           entry_a->rip == entry_b->rip ? ", same place, what was loaded or stored differs" : "");
    print_place("    first: ", entry_a->rip);
    print_place("    second:", entry_b->rip);
    return false;
}

static void check_ended(const struct run *run)
{
    if (!run->ended)
        oracle_die("run %" PRIu32 " has not ended", run->number);
    for (unsigned slot = 0; slot < ORACLE_MAX_SLOTS; slot++)
        if (run->threads[slot].count && !run->threads[slot].ended && !run->given_up)
            oracle_die("thread %u of run %" PRIu32 " has not ended", slot, run->number);
}

static bool compare_runs(const struct run *a, const struct run *b)
{
    bool equal = true;

    check_ended(a);
    check_ended(b);
    for (unsigned slot = 0; slot < ORACLE_MAX_SLOTS; slot++) {
        const struct thread *in_a = &a->threads[slot], *in_b = &b->threads[slot];

        if (in_a->ended && in_b->ended) {
            equal &= compare_threads(slot, in_a, in_b);
        } else if (in_a->ended || in_b->ended) {
            printf("  thread %u: is not in the %s run\n", slot, in_a->ended ? "second" : "first");
            equal = false;
        }
    }
    return equal;
}

/* True: equal. The recording is the first one, the replay the second one. */
static bool compare_replay(const struct run *replay)
{
    struct run *recording;
    char text[100];
    uint64_t instructions;
    bool equal;

    snprintf(text, sizeof(text), "run %" PRIu32 " replays a recording that is not in this file",
             replay->number);
    recording = oracle_need_run(replay->replayed, text);
    if (!count_threads(recording, &instructions) || !instructions)
        oracle_die("nothing was seen of the recording that run %" PRIu32 " replays",
                   replay->number);
    equal = compare_runs(recording, replay);
    unsigned threads = count_threads(replay, &instructions);
    printf("run %" PRIu32 ": replay %u of run %" PRIu32 ": %u threads, %" PRIu64
           " instructions: %s\n",
           replay->number, ++recording->replays, recording->number, threads, instructions,
           equal ? "equal" : "DIFFERS, see above");
    return equal;
}

static void print_recording(const struct run *run)
{
    uint64_t instructions;
    unsigned threads = count_threads(run, &instructions);

    printf("run %" PRIu32 ": recording: %u threads, %" PRIu64 " instructions%s\n", run->number,
           threads, instructions, run->given_up ? ", given up" : "");
}

static int compare_all(void)
{
    unsigned recordings = 0, replays = 0, equal = 0;

    for (size_t i = 0; i < oracle_run_count; i++) {
        const struct run *run = &oracle_runs[i];

        if (run->replayed) {
            replays++;
            equal += compare_replay(run);
        } else {
            recordings++;
            print_recording(run);
        }
    }
    printf("@oracle recordings=%u replays=%u equal=%u step=%" PRIu64 "\n", recordings, replays,
           equal, oracle_step);
    if (!replays)
        oracle_die("there is no replay in this file");
    return equal == replays ? 0 : 1;
}

static const struct run *run_of_word(const char *word)
{
    char text[100];

    snprintf(text, sizeof(text), "there is no run %s in this file", word);
    return oracle_need_run(strtoull(word, NULL, 10), text);
}

static int compare_two(const char *first, const char *second)
{
    const struct run *a = run_of_word(first), *b = run_of_word(second);
    bool equal = compare_runs(a, b);
    printf("@oracle runs=%s,%s equal=%s\n", first, second, equal ? "yes" : "no");
    return equal ? 0 : 1;
}

int main(int count, char **words)
{
    static const char usage[] = "usage: compare FILE [--program ELF] [--runs A B]";
    const char *two[2] = {NULL, NULL};

    if (count < 2)
        oracle_die("%s", usage);
    for (int i = 2; i < count; i++) {
        if (!strcmp(words[i], "--program") && i + 1 < count) {
            program = words[++i];
        } else if (!strcmp(words[i], "--runs") && i + 2 < count) {
            two[0] = words[++i];
            two[1] = words[++i];
        } else {
            oracle_die("%s", usage);
        }
    }
    oracle_read_file(words[1]);
    return two[0] ? compare_two(two[0], two[1]) : compare_all();
}
