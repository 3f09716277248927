/* SPDX-License-Identifier: MIT */
/* A recording in formats of other tools. */
#ifndef TOOLS_CREWLOG_EXPORT_H
#define TOOLS_CREWLOG_EXPORT_H

#include "tools/crewlog/log.h"

/* Chrome's trace events, to standard output. */
void export_chrome(struct log *log);
/* The checkpoint as an ELF core file. first: the thread that a debugger shows first. */
void export_core(const struct log *log, uint32_t first, const char *output);

#endif
