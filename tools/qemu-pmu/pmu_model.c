/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counting, arming, overflow and freezing of one vCPU's emulated PMU.
 *
 * Pure. Exactness: a counter that sums k words and may count R more events arms each of them for
 * ceil(R / k). Until the first of them is there the others are at least one short, so the sum is at
 * most k * ceil(R / k) - (k - 1) <= R: the R-th event cannot be passed unseen. That stays true of
 * what is left after any number of events, so the words are armed anew only when one of them is 0
 * or something else has changed.
 */
#include <string.h>

#include "tools/qemu-pmu/pmu_bits.h"
#include "tools/qemu-pmu/pmu_follow.h"
#include "tools/qemu-pmu/pmu_model.h"

#define MISCOUNT_PERIOD 100
#define LOST_PERIOD 8

void pmu_reset(struct pmu *pmu, const struct pmu_config *config, unsigned index)
{
    *pmu = (struct pmu){
        .config = config,
        .global_control = (1ull << PMU_PROGRAMMABLE) - 1,
        .changed = true,
        .random = (config->seed + index + 1) * 0x9e3779b97f4a7c15ull | 1,
    };
    pmu_lbr_reset(&pmu->lbr, config->lbr);
}

static uint64_t random_below(struct pmu *pmu, uint64_t limit)
{
    pmu->random ^= pmu->random << 13;
    pmu->random ^= pmu->random >> 7;
    pmu->random ^= pmu->random << 17;
    return (pmu->random >> 11) % limit;
}

static bool is_fixed(unsigned index)
{
    return index >= PMU_PROGRAMMABLE;
}

static uint64_t status_bit(unsigned index)
{
    return is_fixed(index) ? 1ull << (GLOBAL_FIXED_SHIFT + index - PMU_PROGRAMMABLE)
                           : 1ull << index;
}

static unsigned fixed_bits(const struct pmu *pmu, unsigned index)
{
    return pmu->fixed_control >> 4 * (index - PMU_PROGRAMMABLE) & 0xf;
}

static bool interrupts(const struct pmu *pmu, unsigned index)
{
    if (is_fixed(index))
        return fixed_bits(pmu, index) & FIXED_CTRL_INT;
    return pmu->counter[index].select & PERFEVTSEL_INT;
}

/* --- what counts ----------------------------------------------------------------------------- */

/* All fixed counters count instructions: instructions themselves, and both kinds of cycles. */
static pmu_word_set fixed_words(const struct pmu *pmu, unsigned index, bool any_mode)
{
    unsigned bits = fixed_bits(pmu, index);
    bool user = bits & FIXED_CTRL_USER, kernel = bits & FIXED_CTRL_KERNEL;

    if (!user && !kernel)
        return 0;
    return pmu_event_words(pmu->config->events, 0x00c0, user || any_mode, kernel || any_mode);
}

/* Edge detection, inversion and counter masks compare events a cycle, of which there are none
 * here: such a counter counts nothing, like one with an event that the CPU does not know. */
static pmu_word_set programmed_words(const struct pmu *pmu, unsigned index, bool any_mode)
{
    uint64_t select = pmu->counter[index].select;
    bool user = select & PERFEVTSEL_USER, kernel = select & PERFEVTSEL_KERNEL;

    if (!(select & PERFEVTSEL_ENABLE) || (!user && !kernel))
        return 0;
    if (select & (PERFEVTSEL_EDGE | PERFEVTSEL_INVERT | PERFEVTSEL_COUNTER_MASK))
        return 0;
    return pmu_event_words(pmu->config->events, (uint16_t)select, user || any_mode,
                           kernel || any_mode);
}

static pmu_word_set enabled_words(const struct pmu *pmu, unsigned index)
{
    bool any_mode = pmu->config->broken == PMU_BROKEN_ANYMODE;

    return is_fixed(index) ? fixed_words(pmu, index, any_mode)
                           : programmed_words(pmu, index, any_mode);
}

