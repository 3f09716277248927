/* SPDX-License-Identifier: MIT */
/* Source lines of a program's addresses, by an addr2line that runs beside crewlog. */
#ifndef TOOLS_CREWLOG_LINES_H
#define TOOLS_CREWLOG_LINES_H

#include "tools/crewlog/program.h"

/* Says so once when there is no addr2line. */
void lines_open(struct program *program);
void lines_close(struct program *program);

#endif
