/* SPDX-License-Identifier: MIT */
/* The timeline's page, taken into the program as it is. */
#include "tools/crewlog/timeline_page.h"

#define DIRECTORY "tools/crewlog/timeline/"
#define TEXT(name, files)                                                                          \
    __asm__(".pushsection .rodata\n.globl " #name "\n" #name ":\n" files ".byte 0\n.popsection")
#define FILE_OF(name) ".incbin \"" DIRECTORY name "\"\n"

TEXT(timeline_style, FILE_OF("style.css"));
TEXT(timeline_html, FILE_OF("page.html"));
TEXT(timeline_script,
     FILE_OF("data.js") FILE_OF("draw.js") FILE_OF("pages.js") FILE_OF("control.js"));