pmu_word_set pmu_wanted_words(const struct pmu *pmu)
{
    pmu_word_set words = 0;

    for (unsigned i = 0; i < PMU_COUNTERS; i++)
        words |= enabled_words(pmu, i);
    if (pmu_lbr_is_enabled(pmu))
        words |= PMU_BRANCH_RECORDS;
    return words;
}

void pmu_registers_changed(struct pmu *pmu)
{
    bool frozen = pmu->global_status & GLOBAL_STATUS_COUNTERS_FROZEN;

    for (unsigned i = 0; i < PMU_COUNTERS; i++)
        pmu->counter[i].words =
            !frozen && pmu->global_control & status_bit(i) ? enabled_words(pmu, i) : 0;
    pmu->changed = true;
}

uint64_t pmu_counter_value(const struct pmu *pmu, unsigned index)
{
    return pmu->config->broken == PMU_BROKEN_ZERO ? 0 : pmu->counter[index].value;
}

/* --- counting -------------------------------------------------------------------------------- */

static uint64_t miscount(const struct pmu *pmu, struct pmu_counter *counter, uint64_t events)
{
    uint64_t wrong;

    switch (pmu->config->broken) {
    case PMU_BROKEN_ZERO:
    case PMU_BROKEN_STUCK:
        return 0;
    case PMU_BROKEN_OVERCOUNT:
    case PMU_BROKEN_UNDERCOUNT:
        wrong = (counter->residue + events) / MISCOUNT_PERIOD;
        counter->residue = (counter->residue + events) % MISCOUNT_PERIOD;
        return pmu->config->broken == PMU_BROKEN_OVERCOUNT ? events + wrong : events - wrong;
    default:
        return events;
    }
}

static uint64_t next_skid(struct pmu *pmu)
{
    const struct pmu_config *config = pmu->config;

    return config->random_skid ? random_below(pmu, config->skid + 1) : config->skid;
}

/* The counter has wrapped and stands at value, that many events later. */
static void overflow(struct pmu *pmu, unsigned index)
{
    struct pmu_counter *counter = &pmu->counter[index];
    uint64_t skid;

    pmu->overflows++;
    pmu->changed = true;
    if (pmu->config->broken != PMU_BROKEN_NOSTATUS)
        pmu->global_status |= status_bit(index);
    if (!interrupts(pmu, index) || counter->late)
        return;
    skid = next_skid(pmu);
    if (skid > counter->value)
        counter->late = skid - counter->value;
    else
        pmu->interrupt_due = true;
}

static void count(struct pmu *pmu, unsigned index, uint64_t events)
{
    struct pmu_counter *counter = &pmu->counter[index];

    if (counter->late && events >= counter->late)
        pmu->interrupt_due = true;
    counter->late = events < counter->late ? counter->late - events : 0;

    counter->value += miscount(pmu, counter, events);
    if (counter->value > PMU_COUNTER_MASK) {
        counter->value &= PMU_COUNTER_MASK;
        overflow(pmu, index);
    }
}

/* Takes one out of a set that is not empty. */
static unsigned take_word(pmu_word_set *set)
{
    unsigned word = (unsigned)__builtin_ctz(*set);

    *set &= *set - 1;
    return word;
}

static uint64_t *word_of(uint64_t words[PMU_SOURCES][PMU_MODES], unsigned number)
{
    return &words[number / PMU_MODES][number % PMU_MODES];
}

/* What has happened since the last time, by words. */
static void take_events(struct pmu *pmu, struct pmu_words *words,
                        uint64_t events[PMU_SOURCES * PMU_MODES])
{
    for (pmu_word_set set = pmu->armed; set;) {
        unsigned w = take_word(&set);
        uint64_t now = *word_of(words->word, w);

        events[w] = now - *word_of(pmu->folded, w);
        *word_of(pmu->folded, w) = now;
        if (!now)
            pmu->changed = true;
    }
}

/* A counter that has just been started has words that are not armed: they have counted nothing. */
static void fold(struct pmu *pmu, struct pmu_words *words)
{
    uint64_t events[PMU_SOURCES * PMU_MODES];

    take_events(pmu, words, events);
    for (unsigned i = 0; i < PMU_COUNTERS; i++) {
        pmu_word_set set = pmu->counter[i].words & pmu->armed;
        uint64_t sum = 0;

        while (set)
            sum += events[take_word(&set)];
        if (sum)
            count(pmu, i, sum);
    }
}

