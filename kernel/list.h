/* SPDX-License-Identifier: MIT */
/* Doubly linked lists through a member of the listed structure. Locks: the caller's. */
#ifndef KERNEL_LIST_H
#define KERNEL_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next, *previous;
};

#define LIST_INIT(name)                                                                            \
    {                                                                                              \
        &(name), &(name)                                                                           \
    }

#define list_entry(link, type, member) ((type *)((char *)(link)-offsetof(type, member)))

#define list_for_each(at, head) for (struct list *at = (head)->next; at != (head); at = at->next)

static inline void list_init(struct list *head)
{
    head->next = head->previous = head;
}

static inline bool list_empty(const struct list *head)
{
    return head->next == head;
}

/* Puts link before position: at the end of the list when position is its head. */
static inline void list_insert_before(struct list *position, struct list *link)
{
    link->next = position;
    link->previous = position->previous;
    position->previous->next = link;
    position->previous = link;
}

/* A removed link points to itself, so removing it twice is harmless. */
static inline void list_remove(struct list *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
    list_init(link);
}

#endif
