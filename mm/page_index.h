/* SPDX-License-Identifier: MIT */
/* The pages of a process by address: a radix tree of four levels of 512, as page tables are.
 *
 * Nodes are only ever added, so lookups take no lock; inserting does (the space lock).
 */
#ifndef MM_PAGE_INDEX_H
#define MM_PAGE_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space.h"

struct user_page *page_index_find(void *const *root, uint64_t address);
bool page_index_insert(void **root, struct user_page *page); /* false: out of memory */
void page_index_for_each(void *const *root, uint64_t start, uint64_t end,
                         space_page_function *function, void *argument);
void page_index_destroy(void **root); /* the nodes, not the pages */

#endif