/* An interrupt that is under way arrives even though its counter was stopped in the meantime. */
static void hurry_stopped(struct pmu *pmu)
{
    for (unsigned i = 0; i < PMU_COUNTERS; i++) {
        if (!pmu->counter[i].late || pmu->counter[i].words)
            continue;
        pmu->counter[i].late = 0;
        pmu->interrupt_due = true;
    }
}

/* --- arming ---------------------------------------------------------------------------------- */

static uint64_t events_to_stop(const struct pmu *pmu, unsigned index)
{
    const struct pmu_counter *counter = &pmu->counter[index];
    uint64_t events = PMU_COUNTER_MASK + 1 - counter->value;

    return counter->late && counter->late < events ? counter->late : events;
}

static void arm_counter(const struct pmu *pmu, unsigned index, struct pmu_words *words)
{
    pmu_word_set set = pmu->counter[index].words;
    unsigned summed = (unsigned)__builtin_popcount(set);

    while (set) {
        uint64_t share = (events_to_stop(pmu, index) + summed - 1) / summed;
        uint64_t *word = word_of(words->word, take_word(&set));

        if (share < -*word)
            *word = -share;
    }
}

static void arm(struct pmu *pmu, struct pmu_words *words)
{
    pmu_word_set used = 0;

    for (unsigned i = 0; i < PMU_COUNTERS; i++)
        used |= pmu->counter[i].words;
    for (pmu_word_set set = used | pmu->armed; set;)
        *word_of(words->word, take_word(&set)) = 1; /* 2^64 - 1 events to 0: never */
    for (unsigned i = 0; i < PMU_COUNTERS; i++)
        arm_counter(pmu, i, words);
    memcpy(pmu->folded, words->word, sizeof(pmu->folded));
    pmu->armed = used;
    for (unsigned mode = 0; mode < PMU_MODES; mode++)
        words->want_direction[mode] =
            used & (PMU_WORD(PMU_TAKEN, mode) | PMU_WORD(PMU_NOT_TAKEN, mode));
}

/* --- interrupts ------------------------------------------------------------------------------ */

static void freeze(struct pmu *pmu)
{
    if (pmu->config->version >= 4)
        pmu->global_status |= GLOBAL_STATUS_COUNTERS_FROZEN;
    else
        pmu->global_control = 0;
    pmu_registers_changed(pmu);
}

/* Up to version 3 the enable bit is cleared instead (SDM vol. 3, "Freezing LBR and Performance
 * Counters on PMI"). */
static void freeze_branch_records(struct pmu *pmu)
{
    if (pmu->config->version >= 4)
        pmu->global_status |= GLOBAL_STATUS_LBR_FROZEN;
    else
        pmu->debug_control &= ~DEBUGCTL_LBR;
}

static bool take_interrupt(struct pmu *pmu)
{
    if (!pmu->interrupt_due)
        return false;
    pmu->interrupt_due = false;
    if (pmu->debug_control & DEBUGCTL_FREEZE_PERFMON_ON_PMI)
        freeze(pmu);
    if (pmu->debug_control & DEBUGCTL_FREEZE_LBRS_ON_PMI)
        freeze_branch_records(pmu);
    pmu->interrupts++;
    switch (pmu->config->broken) {
    case PMU_BROKEN_NONMI:
        return false;
    case PMU_BROKEN_LOSTNMI:
        return pmu->interrupts % LOST_PERIOD != 0;
    default:
        return true;
    }
}

bool pmu_settle(struct pmu *pmu, struct pmu_words *words)
{
    bool interrupt;

    pmu->settled++;
    fold(pmu, words);
    hurry_stopped(pmu);
    interrupt = take_interrupt(pmu);
    if (pmu->changed)
        arm(pmu, words);
    pmu->changed = false;
    pmu_follow(pmu, words);
    return interrupt;
}
