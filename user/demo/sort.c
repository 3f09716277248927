/* SPDX-License-Identifier: MIT */
/* sort [threads=4] [elements=800]: a parallel merge sort.
 *
 * Each thread sorts its part; then ever fewer threads merge ever longer runs, a barrier between the
 * levels. Ordinary, correct sharing: pages pass from thread to thread a few times. The result never
 * differs and is checked.
 */
#include <stdbool.h>

#include "user/lib/argument.h"
#include "user/lib/barrier.h"
#include "user/lib/hash.h"
#include "user/lib/print.h"
#include "user/lib/string.h"
#include "user/lib/team.h"

#define ELEMENTS_MAX 262144
#define SMALL_RUN 8

uint32_t sort_data[ELEMENTS_MAX];
static uint32_t scratch[ELEMENTS_MAX];
static unsigned long elements;
static struct barrier level_done;

static void sort_small(unsigned long from, unsigned long to)
{
    for (unsigned long i = from + 1; i < to; i++) {
        uint32_t value = sort_data[i];
        unsigned long j = i;
        for (; j > from && sort_data[j - 1] > value; j--)
            sort_data[j] = sort_data[j - 1];
        sort_data[j] = value;
    }
}

static void merge_runs(unsigned long from, unsigned long middle, unsigned long to)
{
    unsigned long left = from;
    unsigned long right = middle;

    for (unsigned long i = from; i < to; i++) {
        if (right == to || (left < middle && sort_data[left] <= sort_data[right]))
            scratch[i] = sort_data[left++];
        else
            scratch[i] = sort_data[right++];
    }
    memcpy(sort_data + from, scratch + from, (to - from) * sizeof(*sort_data));
}

/* Recursive; as deep as the logarithm of the run's length. */
static void sort_run(unsigned long from, unsigned long to)
{
    unsigned long middle = from + (to - from) / 2;

    if (to - from <= SMALL_RUN) {
        sort_small(from, to);
        return;
    }
    sort_run(from, middle);
    sort_run(middle, to);
    merge_runs(from, middle, to);
}

static unsigned long part_start(unsigned part, unsigned parts)
{
    return part < parts ? elements * part / parts : elements;
}

static uint64_t sort_work(const struct team_member *member)
{
    unsigned index = member->index;
    unsigned count = member->count;

    sort_run(part_start(index, count), part_start(index + 1, count));
    for (unsigned step = 1; step < count; step *= 2) {
        barrier_wait(&level_done);
        if (index % (2 * step) == 0)
            merge_runs(part_start(index, count), part_start(index + step, count),
                       part_start(index + 2 * step, count));
    }
    return 0;
}

static bool is_sorted(uint64_t expected_sum)
{
    uint64_t sum = sort_data[0];

    for (unsigned long i = 1; i < elements; i++) {
        sum += sort_data[i];
        if (sort_data[i - 1] > sort_data[i])
            return false;
    }
    return sum == expected_sum;
}

int main(int argc, char **argv)
{
    uint64_t random = 1;
    uint64_t sum = 0;
    unsigned threads =
        (unsigned)argument_number(argc, argv, &(struct argument){1, "threads", 4, 1, TEAM_MAX});
    elements = argument_number(argc, argv, &(struct argument){2, "elements", 800, 1, ELEMENTS_MAX});

    for (unsigned long i = 0; i < elements; i++)
        sum += sort_data[i] = (uint32_t)random_next(&random);
    level_done = (struct barrier)BARRIER_INIT(threads);
    team_run(threads, sort_work);
    if (!is_sorted(sum)) {
        printf("sort: the result is not the sorted input\n");
        return 1;
    }
    printf("sort: %u threads, %lu elements sorted\n", threads, elements);
    return print_signature("sort", hash_bytes(0, sort_data, elements * sizeof(*sort_data)));
}
