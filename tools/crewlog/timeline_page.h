/* SPDX-License-Identifier: MIT */
/* The parts of the timeline's page, from tools/crewlog/timeline/. Each ends in a 0. */
#ifndef TOOLS_CREWLOG_TIMELINE_PAGE_H
#define TOOLS_CREWLOG_TIMELINE_PAGE_H

extern const char timeline_style[], timeline_html[];
extern const char timeline_script[]; /* all of it, in the order in which it must run */

#endif
