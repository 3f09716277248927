/* SPDX-License-Identifier: MIT */
/* The recorded program's ELF file: names of addresses from its symbol table, source lines from
 * `addr2line`, one process for all. The file may be hostile; without addr2line there are only
 * names.
 */
#ifndef TOOLS_CREWLOG_PROGRAM_H
#define TOOLS_CREWLOG_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/log_format.h"
#include "tools/crewlog/table.h"

struct symbol {
    uint64_t address, size;
    const char *name; /* in the mapped file */
    bool object;      /* data */
};

struct program {
    const char *name; /* NULL: there is none */
    const uint8_t *bytes;
    uint64_t size;
    struct symbol *symbols; /* ascending addresses */
    uint64_t symbol_count;
    int line_socket; /* to addr2line; -1: none */
    int line_process;
    struct table lines; /* of an address: char *, "falseshare.c:34"; "": not known */
};

/* name: NULL gives a program without names. Ends crewlog when the file is no ELF64 file, or not the
 * program of the header (unless force). */
void program_open(struct program *program, const char *name, const struct log_header *header,
                  bool force);
void program_close(struct program *program);

/* "falseshare_work+0x35"; without a name "0x400185". Returns out. */
const char *program_symbol(const struct program *program, uint64_t address, char *out,
                           unsigned size);
/* The symbol that the address lies in; NULL: none. */
const struct symbol *program_find(const struct program *program, uint64_t address);
/* "falseshare.c:34"; "" when it is not known. Valid until program_close(). */
const char *program_line(struct program *program, uint64_t address);

/* Data symbols that reach into [start, end), ascending: the first at or behind *index; NULL: no
 * more. Begin with *index = 0. */
const struct symbol *program_next_object(const struct program *program, uint64_t start,
                                         uint64_t end, uint64_t *index);

#endif
