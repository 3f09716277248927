/* SPDX-License-Identifier: MIT */
/* Between the files of the store: checks and the one way to change the directory. */
#ifndef REPLAY_STORE_INTERNAL_H
#define REPLAY_STORE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/store.h"

/* Printable, terminated, zeroes behind. */
bool store_name_is_valid(const char name[STORE_NAME_SIZE]);

/* The checksums, over the structure with its field `crc` as 0. */
uint32_t store_super_crc(const struct store_super *super);
uint32_t store_directory_crc(const struct store_directory *directory);

/* Whether every field and entry keeps the rules of docs/storage.md. */
bool store_directory_is_valid(const struct store_directory *directory, uint64_t id,
                              uint64_t sectors);

/* A change: store->next becomes a copy to edit; then it is written to the disk, and then it counts.
 */
int store_change_begin(struct store *store);
int store_change_write(struct store *store);
void store_change_end(struct store *store);

#endif
