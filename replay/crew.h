/* SPDX-License-Identifier: MIT */
/* The CREW rule: who holds a page, who must lose it, who may get it. Pure; also on the host.
 *
 * Concurrent read, exclusive write: either any number of readers, or one writer and nobody else.
 * The caller holds the page lock.
 */
#ifndef REPLAY_CREW_H
#define REPLAY_CREW_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space.h"
#include "replay/log_format.h"

#define CREW_NO_WRITER (-1)

void crew_reset(struct user_page *page); /* nobody holds it, nobody has written to it */

enum log_rights crew_rights(const struct user_page *page, uint32_t slot);

/* Bit per slot: those that must lose rights before `slot` may read or write. For a write all
 * other holders, for a read the writer. */
uint64_t crew_victims(const struct user_page *page, uint32_t slot, bool write);
enum log_rights crew_victim_keeps(bool write); /* NONE for a write, READ for a read */

/* A holder is left with fewer rights; event: the one that says so. A writer's is remembered as
 * last_write: reads and writes to come depend on it. */
void crew_lose(struct user_page *page, uint32_t slot, enum log_rights rights, uint64_t event);

/* slot gets the page. False (and nothing changed) while there are victims. */
bool crew_grant(struct user_page *page, uint32_t slot, bool write);

/* Exclusive writer: what must hold at all times. */
bool crew_consistent(const struct user_page *page);

#endif
