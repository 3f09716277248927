/* SPDX-License-Identifier: MIT */
/* producer-consumer [threads=4] [items=150]: a bounded buffer with condition variables.
 *
 * Threads with an even index produce `items` numbered items each, those with an odd one consume.
 * The sum of all items never differs; the order in which they pass the buffer does.
 */
#include "user/lib/argument.h"
#include "user/lib/condition.h"
#include "user/lib/hash.h"
#include "user/lib/mutex.h"
#include "user/lib/print.h"
#include "user/lib/team.h"

#define SLOTS 8

static struct mutex lock; /* for everything up to the next blank line */
static struct condition not_full;
static struct condition not_empty;
static uint64_t slots[SLOTS];
static unsigned long put_count;
static unsigned long taken_count;
static uint64_t sum;
static uint64_t order;

static unsigned long items;       /* a producer */
static unsigned long items_total; /* all of them */

static void produce(unsigned producer)
{
    for (unsigned long i = 0; i < items; i++) {
        mutex_lock(&lock);
        while (put_count - taken_count == SLOTS)
            condition_wait(&not_full, &lock);
        slots[put_count++ % SLOTS] = (uint64_t)producer << 32 | i;
        condition_signal(&not_empty);
        mutex_unlock(&lock);
    }
}

/* Called with the lock held, an item being there. */
static void consume_one(unsigned consumer)
{
    uint64_t item = slots[taken_count++ % SLOTS];

    sum += item;
    order = hash_mix(order, item);
    order = hash_mix(order, consumer);
    condition_signal(&not_full);
    if (taken_count == items_total)
        condition_broadcast(&not_empty); /* the other consumers may go home */
}

static uint64_t consume(unsigned consumer)
{
    uint64_t consumed = 0;

    mutex_lock(&lock);
    while (taken_count < items_total) {
        if (put_count == taken_count) {
            condition_wait(&not_empty, &lock);
            continue;
        }
        consume_one(consumer);
        consumed++;
        mutex_unlock(&lock);
        mutex_lock(&lock);
    }
    mutex_unlock(&lock);
    return consumed;
}

static uint64_t buffer_work(const struct team_member *member)
{
    if (member->index % 2 == 1)
        return consume(member->index);
    produce(member->index);
    return 0;
}

int main(int argc, char **argv)
{
    unsigned threads =
        (unsigned)argument_number(argc, argv, &(struct argument){1, "threads", 4, 2, TEAM_MAX});
    items = argument_number(argc, argv, &(struct argument){2, "items", 150, 1, 1000000000});
    items_total = (threads + 1) / 2 * items;

    uint64_t signature = team_run(threads, buffer_work);
    printf("producer-consumer: %lu items, sum 0x%lx, order 0x%016lx\n", taken_count, sum, order);
    return print_signature("producer-consumer", hash_mix(signature, hash_mix(order, sum)));
}
